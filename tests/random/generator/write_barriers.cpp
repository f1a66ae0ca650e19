// Barriers of the block. A place has barriers that only its own warps use; one of them is clean when no warp
// can still be waiting there. So warps that went different ways never meet at one number with different
// counts.
#include <bit>

#include "tests/random/generator/writer.h"

namespace ptx2cpu::random_kernels {

uint32_t Writer::TakeId(const Place& place, uint32_t word) const {
  uint32_t clean = place.clean;
  for (uint32_t skip = word % static_cast<uint32_t>(std::popcount(clean)); skip != 0; --skip)
    clean &= clean - 1;
  return static_cast<uint32_t>(std::countr_zero(clean));
}

void Writer::CompleteAll(Place& place, uint32_t id) {
  place.used |= 1u << id;
  place.clean = place.ids;
}

// The number, and the count where it is wanted or needed; in registers or not.
std::string Writer::BarrierOperands(const Place& place, uint32_t id, uint32_t word, bool counted) {
  if (id != 0) Need(Feature::k_named);
  const std::string number =
      Allowed(Feature::k_named) && word % 4 == 0 ? Compute("mov.u32", id) : fmt::format("{}", id);
  counted |= !place.warps_together || (Allowed(Feature::k_named) && (word >> 2) % 3 == 0);
  if (!counted) return number;
  Need(Feature::k_named);
  const bool constant = place.warps_together && place.all_warps && (word >> 4) % 2 == 0;
  return number + ", " + (constant ? fmt::format("{}", (tree_.block + 31) / 32 * 32) : CountOf(place));
}

void Writer::Sync(Place& place, uint32_t word) {
  constexpr const char* kForms[] = {"bar.sync", "barrier.sync", "barrier.sync.aligned", "bar.cta.sync"};
  const uint32_t id = TakeId(place, word >> 8);
  const std::string operands = BarrierOperands(place, id, word >> 16, false);
  Line("{} {}", kForms[word % 4], operands);
  Need(Feature::k_barrier);
  CompleteAll(place, id);
}

void Writer::Barrier(const Node& node, Place& place) { Sync(place, node.word[0]); }

void Writer::BarrierReduce(const Node& node, Place& place) {
  constexpr const char* kForms[] = {"bar.red", "barrier.red"};
  Need(Feature::k_barrier_reduce);
  const uint32_t word = node.word[0], id = TakeId(place, word >> 8);
  const bool bare = word % 2 == 0;
  const char* aligned = !bare && (word >> 1) % 2 == 0 ? ".aligned" : "";
  const std::string operands = BarrierOperands(place, id, word >> 16, false);
  const std::string vote = Predicate();
  Line("setp.ne.u32 {}, {}, 0", vote,
       Compute("and.b32", "%h",
               node.word[1] % 3 == 0   ? 1
               : node.word[1] % 3 == 1 ? 0xFFF
                                       : 0));
  const char* negated = (word >> 3) % 3 == 0 ? "!" : "";
  if ((word >> 5) % 3 == 0) {
    const std::string d = Reg();
    Line("{}.popc{}.u32 {}, {}, {}{}", kForms[!bare], aligned, d, operands, negated, vote);
    Fold(d);
  } else {
    const std::string d = Predicate();
    Line("{}.{}{}.pred {}, {}, {}{}", kForms[!bare], (word >> 5) % 3 == 1 ? "and" : "or", aligned, d,
         operands, negated, vote);
    FoldPredicate(d);
  }
  CompleteAll(place, id);
}

// Any thread of a warp in the set; the thread itself where the set is empty.
std::string Writer::MemberThread(const Place&, const std::string& warps, uint32_t word) {
  const uint32_t count = (tree_.block + 31) / 32;
  const std::string other = Compute("rem.u32", Compute("add.u32", "%warp", word % 8), count);
  const std::string lane =
      Compute("and.b32", Compute("mad.lo.u32", "%lane", (word >> 3 & 15) | 1, word >> 8 & 31), 31);
  const std::string thread = Compute("mad.lo.u32", other, 32, lane);
  const std::string exists = Predicate();
  Line("setp.lt.u32 {}, {}, {}", exists, thread, tree_.block);
  Line("and.pred {}, {}, {}", exists, exists, BitOf(warps, other));
  return Compute("selp.b32", thread, "%me", exists);
}

// Everybody writes, all meet, everybody reads, all meet.
void Writer::GroupExchange(const Node& node, Place& place) {
  Need(Feature::k_exchange);
  uses_shared_ = true;
  Line("st.shared.u32 [{}], %h", SlotOf(kGroupArea, "%me"));
  Sync(place, node.word[0]);
  const std::string source = MemberThread(place, place.warps, node.word[1]);
  const std::string value = Compute("ld.shared.u32", "[" + SlotOf(kGroupArea, source) + "]");
  Sync(place, node.word[2]);
  Fold(value);
}

// Some warps write and arrive, the others wait and read; then all meet, or the other way round: readers
// arrive, writers wait.
Dropped Writer::ProducerConsumer(const Node& node, Place& place) {
  if (!Allowed(Feature::k_named) || std::popcount(place.ids) < 2) return 0;
  if (std::popcount(place.clean) < 2) Sync(place, node.word[3]);
  Need(Feature::k_arrive);
  uses_shared_ = true;
  const uint32_t full = TakeId(place, node.word[0]);
  Place rest = place;
  rest.clean &= ~(1u << full);
  const uint32_t empty = TakeId(rest, node.word[0] >> 8);
  const uint32_t word = node.word[1];
  const std::string full_operands = BarrierOperands(place, full, word, true),
                    empty_operands = BarrierOperands(place, empty, word >> 6, true);
  const bool reversed = word >> 12 & 1;
  const char* bar = (word >> 13) % 3 == 0 ? "barrier" : "bar";
  const Choice producers = ChooseWarps(node.word[2], place);
  const std::string consume = NewLabel(), end = NewLabel();
  Place arm = place;
  arm.lanes_together = arm.warps_together = arm.may_drop = false;
  arm.ids = arm.clean = 0;
  arm.scopes.clear();
  Line("@!{} bra {}", producers.mine, consume);
  arm.warps = Compute("and.b32", producers.set, place.warps);
  Line("st.shared.u32 [{}], %h", SlotOf(kGroupArea, "%me"));
  Line("{}.arrive {}", bar, full_operands);
  Arm(node, 0, arm);
  if (reversed) Line("{}.sync {}", bar, empty_operands);
  Line("bra {}", end);
  Label(consume);
  arm.warps = Compute("and.b32", Compute("not.b32", producers.set), place.warps);
  Arm(node, 1, arm);
  Line("{}.sync {}", bar, full_operands);
  const std::string writers = Compute("and.b32", producers.set, place.warps);
  const std::string source = MemberThread(place, writers, node.word[3]);
  Fold(Compute("ld.shared.u32", "[" + SlotOf(kGroupArea, source) + "]"));
  if (reversed) Line("{}.arrive {}", bar, empty_operands);
  Label(end);
  place.used |= 1u << full | 1u << empty;
  if (!reversed) Line("{}.sync {}", bar, empty_operands);
  place.clean = place.ids;
  if (reversed) place.clean &= ~(1u << empty);
  return 0;
}

// The lanes of a warp part and come to one barrier at two places. ptxas 13.0 lets the code of one place
// reduce for all lanes, though the result may be in another register at the other place. It is in the same
// one where the lanes reconverge right after the barrier, so kernels for GPUs have nothing in between.
Dropped Writer::SplitBarrier(const Node& node, Place& place) {
  Need(Feature::k_split_barrier);
  const uint32_t id = TakeId(place, node.word[0]);
  const bool reduces = node.word[0] >> 8 & 1;
  const bool apart = reduces && Allowed(Feature::k_split_reduce);
  if (apart) Need(Feature::k_split_reduce);
  const std::string operands = BarrierOperands(place, id, node.word[1], false);
  const Choice choice = ChooseLanes(node.word[2], place);
  const std::string other = NewLabel(), end = NewLabel(), together = reduces && !apart ? Reg() : "";
  Line("@!{} bra {}", choice.mine, other);
  for (size_t side = 0; side < 2; ++side) {
    Place arm = place;
    arm.lanes_together = arm.may_drop = false;
    arm.scopes.clear();
    arm.lanes = Compute("and.b32", side == 0 ? choice.set : Compute("not.b32", choice.set), place.lanes);
    Arm(node, side * 2, arm);
    if (reduces) {
      const std::string vote = Predicate(), d = apart ? Reg() : together;
      Line("setp.ne.u32 {}, {}, 0", vote, Compute("and.b32", "%h", 1));
      Line("barrier.red.popc.u32 {}, {}, {}", d, operands, vote);
      if (apart) Fold(d);
    } else {
      Line("barrier.sync {}", operands);
    }
    if (!reduces || apart) Arm(node, side * 2 + 1, arm);
    if (side == 0) {
      Line("bra {}", end);
      Label(other);
    }
  }
  Label(end);
  if (!together.empty()) Fold(together);
  CompleteAll(place, id);
  return 0;
}

}  // namespace ptx2cpu::random_kernels
