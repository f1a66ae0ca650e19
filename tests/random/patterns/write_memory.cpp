// Loads, stores and atomics of single threads.
#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

namespace {

constexpr Element kElements[] = {
    {"u32", 4, 1, false},    {"u32", 4, 1, false},    {"u8", 1, 1, false},     {"s8", 1, 1, false},
    {"u16", 2, 1, false},    {"s16", 2, 1, false},    {"f32", 4, 1, true},     {"b32", 4, 1, false},
    {"v2.u32", 4, 2, false}, {"v4.u32", 4, 4, false}, {"v2.f32", 4, 2, true},  {"v4.f32", 4, 4, true},
    {"v2.u16", 2, 2, false}, {"v4.u8", 1, 4, false},  {"v4.u16", 2, 4, false}, {"v2.u8", 1, 2, false}};

const Element& PickElement(RandomWords& random) { return kElements[random.Below(std::size(kElements))]; }

std::string List(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

}  // namespace

// With a guard, registers keep what they hold where it does not hold.
void Writer::LoadInto(const std::string& space, const Element& element, const std::string& address,
                      const std::string& guard, RandomWords& random) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < element.count; ++i) {
    names.push_back(element.is_float ? FloatReg() : Reg());
    if (!guard.empty())  // the bits of what is loaded are read below
      Line("mov.{} {}, {}", element.is_float ? "f32" : "u32", names[i],
           element.is_float ? OneNan("%g0") : "%a0");
  }
  Line("{}ld{}.{} {}, [{}]", guard.empty() ? "" : "@" + guard + " ", space, element.suffix, List(names),
       address);
  for (const std::string& name : names) {
    if (!element.is_float) {
      Assign(name, random);
    } else {
      if (random.Chance(3)) Line("mov.f32 %g{}, {}", random.Below(kFloatVariables), name);
      Fold(Compute("mov.b32", name));
    }
  }
}

void Writer::StoreFrom(const std::string& space, const Element& element, const std::string& address,
                       const std::string& guard, const Place& place, RandomWords& random) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < element.count; ++i) {
    if (element.is_float)
      names.push_back(OneNan(FloatValue(place, random)));
    else
      names.push_back(random.Chance(2)   ? Index(place, random, 1)
                      : random.Chance(2) ? "%h"
                                         : Uniform(place, random));
  }
  Line("{}st{}.{} [{}], {}", guard.empty() ? "" : "@" + guard + " ", space, element.suffix, address,
       List(names));
}

void Writer::Load(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  constexpr const char* kSpaces[] = {".global", ".global", ".global.nc", "", ".const", ".global.ca"};
  const Element& element = PickElement(random);
  std::string space = kSpaces[random.Below(std::size(kSpaces))];
  std::string base = "%in";
  uint32_t size = kInputBytes / element.Size();
  if (space == ".const") {
    uses_table_ = true;
    base = ComputeWide("mov.u64", kernel_ + "_table");
    size = kConstants * 4 / element.Size();
  }
  if (random.Chance(3)) size -= random.Below(size / 2);
  const std::string raw = random.Chance(12) ? Uniform(place, random) : Index(place, random, random.Below(4));
  if (random.Chance(4)) {
    const std::string wide = WideBounded(raw, size, random);
    return LoadInto(space, element, ComputeWide("mad.lo.s64", wide, element.Size(), base), "", random);
  }
  if (!random.Chance(3))
    return LoadInto(space, element, Address(base, Bounded(raw, size, random), element.Size(), random), "",
                    random);
  // Under a test of the index itself.
  std::string inside = Test("setp.lt.u32", raw, size);
  if (random.Chance(2)) {
    const std::string low = Test("setp.gt.s32", raw, -1), high = Test("setp.lt.s32", raw, size);
    inside = Test("and.pred", low, high);
  }
  if (random.Chance(2)) {
    return LoadInto(space, element, ComputeWide("mad.wide.s32", raw, element.Size(), base), inside, random);
  }
  const std::string end = NewLabel();
  Line("@!{} bra {}", inside, end);
  LoadInto(space, element, ComputeWide("mad.wide.s32", raw, element.Size(), base), "", random);
  Label(end);
}

