// What the threads of a block do together: shared memory between barriers, operations of whole warps.
#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

namespace {
template <size_t N>
const char* Pick(const char* const (&words)[N], RandomWords& random) {
  return words[random.Below(N)];
}
}  // namespace

void Writer::Exchange(const Node& node, const Place& place) {
  uses_shared_ = true;
  RandomWords random(node.word[0]);
  const uint32_t threads = tree_.BlockThreads();
  const uint32_t stride = threads <= 256 && random.Chance(4) ? 1 + random.Below(3) : 1;
  const std::string cell = Permuted("%lin", threads, random);
  const std::string at = stride == 1 ? cell : Compute("mul.lo.u32", cell, stride);
  if (random.Chance(4))
    Line("st.shared.f32 [{}], {}", SharedAddress(at, random), OneNan(FloatValue(place, random)));
  else
    Line("st.shared.u32 [{}], {}", SharedAddress(at, random),
         random.Chance(2) ? "%h" : Index(place, random, 1));
  Barrier();
  const uint32_t reads = 1 + random.Below(3);
  for (uint32_t i = 0; i < reads; ++i) {
    std::string index = Bounded(Index(place, random, 1 + random.Below(2)), kTileWords, random);
    if (random.Chance(2)) index = Compute("mul.lo.u32", Permuted("%lin", threads, random), stride);
    const std::string address = SharedAddress(index, random);
    switch (random.Below(5)) {
      case 0:
        Assign(Compute("ld.shared.u16", fmt::format("[{}+2]", address)), random);
        break;
      case 1:
        Assign(Compute("ld.shared.s8", fmt::format("[{}+1]", address)), random);
        break;
      default:
        Assign(Compute("ld.shared.u32", fmt::format("[{}]", address)), random);
    }
  }
  Barrier();
}

// Each thread's value with a border on all sides; threads at the edges fill it.
void Writer::Halo(const Node& node, const Place& place) {
  uses_shared_ = true;
  RandomWords random(node.word[0]);
  const uint32_t width = tree_.block[0], height = tree_.block[1] * tree_.block[2],
                 border = 1 + random.Below(2);
  const uint32_t pitch = width + 2 * border + random.Below(2);
  if (pitch * (height + 2 * border) > kTileWords) return;
  const std::string x = Compute("add.u32", "%tx", border);
  const std::string row = Compute("mad.lo.u32", "%tz", tree_.block[1], "%ty");
  const std::string y = Compute("add.u32", row, border);
  const std::string at = Compute("mad.lo.u32", y, pitch, x);
  const std::string address = Compute("mad.lo.u32", at, 4, "%shared");
  Line("st.shared.u32 [{}], {}", address, random.Chance(2) ? "%h" : Index(place, random, 1));
  const auto edge = [&](const std::string& predicate, int32_t distance) {
    const std::string far = fmt::format("[{}+{}]", address, 4 * distance);
    if (random.Chance(2))
      return Line("@{} st.shared.u32 {}, {}", predicate, far, random.Chance(2) ? "%a0" : "7");
    const std::string end = NewLabel();
    Line("@!{} bra {}", predicate, end);
    const std::string index = Bounded(Compute("add.s32", "%gx", distance), kInputBytes / 4, random);
    Line("st.shared.u32 {}, {}", far,
         Compute("ld.global.u32", fmt::format("[{}]", Address("%in", index, 4, random))));
    Label(end);
  };
  const auto below = [&](const char* place_name, uint32_t bound) {
    return Test("setp.lt.u32", place_name, bound);
  };
  const auto from = [&](const std::string& place_name, uint32_t bound) {
    return Test("setp.ge.s32", place_name, static_cast<int32_t>(bound));
  };
  const auto b = static_cast<int32_t>(border), p = static_cast<int32_t>(pitch);
  edge(width >= border ? below("%tx", border) : below("%tx", width), -b);
  edge(from("%tx", width > border ? width - border : 0), b);
  if (random.Chance(2)) {
    edge(Test("setp.lt.u32", row, border), -b * p);
    edge(from(row, height > border ? height - border : 0), b * p);
  }
  Barrier();
  const int32_t kDistances[] = {-1, 1, -p, p, 0, p + 1, -p - 1, b, -b};
  const uint32_t reads = 2 + random.Below(4);
  for (uint32_t i = 0; i < reads; ++i)
    Assign(Compute("ld.shared.u32", fmt::format("[{}+{}]", address, 4 * kDistances[random.Below(9)])),
           random);
  Barrier();
}

