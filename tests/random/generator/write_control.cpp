// Branches, loops, scopes and calls.
#include <bit>

#include "tests/random/generator/writer.h"

namespace ptx2cpu::random_kernels {

Dropped Writer::Write(const Body& body, Place& place) {
  Dropped dropped = 0;
  for (const Node& node : body) {
    // What a statement inside has let go of a set, the rest of the set follows here.
    const Dropped inside = Write(node, place);
    dropped |= Drop(inside, place);
  }
  return dropped;
}

Dropped Writer::Arm(const Node& node, size_t arm, Place& place) {
  return arm < node.arms.size() ? Write(node.arms[arm], place) : 0;
}

Dropped Writer::Write(const Node& node, Place& place) {
  if (!place.lanes_together || place.ids == 0) {
    const bool needs_barrier = node.kind == Kind::kBarrier || node.kind == Kind::kBarrierReduce ||
                               node.kind == Kind::kGroupExchange || node.kind == Kind::kProducerConsumer ||
                               node.kind == Kind::kSplitBarrier;
    if (needs_barrier) return 0;
  }
  switch (node.kind) {
    case Kind::kAlu:
      return Alu(node, place), 0;
    case Kind::kShuffle:
      return Perform(MakeCollective(Collective::Op::kShuffle, node.word[0]), MaskOperand(place, node.word[1]),
                     node.word[2]),
             0;
    case Kind::kVote: {
      const auto op = node.word[3] % 2 == 0 ? Collective::Op::kVote : Collective::Op::kBallot;
      return Perform(MakeCollective(op, node.word[0]), MaskOperand(place, node.word[1]), node.word[2]), 0;
    }
    case Kind::kMatch:
      return Perform(MakeCollective(Collective::Op::kMatch, node.word[0]), MaskOperand(place, node.word[1]),
                     node.word[2]),
             0;
    case Kind::kRedux:
      return Perform(MakeCollective(Collective::Op::kRedux, node.word[0]), MaskOperand(place, node.word[1]),
                     node.word[2]),
             0;
    case Kind::kWarpSync:
      return Perform(MakeCollective(Collective::Op::kSync, node.word[0]), MaskOperand(place, node.word[1]),
                     node.word[2]),
             0;
    case Kind::kElect:
      return Need(Feature::k_elect), Elect(place), 0;
    case Kind::kGuarded:
      return Need(Feature::k_branch), Guarded(node, place), 0;
    case Kind::kWarpExchange:
      return Need(Feature::k_warp_exchange), WarpExchange(node, place), 0;
    case Kind::kGlobalAtomic:
      return Need(Feature::k_atomic), GlobalAtomic(node), 0;
    case Kind::kSharedAtomic:
      return Need(Feature::k_atomic), SharedAtomic(node), 0;
    case Kind::kLock:
      return Need(Feature::k_lock), Lock(node), 0;
    case Kind::kLaneTicket:
      return Need(Feature::k_lane_ticket), LaneTicket(node), 0;
    case Kind::kWarpTicket:
      return Need(Feature::k_warp_ticket), WarpTicket(node, place), 0;
    case Kind::kChain:
      return Chain(node, place), 0;
    case Kind::kLaneIf:
      return Need(Feature::k_branch), LaneIf(node, place);
    case Kind::kShortCircuit:
      return Need(Feature::k_branch), ShortCircuit(node, place);
    case Kind::kLaneSwitch:
      return Need(Feature::k_switch), LaneSwitch(node, place);
    case Kind::kLaneLoop:
      return Need(Feature::k_loop), LaneLoop(node, place);
    case Kind::kSideEntry:
      return Need(Feature::k_irreducible), SideEntry(node, place);
    case Kind::kLaneLeave:
      return LaneLeave(node, place);
    case Kind::kLaneExit:
      return LaneExit(node, place);
    case Kind::kSplit:
      return Need(Feature::k_split), Split(node, place);
    case Kind::kAppointment:
      return Need(Feature::k_appointment), Appointment(node, place);
    case Kind::kCall:
      return Call(node, place), 0;
    case Kind::kBlockCall:
      return BlockCall(node, place), 0;
    case Kind::kBarrier:
      return Barrier(node, place), 0;
    case Kind::kBarrierReduce:
      return BarrierReduce(node, place), 0;
    case Kind::kGroupExchange:
      return GroupExchange(node, place), 0;
    case Kind::kProducerConsumer:
      return ProducerConsumer(node, place);
    case Kind::kSplitBarrier:
      return SplitBarrier(node, place);
    case Kind::kWarpIf:
      return Need(Feature::k_warp_branch), WarpIf(node, place);
    case Kind::kWarpSwitch:
      return Need(Feature::k_warp_switch), WarpSwitch(node, place);
    case Kind::kWarpLoop:
      return Need(Feature::k_warp_branch), WarpLoop(node, place);
    case Kind::kWarpLeave:
      return Need(Feature::k_warp_branch), WarpLeave(node, place);
    case Kind::kWarpExit:
      return WarpExit(node, place);
    case Kind::kBlockIf:
      return Need(Feature::k_block_branch), BlockIf(node, place);
    case Kind::kBlockLoop:
      return Need(Feature::k_block_branch), BlockLoop(node, place);
    case Kind::kDrop:
      if (place.scopes.empty() || !place.may_drop) return 0;
      return Dropped{1} << node.word[0] % place.scopes.size();  // Write(Body) lets them go
  }
  return 0;
}

Dropped Writer::Drop(Dropped scopes, Place& place) {
  for (Dropped rest = scopes; rest != 0; rest &= rest - 1)
    DropOne(place.scopes[static_cast<size_t>(std::countr_zero(rest))], place);
  return scopes;
}

void Writer::DropOne(const Scope& scope, const Place& place) {
  const std::string leaves = BitOf(scope.leaving, scope.warps ? "%warp" : "%lane");
  if (scope.end == Scope::End::kJump) {
    Line("@{} bra {}", leaves, scope.label);
  } else {
    const std::string stays = NewLabel();
    Line("@!{} bra {}", leaves, stays);
    if (scope.end == Scope::End::kExit) {
      StoreAndExit();
    } else {
      Line("st.param.b32 [result], %h");
      Line("ret");
    }
    Label(stays);
  }
  const std::string& set = scope.warps ? place.warps : place.lanes;
  Line("and.b32 {}, {}, {}", set, set, scope.keep);
}

Place Writer::Inside(const Place& place, const std::string& lanes) {
  Place inside = place;
  inside.lanes = lanes;
  inside.lanes_together = false;
  return inside;
}

std::string Writer::MixTrip(const Place& place, const std::string& counter) {
  return Compute("add.u32", Compute("mad.lo.u32", place.trip, 5, counter), 1);
}

// -- lanes --

Dropped Writer::LaneIf(const Node& node, Place& place) {
  const Choice choice = ChooseLanes(node.word[0], place);
  const bool has_else = node.word[1] % 3 != 0;
  const std::string other = NewLabel(), end = NewLabel();
  Line("@!{} bra {}", choice.mine, has_else ? other : end);
  Place then = Inside(place, Compute("and.b32", choice.set, place.lanes));
  Dropped dropped = Arm(node, 0, then);
  if (has_else) {
    Line("bra {}", end);
    Label(other);
    Place otherwise = Inside(place, Compute("and.b32", Compute("not.b32", choice.set), place.lanes));
    dropped |= Arm(node, 1, otherwise);
  }
  Label(end);
  return dropped;
}

// if (first || second) A else B, or with &&: the second test is made by some lanes only.
Dropped Writer::ShortCircuit(const Node& node, Place& place) {
  const Choice first = ChooseLanes(node.word[0], place), second = ChooseLanes(node.word[1], place);
  const bool is_or = node.word[2] % 2 == 0;
  const std::string yes = NewLabel(), no = NewLabel(), end = NewLabel();
  Line("@{}{} bra {}", is_or ? "" : "!", first.mine, is_or ? yes : no);
  Fold(Compute("popc.b32", second.set));
  Line("@!{} bra {}", second.mine, no);
  Label(yes);
  const std::string both = Compute(is_or ? "or.b32" : "and.b32", first.set, second.set);
  Place then = Inside(place, Compute("and.b32", both, place.lanes));
  Dropped dropped = Arm(node, 0, then);
  Line("bra {}", end);
  Label(no);
  const std::string neither =
      Compute("not.b32", Compute(is_or ? "or.b32" : "and.b32", first.set, second.set));
  Place otherwise = Inside(place, Compute("and.b32", neither, place.lanes));
  dropped |= Arm(node, 1, otherwise);
  Label(end);
  return dropped;
}

void Writer::JumpTable(const std::string& index, const std::vector<std::string>& labels) {
  const std::string table = NewLabel();
  std::string list;
  for (const std::string& label : labels) list += (list.empty() ? "" : ", ") + label;
  body_ += fmt::format("  {}: .branchtargets {};\n", table, list);
  Line("brx.idx {}, {}", index, table);
}

Dropped Writer::LaneSwitch(const Node& node, Place& place) {
  const Choice a = ChooseLanes(node.word[0], place), b = ChooseLanes(node.word[1], place);
  const uint32_t arms = 2 + node.word[2] % 3;
  const std::string not_a = Compute("not.b32", a.set), not_b = Compute("not.b32", b.set);
  const std::string low = Compute("selp.u32", 1, 0, a.mine), high = Compute("selp.u32", 2, 0, b.mine);
  const std::string index = Compute("min.u32", Compute("add.u32", low, high), arms - 1);
  std::vector<std::string> sets{Compute("and.b32", not_a, not_b), Compute("and.b32", a.set, not_b),
                                Compute("and.b32", not_a, b.set), Compute("and.b32", a.set, b.set)};
  if (arms == 3) sets[2] = b.set;
  if (arms == 2) sets[1] = Compute("or.b32", a.set, b.set);
  std::vector<std::string> labels;
  for (uint32_t i = 0; i < arms; ++i) labels.push_back(NewLabel());
  const std::string end = NewLabel();
  JumpTable(index, labels);
  Dropped dropped = 0;
  uint32_t first = 0;  // the highest arm from which lanes come here
  for (uint32_t i = 0; i < arms; ++i) {
    Label(labels[i]);
    std::string set = sets[i];
    for (uint32_t above = first; above < i; ++above) set = Compute("or.b32", set, sets[above]);
    Place arm = Inside(place, Compute("and.b32", set, place.lanes));
    const Dropped own = Arm(node, i, arm);
    dropped |= own;
    if (own == 0 && (node.word[3] >> i & 1) != 0) continue;  // falls into the next arm
    first = i + 1;
    if (i + 1 < arms) Line("bra {}", end);
  }
  Label(end);
  return dropped;
}

Dropped Writer::LoopBody(const Node& node, Place& place, const std::string& counter) {
  place.trip = MixTrip(place, counter);
  place.once = place.nothing_dropped = place.all_warps = false;
  return Arm(node, 0, place);
}

Dropped Writer::LaneLoop(const Node& node, Place& place) {
  const std::string counter = Compute("mov.u32", 0), head = NewLabel(), end = NewLabel(), more = Predicate();
  Place body = Inside(place, Compute("mov.b32", place.lanes));
  const uint32_t shift = node.word[1] % 4, trips = 1 + node.word[2] % 4;
  Dropped dropped;
  if (node.word[0] % 3 == 0) {
    // As many trips as the value of two bits of the lane's number, and one more.
    const std::string own = Compute("and.b32", Compute("shr.u32", "%lane", shift), 3);
    uint32_t sets[4] = {};
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t trip = 0; trip <= (lane >> shift & 3); ++trip) sets[trip] |= 1u << lane;
    }
    Label(head);
    std::string set = Compute("mov.b32", sets[0]);
    for (uint32_t trip = 1; trip < 4; ++trip) {
      const std::string here = Predicate();
      Line("setp.eq.u32 {}, {}, {}", here, counter, trip);
      set = Compute("selp.b32", sets[trip], set, here);
    }
    Line("and.b32 {}, {}, {}", body.lanes, body.lanes, set);
    dropped = LoopBody(node, body, counter);
    Line("add.u32 {}, {}, 1", counter, counter);
    Line("setp.le.u32 {}, {}, {}", more, counter, own);
    Line("@{} bra {}", more, head);
  } else {
    // In each trip some lanes leave, before the body or after it; also all that are left may.
    const bool first = node.word[0] % 3 == 1;
    Label(head);
    Place test = body;
    test.trip = MixTrip(place, counter);
    if (!first) dropped = LoopBody(node, body, counter);
    const Choice stay = ChooseLanes(node.word[3], test),
                 also = ChooseLanes(node.word[3] * 0x61C88647 + 7, test);
    const std::string staying = Compute("or.b32", stay.set, also.set);
    Line("@!{} bra {}", BitOf(staying, "%lane"), end);
    Line("and.b32 {}, {}, {}", body.lanes, body.lanes, staying);
    if (first) dropped = LoopBody(node, body, counter);
    Line("add.u32 {}, {}, 1", counter, counter);
    Line("setp.lt.u32 {}, {}, {}", more, counter, trips);
    Line("@{} bra {}", more, head);
    Label(end);
  }
  return dropped;
}