void Writer::LoadSelected(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  const Element& element = PickElement(random);
  const uint32_t size = kInputBytes / element.Size();
  const std::string a = Bounded(Index(place, random, 1 + random.Below(2)), size, random);
  const std::string predicate = Condition(place, random);
  if (random.Chance(2)) {  // the address itself
    const std::string first = ComputeWide("mad.wide.u32", a, element.Size(), "%in");
    std::string second = "%in";
    if (random.Chance(2)) {
      const std::string b = Bounded(Index(place, random, 1), size, random);
      second = ComputeWide("mad.wide.u32", b, element.Size(), "%in");
    }
    return LoadInto(".global", element, ComputeWide("selp.b64", first, second, predicate), "", random);
  }
  // A distance: neighbours on the one or the other side.
  const uint32_t step = 1 + random.Below(40);
  const std::string distance = Compute("selp.b32", random.Below(4), step, predicate);
  const std::string index = Compute(random.Chance(2) ? "add.s32" : "sub.s32", a, distance);
  LoadInto(".global", element, Address("%in", Bounded(index, size, random), element.Size(), random), "",
           random);
}

void Writer::LoadNeighbours(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  const std::string centre = random.Chance(2) ? Index(place, random, 1) : Atom(place, random);
  const uint32_t size = kInputBytes / 4 - random.Below(400), way = random.Below(4),
                 count = 2 + random.Below(4);
  constexpr int32_t kDistances[] = {-1, 1, -2, 2, 0, -16, 16, 24, -24, 33, 3, 8};
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t distance = kDistances[random.Below(std::size(kDistances))];
    const std::string index = Compute("add.s32", centre, distance);
    if (way == 0) {  // clamped
      const std::string at = Compute("min.s32", Compute("max.s32", index, 0), size - 1);
      LoadInto(".global", kElements[i == 0 ? 0 : 6], Address("%in", at, 4, random), "", random);
    } else if (way == 1) {  // repeated
      const std::string at = Compute("rem.u32", Compute("add.s32", index, size), size);
      LoadInto(".global", kElements[0], Address("%in", at, 4, random), "", random);
    } else if (way == 2) {  // left out
      const std::string inside = Test("setp.lt.u32", index, size);
      LoadInto(".global", kElements[6], ComputeWide("mad.wide.s32", index, 4, "%in"), inside, random);
    } else {  // offsets of one address
      const uint32_t least = 24;
      const std::string at = Compute("add.u32", Compute("min.u32", centre, size - 64), least);
      const std::string address = ComputeWide("mad.wide.u32", at, 4, "%in");
      LoadInto(".global", kElements[0], fmt::format("{}+{}", address, 4 * distance), "", random);
    }
  }
}

void Writer::Store(const Node& node, const Place& place) {
  RandomWords random(node.word[0]), cell_random(node.word[1]);
  const Element& element = PickElement(random);
  uint32_t cells = 0;
  const bool own = place.own.empty() || random.Chance(3);
  const std::string cell = own ? ThreadCell(place, cell_random, cells) : Cell(place, cell_random, cells);
  const uint32_t offset = stored_bytes_;
  stored_bytes_ += (cells * element.Size() + 15) / 16 * 16;
  if (own) areas_.push_back({offset, node.word[1], element});
  const std::string base = ComputeWide("add.s64", "%stores", offset);
  const std::string guard = random.Chance(4) ? Condition(place, random) : "";
  const std::string address = Address(base, cell, element.Size(), random);
  StoreFrom(random.Chance(6) ? "" : ".global", element, address, guard, place, random);
}

void Writer::LoadOwn(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  if (areas_.empty()) return;
  const Area area = areas_[random.Below(areas_.size())];
  RandomWords cell_random(area.word);
  uint32_t cells = 0;
  const std::string cell = ThreadCell(place, cell_random, cells);
  const std::string base = ComputeWide("add.s64", "%stores", area.offset);
  const std::string address = Address(base, cell, area.element.Size(), random);
  if (random.Chance(2)) {  // parts of the cell, as elements of any width
    const Element& part = PickElement(random);
    if (part.Size() <= area.element.Size()) {
      const auto at = [&] {
        return fmt::format("{}+{}", address, random.Below(area.element.Size() / part.Size()) * part.Size());
      };
      if (random.Chance(2))
        StoreFrom(".global", part, at(), random.Chance(4) ? Condition(place, random) : "", place, random);
      LoadInto(".global", part, at(), "", random);
    }
  }
  LoadInto(".global", area.element, address, random.Chance(4) ? Condition(place, random) : "", random);
}