void Writer::Fill(const Node& node, const Place& place) {
  uses_shared_ = true;
  RandomWords random(node.word[0]);
  const uint32_t words = 1 + random.Below(std::min<uint32_t>(kTileWords, 4 * tree_.BlockThreads()));
  const std::string i = Reg(), more = Predicate(), again = NewLabel(), end = NewLabel();
  Line("mov.u32 {}, %lin", i);
  Line("setp.ge.u32 {}, {}, {}", more, i, words);
  Line("@{} bra {}", more, end);
  Label(again);
  Place inside = place;
  inside.counters.push_back(i);
  const std::string index = Bounded(Index(inside, random, 1), kInputBytes / 4, random);
  const std::string value = Compute("ld.global.u32", fmt::format("[{}]", Address("%in", index, 4, random)));
  Line("st.shared.u32 [{}], {}", SharedAddress(i, random), value);
  Line("add.u32 {}, {}, {}", i, i, random.Chance(2) ? "%block" : std::to_string(tree_.BlockThreads()));
  Line("setp.lt.u32 {}, {}, {}", more, i, words);
  Line("@{} bra {}", more, again);
  Label(end);
  Barrier();
  const uint32_t reads = 1 + random.Below(3);
  for (uint32_t r = 0; r < reads; ++r) {
    const std::string at = Bounded(Index(place, random, 2), words, random);
    Assign(Compute("ld.shared.u32", fmt::format("[{}]", SharedAddress(at, random))), random);
  }
  Barrier();
}

// Halving steps: each thread below the half takes its partner's value.
void Writer::Halving(const Node& node, const Place& place) {
  uses_shared_ = true;
  RandomWords random(node.word[0]);
  constexpr const char* kOps[] = {"add.u32", "max.s32", "min.u32", "xor.b32"};
  const char* op = Pick(kOps, random);
  const bool interleaved = random.Chance(4);
  uint32_t half = 1;
  while (half < tree_.BlockThreads()) half *= 2;
  const std::string address = Compute("mad.lo.u32", "%lin", 4, "%shared");
  Line("st.shared.u32 [{}], {}", address, random.Chance(2) ? "%h" : Index(place, random, 1));
  Barrier();
  const std::string step = Reg(), more = Predicate(), again = NewLabel(), skip = NewLabel();
  Line("mov.u32 {}, {}", step, half / 2 == 0 ? 1 : half / 2);
  Label(again);
  const std::string partner = Compute("mad.lo.u32", step, 4, address);
  std::string takes = Test("setp.lt.u32", "%lin", step);
  if (interleaved) takes = Test("setp.eq.u32", Compute("and.b32", "%lin", step), 0);
  const std::string mine = Compute("ld.shared.u32", fmt::format("[{}]", address));
  Barrier();
  Line("@!{} bra {}", takes, skip);
  const std::string other = Compute("ld.shared.u32", fmt::format("[{}]", partner));
  // Threads that take do not write what others read in this step.
  Line("st.shared.u32 [{}], {}", address, Compute(op, mine, other));
  Label(skip);
  Barrier();
  Line("shr.u32 {}, {}, 1", step, step);
  Line("setp.ne.u32 {}, {}, 0", more, step);
  Line("@{} bra {}", more, again);
  Assign(Compute("ld.shared.u32", random.Chance(2) ? "[%shared]" : fmt::format("[{}]", address)), random);
  Barrier();
}

void Writer::WarpSum(const Node& node, const Place& place) {
  if (tree_.BlockThreads() % 32 != 0 || ended_) return;
  RandomWords random(node.word[0]);
  constexpr const char* kOps[] = {"add.u32", "max.s32", "min.u32", "xor.b32",
                                  "add.f32", "max.f32", "min.f32"};
  constexpr const char* kModes[] = {"bfly", "down", "up", "idx"};
  const std::string op = Pick(kOps, random), mode = Pick(kModes, random);
  const bool is_float = op.ends_with("f32");
  std::string value = random.Chance(2) ? "%h" : Index(place, random, 1);
  if (is_float) value = Compute("mov.b32", OneNan(FloatValue(place, random)));
  const uint32_t segment = random.Chance(4) ? 8 << random.Below(2) : 32;
  const uint32_t clamp = (mode == "up" ? 0 : 31) | (32 - segment) << 8;
  for (uint32_t n = segment / 2; n > 0; n /= 2) {
    const uint32_t distance = mode == "up" ? segment / 2 / n : n;
    const std::string other = Reg(), inside = Predicate();
    Line("shfl.sync.{}.b32 {}|{}, {}, {}, {}, -1", mode, other, inside, value,
         mode == "idx" ? Compute("xor.b32", "%lane", distance) : std::to_string(distance), clamp);
    std::string joined;
    if (is_float) {
      const std::string mine = ComputeFloat("mov.b32", value), theirs = ComputeFloat("mov.b32", other);
      joined = Compute("mov.b32", OneNan(ComputeFloat(op, mine, theirs)));
    } else {
      joined = Compute(op, value, other);
    }
    value = mode == "up" || random.Chance(3) ? Compute("selp.b32", joined, value, inside) : joined;
  }
  // Often one lane takes the result.
  if (random.Chance(2)) {
    const std::string first = Test("setp.eq.u32", "%lane", random.Chance(3) ? 31 : 0);
    value = Compute("selp.b32", value, "%a0", first);
  }
  Assign(value, random);
}

void Writer::Ballot(const Node& node, const Place& place) {
  if (tree_.BlockThreads() % 32 != 0 || ended_) return;
  RandomWords random(node.word[0]);
  const std::string set = Compute("vote.sync.ballot.b32", Condition(place, random), -1);
  if (random.Chance(2)) return Assign(set, random);
  const std::string below = Compute("sub.u32", Compute("shl.b32", 1, "%lane"), 1);
  Assign(Compute("popc.b32", Compute("and.b32", set, below)), random);
}

}  // namespace ptx2cpu::random_patterns