// Some lanes begin the loop at its second half: an irreducible graph.
Dropped Writer::SideEntry(const Node& node, Place& place) {
  const Choice side = ChooseLanes(node.word[0], place);
  const std::string counter = Compute("mov.u32", 0), head = NewLabel(), middle = NewLabel(),
                    first_trip = Predicate(), more = Predicate();
  const std::string not_side = Compute("not.b32", side.set);
  Place body = place;
  body.lanes_together = body.once = body.nothing_dropped = body.all_warps = false;
  body.may_drop = false, body.scopes.clear();
  body.trip = Compute("mov.u32", place.trip);
  Line("@{} bra {}", side.mine, middle);
  Label(head);
  Line("setp.eq.u32 {}, {}, 0", first_trip, counter);
  const std::string here = Compute("selp.b32", not_side, -1, first_trip);
  Place upper = body;
  upper.lanes = Compute("and.b32", here, place.lanes);
  Arm(node, 0, upper);
  Label(middle);
  Place lower = body;
  lower.lanes = Compute("mov.b32", place.lanes);
  Arm(node, 1, lower);
  Line("add.u32 {}, {}, 1", counter, counter);
  Line("add.u32 {}, {}, {}", body.trip, body.trip, 3);
  Line("setp.lt.u32 {}, {}, {}", more, counter, 2 + node.word[1] % 2);
  Line("@{} bra {}", more, head);
  return 0;
}