void Writer::Local(const Node& node, const Place& place) {
  uses_local_ = true;
  RandomWords random(node.word[0]);
  const auto address = [&] {
    const std::string index = Compute("and.b32", Index(place, random, random.Below(2)), kLocalWords - 1);
    return ComputeWide("mad.wide.u32", index, 4, "%local");
  };
  Line("st.local.u32 [{}], {}", address(), Index(place, random, 1));
  if (random.Chance(3)) Line("st.local.u8 [%local+{}], %h", random.Below(4 * kLocalWords));
  Assign(Compute("ld.local.u32", fmt::format("[{}]", address())), random);
}

// Words of shared memory that no other thread accesses: without a barrier.
void Writer::OwnShared(const Node& node, const Place& place) {
  uses_shared_ = uses_own_ = true;
  RandomWords random(node.word[0]);
  const std::string own = Compute("mul.lo.u32", "%lin", 4 * kOwnWords);
  const std::string base = Compute("add.u32", own, Compute("add.u32", "%shared", kOwnBegin));
  const auto address = [&](const Element& element) {
    const uint32_t count = 4 * kOwnWords / element.Size();
    const std::string at = random.Chance(2) ? std::to_string(random.Below(count))
                                            : Bounded(Index(place, random, random.Below(2)), count, random);
    return Compute("mad.lo.u32", at, element.Size(), base);
  };
  const uint32_t steps = 1 + random.Below(4);
  for (uint32_t step = 0; step < steps; ++step) {
    const Element& element = PickElement(random);
    const std::string at = address(element);
    const std::string guard = random.Chance(4) ? Condition(place, random) : "";
    if (random.Chance(2))
      StoreFrom(".shared", element, at, guard, place, random);
    else
      LoadInto(".shared", element, at, guard, random);
  }
}

void Writer::GlobalAtomic(const Node& node, const Place& place) {
  RandomWords random(node.word[0]);
  constexpr const char* kOps[] = {"add.u32", "xor.b32", "max.u32", "min.s32", "or.b32", "and.b32"};
  const uint32_t op = random.Below(std::size(kOps));
  // Each operation has words of its own, so that the order does not count.
  std::string address = fmt::format("%sums+{}", 8 * op);
  if (random.Chance(2)) {
    const std::string index = Compute("and.b32", random.Chance(2) ? "%h" : Index(place, random, 1), 1);
    address = fmt::format("{}+{}", ComputeWide("mad.wide.u32", index, 4, "%sums"), 8 * op);
  }
  std::string value = random.Chance(3) ? "1" : random.Chance(2) ? "%h" : Index(place, random, 1);
  const std::string guard = random.Chance(3) ? "@" + Condition(place, random) + " " : "";
  if (random.Chance(2)) return Line("{}red.global.{} [{}], {}", guard, kOps[op], address, value);
  Line("{}atom.global.{} {}, [{}], {}", guard, kOps[op], Reg(), address, value);
}

void Writer::AtomicResult(const Node& node, const Place& place) {
  RandomWords random(node.word[0]), cell_random(node.word[1]);
  constexpr const char* kOps[] = {"add.u32", "xor.b32", "max.s32", "exch.b32", "inc.u32", "min.u32"};
  uint32_t cells = 0;
  const std::string cell = ThreadCell(place, cell_random, cells);
  const std::string base = ComputeWide("add.s64", "%stores", stored_bytes_);
  stored_bytes_ += (cells * 4 + 15) / 16 * 16;
  const std::string address = Address(base, cell, 4, random), value = Index(place, random, 1);
  if (random.Chance(5))
    return Assign(Compute("atom.global.cas.b32", fmt::format("[{}]", address), random.Below(2), value),
                  random);
  Assign(Compute(fmt::format("atom.global.{}", kOps[random.Below(std::size(kOps))]),
                 fmt::format("[{}]", address), value),
         random);
}

void Writer::SharedAtomic(const Node& node, const Place& place) {
  uses_shared_ = true;
  RandomWords random(node.word[0]);
  const std::string index = Compute("and.b32", Index(place, random, 2), kTableWords - 1);
  const std::string value = random.Chance(2) ? "1" : Index(place, random, 1);
  const std::string address = fmt::format("{}+{}", SharedAddress(index, random), 4 * kTileWords);
  if (random.Chance(2)) return Line("red.shared.add.u32 [{}], {}", address, value);
  Line("atom.shared.add.u32 {}, [{}], {}", Reg(), address, value);
}

}  // namespace ptx2cpu::random_patterns
