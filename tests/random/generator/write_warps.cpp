// Branches of whole warps and of the block. Warps that part get barriers of their own.
#include <bit>

#include "tests/random/generator/writer.h"

namespace ptx2cpu::random_kernels {

namespace {

// Half of the set bits.
uint32_t HalfOf(uint32_t ids, bool upper) {
  uint32_t result = 0, number = 0;
  for (uint32_t rest = ids; rest != 0; rest &= rest - 1, ++number) {
    if ((number % 2 != 0) == upper) result |= rest & (0 - rest);
  }
  return result;
}

}  // namespace

// Barriers that the warps in arms may use; one that is clean stays with the place, for its next barrier.
uint32_t Writer::IdsForArms(Place& place, uint32_t word) {
  if (!place.lanes_together || !Allowed(Feature::k_named) || std::popcount(place.ids) < 3) return 0;
  if (std::popcount(place.clean) < 3) Sync(place, word);
  return place.clean & (place.clean - 1);
}

Dropped Writer::WarpArm(const Node& node, size_t arm, Place& place, const std::string& warps, uint32_t ids) {
  Place inside = place;
  inside.warps = warps;
  inside.warps_together = false;
  inside.ids = inside.clean = ids;
  inside.used = 0;
  const Dropped dropped = Arm(node, arm, inside);
  place.used |= inside.used;
  place.clean &= ~inside.used;
  place.nothing_dropped &= inside.nothing_dropped;
  place.all_warps &= inside.all_warps;
  return dropped;
}

Dropped Writer::WarpIf(const Node& node, Place& place) {
  const uint32_t ids = IdsForArms(place, node.word[2]);
  const Choice choice = ChooseWarps(node.word[0], place);
  const bool has_else = node.word[1] % 3 != 0;
  const std::string other = NewLabel(), end = NewLabel();
  Line("@!{} bra {}", choice.mine, has_else ? other : end);
  Dropped dropped = WarpArm(node, 0, place, Compute("and.b32", choice.set, place.warps),
                            has_else ? HalfOf(ids, false) : ids);
  if (has_else) {
    Line("bra {}", end);
    Label(other);
    dropped |= WarpArm(node, 1, place, Compute("and.b32", Compute("not.b32", choice.set), place.warps),
                       HalfOf(ids, true));
  }
  Label(end);
  return dropped;
}

Dropped Writer::WarpSwitch(const Node& node, Place& place) {
  const uint32_t ids = IdsForArms(place, node.word[2]);
  const Choice a = ChooseWarps(node.word[0], place), b = ChooseWarps(node.word[1], place);
  const std::string not_a = Compute("not.b32", a.set);
  const std::string low = Compute("selp.u32", 1, 0, a.mine), high = Compute("selp.u32", 2, 0, b.mine);
  const std::string index = Compute("min.u32", Compute("add.u32", low, high), 2);
  // 0: neither; 1: a alone; 2: b
  const std::string sets[] = {Compute("and.b32", not_a, Compute("not.b32", b.set)),
                              Compute("and.b32", a.set, Compute("not.b32", b.set)), b.set};
  const uint32_t own[] = {HalfOf(HalfOf(ids, false), false), HalfOf(HalfOf(ids, false), true),
                          HalfOf(ids, true)};
  const std::vector<std::string> labels{NewLabel(), NewLabel(), NewLabel()};
  const std::string end = NewLabel();
  JumpTable(index, labels);
  Dropped dropped = 0;
  for (size_t i = 0; i < 3; ++i) {
    Label(labels[i]);
    dropped |= WarpArm(node, i, place, Compute("and.b32", sets[i], place.warps), own[i]);
    if (i < 2) Line("bra {}", end);
  }
  Label(end);
  return dropped;
}

// In each trip some warps leave.
Dropped Writer::WarpLoop(const Node& node, Place& place) {
  const uint32_t ids = IdsForArms(place, node.word[2]);
  const std::string counter = Compute("mov.u32", 0), head = NewLabel(), end = NewLabel(), more = Predicate();
  Place body = place;
  body.warps = Compute("mov.b32", place.warps);
  body.warps_together = false;
  body.ids = body.clean = ids;
  body.used = 0;
  Label(head);
  Place test = body;
  test.trip = MixTrip(place, counter);
  const Choice stay = ChooseWarps(node.word[0], test), also = ChooseWarps(node.word[1], test);
  const std::string staying = Compute("or.b32", stay.set, also.set);
  Line("@!{} bra {}", BitOf(staying, "%warp"), end);
  Line("and.b32 {}, {}, {}", body.warps, body.warps, staying);
  const Dropped dropped = LoopBody(node, body, counter);
  if (body.clean != body.ids) Sync(body, node.word[3]);
  Line("add.u32 {}, {}, 1", counter, counter);
  Line("setp.lt.u32 {}, {}, {}", more, counter, 1 + node.word[2] % 3);
  Line("@{} bra {}", more, head);
  Label(end);
  place.used |= body.used;
  place.clean &= ~body.used;
  place.nothing_dropped &= dropped == 0 && body.nothing_dropped;
  return dropped;
}

Dropped Writer::WarpLeave(const Node& node, Place& place) {
  if (place.scopes.size() >= 8) return Arm(node, 0, place);
  const uint32_t ids = IdsForArms(place, node.word[2]);
  Scope scope{.end = Scope::End::kJump, .warps = true, .label = NewLabel()};
  scope.leaving = Compute("and.b32", ChooseWarps(node.word[0], place).set, place.warps);
  scope.keep = Compute("not.b32", scope.leaving);
  Place body = place;
  body.used = 0;
  body.scopes.push_back(scope);
  const std::string warps = Compute("mov.b32", place.warps);
  const Dropped dropped = WarpArm(node, 0, body, warps, ids);
  place.used |= body.used;
  place.clean &= ~body.used;
  place.nothing_dropped &= body.nothing_dropped;
  place.all_warps &= body.all_warps;
  Label(scope.label);
  return dropped & ~(Dropped{1} << place.scopes.size());
}

Dropped Writer::WarpExit(const Node& node, Place& place) {
  if (!place.lanes_together || !place.warps_together || !place.may_drop || place.scopes.size() >= 8 ||
      in_function_ != ~size_t{0}) {
    return Arm(node, 0, place);
  }
  Need(Feature::k_warp_exit);
  Scope scope{.end = Scope::End::kExit, .warps = true};
  scope.leaving = Compute("and.b32", ChooseWarps(node.word[0], place).set, place.warps);
  scope.keep = Compute("not.b32", scope.leaving);
  place.nothing_dropped = place.all_warps = false;
  place.scopes.push_back(scope);
  const Dropped dropped = Arm(node, 0, place);
  Drop(Dropped{1} << (place.scopes.size() - 1), place);
  place.scopes.pop_back();
  return dropped & ~(Dropped{1} << place.scopes.size());
}

// All threads of the block go one way; what was clean before is clean after both arms.
Dropped Writer::BlockIf(const Node& node, Place& place) {
  const Choice choice = ChooseBlock(node.word[0], place);
  const std::string other = NewLabel(), end = NewLabel();
  Line("@!{} bra {}", choice.mine, other);
  Place then = place, otherwise = place;
  Dropped dropped = Arm(node, 0, then);
  if ((place.clean & ~then.clean) != 0) Sync(then, node.word[1]);
  Line("bra {}", end);
  Label(other);
  dropped |= Arm(node, 1, otherwise);
  if ((place.clean & ~otherwise.clean) != 0) Sync(otherwise, node.word[2]);
  Label(end);
  place.used |= then.used | otherwise.used;
  place.clean = then.clean & otherwise.clean;
  place.nothing_dropped = then.nothing_dropped && otherwise.nothing_dropped;
  place.all_warps = then.all_warps && otherwise.all_warps;
  return dropped;
}

Dropped Writer::BlockLoop(const Node& node, Place& place) {
  const std::string counter = Compute("mov.u32", 0), head = NewLabel(), more = Predicate();
  std::string trips = Compute("mov.u32", 1 + node.word[0] % 3);
  if (node.word[0] % 2 == 0)
    trips =
        Compute("add.u32", Compute("and.b32", LoadInput(Compute("mov.u32", node.word[1] % kInputs)), 1), 1);
  Label(head);
  Place body = place;
  const Dropped dropped = LoopBody(node, body, counter);
  // The next trip begins with what was clean at the first.
  if ((place.clean & ~body.clean) != 0) Sync(body, node.word[2]);
  Line("add.u32 {}, {}, 1", counter, counter);
  Line("setp.lt.u32 {}, {}, {}", more, counter, trips);
  Line("@{} bra {}", more, head);
  place.used |= body.used;
  place.clean = body.clean;
  place.nothing_dropped = place.all_warps = false;
  return dropped;
}

}  // namespace ptx2cpu::random_kernels