Dropped Writer::LaneLeave(const Node& node, Place& place) {
  if (place.scopes.size() >= 8) return Arm(node, 0, place);
  Need(Feature::k_leave);
  Scope scope{.end = Scope::End::kJump, .label = NewLabel()};
  scope.leaving = Compute("and.b32", ChooseLanes(node.word[0], place).set, place.lanes);
  scope.keep = Compute("not.b32", scope.leaving);
  Place body = Inside(place, Compute("mov.b32", place.lanes));
  body.may_drop = true;
  body.scopes.push_back(scope);
  const Dropped dropped = Arm(node, 0, body);
  Label(scope.label);
  return dropped & ~(Dropped{1} << place.scopes.size());
}

// The first lane that is here stays, so that no warp ends by this.
Dropped Writer::LaneExit(const Node& node, Place& place) {
  if (!place.lanes_together || !place.may_drop || place.scopes.size() >= 8 || in_function_ != ~size_t{0})
    return Arm(node, 0, place);
  Need(Feature::k_exit);
  const std::string others = Compute("and.b32", place.lanes, Compute("sub.u32", place.lanes, 1));
  Scope scope{.end = Scope::End::kExit};
  scope.leaving = Compute("and.b32", ChooseLanes(node.word[0], place).set, others);
  scope.keep = Compute("not.b32", scope.leaving);
  place.nothing_dropped = false;
  place.scopes.push_back(scope);
  const Dropped dropped = Arm(node, 0, place);
  Drop(Dropped{1} << (place.scopes.size() - 1), place);
  place.scopes.pop_back();
  return dropped & ~(Dropped{1} << place.scopes.size());
}

