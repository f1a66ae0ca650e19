// Branches and loops.
#include "tests/random/patterns/writer.h"

namespace ptx2cpu::random_patterns {

void Writer::Write(const Body& body, Place& place) {
  for (const Node& node : body) Write(node, place);
}

void Writer::Write(const Node& node, Place& place) {
  switch (node.kind) {
#define KIND(name, together, parted, arms) \
  case Kind::k##name:                      \
    return name(node, place);
#include "tests/random/patterns/kinds.def"
#undef KIND
  }
}

void Writer::Arm(const Node& node, size_t arm, Place place, bool together) {
  place.together = place.together && together;
  if (arm < node.arms.size()) Write(node.arms[arm], place);
}

void Writer::If(const Node& node, Place& place) {
  RandomWords random(node.word[0]);
  const std::string predicate = Condition(place, random), otherwise = NewLabel(), end = NewLabel();
  Line("@!{} bra {}", predicate, otherwise);
  Arm(node, 0, place, false);
  const bool both = random.Chance(2);
  if (both) Line("bra {}", end);
  Label(otherwise);
  if (both) Arm(node, 1, place, false);
  Label(end);
}

void Writer::UniformIf(const Node& node, Place& place) {
  RandomWords random(node.word[0]);
  const std::string predicate = UniformCondition(place, random), otherwise = NewLabel(), end = NewLabel();
  Line("@{} bra {}", predicate, otherwise);
  Arm(node, 0, place, true);
  const bool both = random.Chance(2);
  if (both) Line("bra {}", end);
  Label(otherwise);
  if (both) Arm(node, 1, place, true);
  Label(end);
}

namespace {
constexpr uint32_t kMaxTrips = 60;
}  // namespace

void Writer::Loop(const Node& node, Place& place) {
  RandomWords random(node.word[0]);
  const uint32_t most = std::max(1u, std::min(7u, kMaxTrips / place.trips));
  std::string count = std::to_string(1 + random.Below(most));
  const std::string i = Reg(), more = Predicate(), again = NewLabel(), end = NewLabel();
  if (random.Chance(2)) count = Compute("rem.u32", Uniform(place, random), most + 1);
  const uint32_t step = random.Chance(4) ? 2 + random.Below(3) : 1;
  const bool down = random.Chance(4), before = random.Chance(2);
  if (step != 1) count = Compute("mul.lo.u32", count, step);
  Line("mov.u32 {}, {}", i, down ? count : "0");
  const auto test = [&] {
    if (down)
      Line("setp.gt.s32 {}, {}, 0", more, i);
    else
      Line("setp.lt.{} {}, {}, {}", random.Chance(2) ? "u32" : "s32", more, i, count);
  };
  if (before) {
    test();
    Line("@!{} bra {}", more, end);
  }
  Label(again);
  Place inside = place;
  inside.counters.push_back(i);
  inside.trips *= most;
  Arm(node, 0, inside, true);
  Line("add.s32 {}, {}, {}", i, i, down ? -static_cast<int32_t>(step) : static_cast<int32_t>(step));
  test();
  Line("@{} bra {}", more, again);
  Label(end);
}

void Writer::VaryingLoop(const Node& node, Place& place) {
  RandomWords random(node.word[0]);
  const uint32_t most = std::max(1u, std::min(6u, kMaxTrips / place.trips));
  const std::string count = Compute("rem.u32", random.Chance(2) ? "%h" : Index(place, random, 1), most + 1);
  const std::string i = Reg(), more = Predicate(), again = NewLabel(), end = NewLabel();
  Line("mov.u32 {}, {}", i, random.Chance(2) ? "0" : "%tx");
  const std::string last = Compute("add.u32", count, i);
  Line("setp.ge.u32 {}, {}, {}", more, i, last);
  Line("@{} bra {}", more, end);
  Label(again);
  Place inside = place;
  inside.counters.push_back(i);
  inside.trips *= most;
  Arm(node, 0, inside, false);
  if (random.Chance(3)) Line("@{} bra {}", Test("setp.gt.u32", "%h", 0xF0000000), end);
  Line("add.u32 {}, {}, 1", i, i);
  Line("setp.lt.u32 {}, {}, {}", more, i, last);
  Line("@{} bra {}", more, again);
  Label(end);
}

void Writer::StridedLoop(const Node& node, Place& place) {
  RandomWords random(node.word[0]);
  const bool grid = random.Chance(2);
  const uint32_t step = grid ? tree_.Threads() : tree_.BlockThreads();
  const uint32_t most = std::max(1u, std::min(4u, kMaxTrips / place.trips));
  const uint32_t bound = 1 + random.Below(most * step);
  const std::string i = Reg(), more = Predicate(), again = NewLabel(), end = NewLabel();
  Line("mov.u32 {}, {}", i, grid ? "%gid" : "%lin");
  std::string limit = std::to_string(bound);
  if (random.Chance(3)) limit = Compute("min.u32", Uniform(place, random), bound);
  const char* type = random.Chance(2) ? "u32" : "s32";
  std::string stride = std::to_string(step);
  if (!grid && random.Chance(2)) stride = "%block";
  if (grid && random.Chance(2)) {
    const std::string blocks =
        Compute("mul.lo.u32", Compute("mov.u32", "%nctaid.x"), Compute("mov.u32", "%nctaid.y"));
    stride = Compute("mul.lo.u32", "%block", blocks);
  }
  Line("setp.ge.{} {}, {}, {}", type, more, i, limit);
  Line("@{} bra {}", more, end);
  Label(again);
  Place inside = place;
  inside.counters.push_back(i);
  inside.trips *= most;
  if (grid) {
    inside.own.emplace_back(i, bound);
  } else {
    // A place in the block's own part.
    const std::string block = Compute("mad.lo.u32", "%by", Compute("mov.u32", "%nctaid.x"), "%bx");
    inside.own.emplace_back(Compute("mad.lo.u32", block, bound, i),
                            bound * (tree_.Threads() / tree_.BlockThreads()));
  }
  Arm(node, 0, inside, false);
  Line("add.u32 {}, {}, {}", i, i, stride);
  Line("setp.lt.{} {}, {}, {}", type, more, i, limit);
  Line("@{} bra {}", more, again);
  Label(end);
}

void Writer::Exit(const Node& node, Place& place) {
  if (!place.counters.empty()) return;
  RandomWords random(node.word[0]);
  ended_ = true;
  const std::string place_of = random.Chance(2) ? "%gid" : "%tx";
  const uint32_t threads = place_of == "%gid" ? tree_.Threads() : tree_.block[0];
  const std::string over = Test("setp.ge.s32", place_of, 1 + random.Below(threads + 4));
  if (random.Chance(2)) return Line("@{} exit", over);
  const std::string end = NewLabel();
  Line("@!{} bra {}", over, end);
  StoreHash();
  Label(end);
}

}  // namespace ptx2cpu::random_patterns