// -- calls --

void Writer::CallFunction(size_t number, const Place& place) {
  Need(Feature::k_call);
  if (!function_written_[number]) {
    function_written_[number] = true;
    const std::string text = WriteFunction(number);
    functions_ += text;
  }
  body_ += "  {\n";
  const std::string values[] = {"%h", place.lanes, place.warps, place.trip};
  for (size_t i = 0; i < 4; ++i) {
    Line(".param .b32 in{}", i);
    Line("st.param.b32 [in{}], {}", i, values[i]);
  }
  Line(".param .b64 in4");
  Line("st.param.b64 [in4], %in");
  Line(".param .b64 in5");
  Line("st.param.b64 [in5], %sums");
  Line(".param .b32 out0");
  Line("call (out0), {}_f{}, (in0, in1, in2, in3, in4, in5)", kernel_, number);
  Line("ld.param.b32 %h, [out0]");
  body_ += "  }\n";
}

void Writer::Call(const Node& node, Place& place) {
  size_t number = node.word[0] % 2;
  if (in_function_ != ~size_t{0}) {
    if (in_function_ == 1) return;  // calls go to later functions only: no recursion
    number = in_function_ == 0 ? 1 : node.word[0] % 2;
  }
  if (number < tree_.functions.size() && !tree_.functions[number].with_barriers) CallFunction(number, place);
}

void Writer::BlockCall(const Node&, Place& place) {
  const bool free = Allowed(Feature::k_named) || (place.clean & 1) != 0;
  if (!place.lanes_together || !place.warps_together || !free || place.ids == 0 || in_function_ != ~size_t{0})
    return;
  for (size_t i = 0; i < tree_.functions.size(); ++i) {
    if (tree_.functions[i].with_barriers) {
      Need(Feature::k_block_call);
      return CallFunction(i, place);
    }
  }
}

}  // namespace ptx2cpu::random_kernels
