// Arithmetic, exchange within a warp, atomics, locks, tickets.
#include "tests/random/generator/writer.h"

namespace ptx2cpu::random_kernels {

void Writer::Alu(const Node& node, const Place& place) {
  const uint32_t word = node.word[1];
  switch (node.word[0] % 8) {
    case 0:
      return Fold(LoadInput("%h"));
    case 1:
      return Fold(LoadInput(Compute("add.u32", "%me", word % kInputs)));
    case 2:
      return Fold(Compute("mul.hi.u32", "%h", word | 1));
    case 3:
      return Fold(Compute("popc.b32", Compute("and.b32", "%h", place.lanes)));
    case 4: {
      const std::string less = Predicate();
      Line("setp.lt.s32 {}, %h, {}", less, static_cast<int32_t>(word));
      return Fold(Compute("selp.b32", place.trip, "%lane", less));
    }
    case 5:
      return Fold(Compute("shf.l.wrap.b32", "%h", "%me", word % 32));
    case 6:
      return Fold(Compute("max.s32", "%h", static_cast<int32_t>(word)));
    default:
      return Fold(Compute("bfe.u32", "%h", word % 32, 1 + word / 32 % 20));
  }
}

std::string Writer::Shared(uint32_t word) const { return fmt::format("%shared+{}", (kSingles + word) * 4); }

std::string Writer::SlotOf(uint32_t area, const std::string& thread) {
  return fmt::format("{}+{}", Compute("mad.lo.u32", thread, 4, "%shared"), area * 4);
}

// A lane that is here: one at a distance if it is, else the own.
std::string Writer::MemberLane(const Place& place, uint32_t word) {
  const std::string other = Compute(word % 2 == 0 ? "add.u32" : "xor.b32", "%lane", word >> 1 & 31);
  const std::string lane = Compute("and.b32", other, 31);
  return Compute("selp.b32", lane, "%lane", BitOf(place.lanes, lane));
}

void Writer::WarpExchange(const Node& node, const Place& place) {
  uses_shared_ = true;
  const std::string mask = MaskOperand(place, node.word[0]);
  Line("st.shared.u32 [{}], %h", SlotOf(kWarpArea, "%me"));
  Line("bar.warp.sync {}", mask);
  const std::string source = Compute("mad.lo.u32", "%warp", 32, MemberLane(place, node.word[1]));
  const std::string value = Compute("ld.shared.u32", "[" + SlotOf(kWarpArea, source) + "]");
  Line("bar.warp.sync {}", mask);
  Fold(value);
}

// Final values only: what an atomic returns depends on the order.
void Writer::GlobalAtomic(const Node& node) {
  constexpr const char* kScopes[] = {"", ".relaxed.gpu", ".acq_rel.gpu", ".relaxed.sys"};
  constexpr const char* kReds[] = {"", ".relaxed.gpu", ".release.gpu", ".relaxed.sys"};
  constexpr const char* kOps[] = {"add.u32", "xor.b32", "max.u32", "min.s32", "or.b32"};
  const uint32_t word = node.word[1], op = node.word[0] % 6;
  if (op < 5) {
    if (word % 2 == 0) return Line("red{}.global.{} [%sums+{}], %h", kReds[word / 2 % 4], kOps[op], op * 4);
    return Line("atom{}.global.{} {}, [%sums+{}], %h", kScopes[word / 2 % 4], kOps[op], Reg(), op * 4);
  }
  // A sum by compare and swap.
  const std::string old = Compute("ld.volatile.global.u32", "[%sums+20]"), seen = Reg(), again = NewLabel(),
                    changed = Predicate();
  const std::string part = Compute("and.b32", "%h", 255);
  Label(again);
  Line("atom{}.global.cas.b32 {}, [%sums+20], {}, {}", kScopes[word % 4], seen, old,
       Compute("add.u32", old, part));
  Line("setp.ne.u32 {}, {}, {}", changed, seen, old);
  Line("mov.u32 {}, {}", old, seen);
  Line("@{} bra {}", changed, again);
}

void Writer::SharedAtomic(const Node& node) {
  uses_shared_ = true;
  constexpr const char* kOps[] = {"add.u32", "xor.b32", "max.u32", "min.s32", "or.b32"};
  const uint32_t op = node.word[0] % 7, word = node.word[1];
  if (op < 5) {
    if (word % 2 == 0) return Line("red.shared.{} [{}], %h", kOps[op], Shared(kSum + op));
    return Line("atom.relaxed.cta.shared.{} {}, [{}], %h", kOps[op], Reg(), Shared(kSum + op));
  }
  // The tickets that were drawn are 0 to n-1 in every order of the threads.
  const std::string ticket = Reg();
  Line("atom.shared.add.u32 {}, [{}], 1", ticket, Shared(kCounter));
  Line("red.global.add.u32 [%sums+24], {}", Compute("mad.lo.u32", ticket, ticket, word | 1));
}

// Until the word is what it shall be; what was written before it was written can be read then.
void Writer::Spin(const std::string& address, const std::string& until, uint32_t word) {
  const std::string again = NewLabel(), other = Predicate();
  Label(again);
  const bool acquire = word % 2 == 0;
  const std::string value =
      Compute(acquire ? "ld.acquire.cta.shared.u32" : "ld.volatile.shared.u32", "[" + address + "]");
  Line("setp.ne.u32 {}, {}, {}", other, value, until);
  Line("@{} bra {}", other, again);
  if (!acquire) Line("{}", word % 4 == 1 ? "membar.cta" : "fence.acq_rel.cta");
}

void Writer::StoreReleased(const std::string& address, const std::string& value, uint32_t word) {
  if (word % 2 == 0) return Line("st.release.cta.shared.u32 [{}], {}", address, value);
  Line("{}", word % 4 == 1 ? "membar.cta" : "fence.acq_rel.cta");
  Line("st.volatile.shared.u32 [{}], {}", address, value);
}

void Writer::Lock(const Node& node) {
  uses_shared_ = true;
  const uint32_t word = node.word[0];
  const bool inside = word % 2 == 0, ordered = word / 2 % 2 == 0;
  const std::string again = NewLabel(), next = NewLabel(), taken = Predicate(), old = Reg(),
                    done = Compute("mov.u32", 0);
  const std::string release = ordered ? "atom.release.cta.shared.exch.b32" : "atom.shared.exch.b32";
  Label(again);
  Line("{} {}, [{}], 0, 1", ordered ? "atom.acquire.cta.shared.cas.b32" : "atom.shared.cas.b32", old,
       Shared(kLockWord));
  Line("setp.ne.u32 {}, {}, 0", taken, old);
  Line("@{} bra {}", taken, inside ? next : again);
  if (!ordered) Line("membar.cta");
  const std::string sum = Compute("add.u32", Compute("ld.shared.u32", "[" + Shared(kLockSum) + "]"), "%h");
  const std::string mix = Compute("xor.b32", Compute("ld.shared.u32", "[" + Shared(kLockXor) + "]"),
                                  Compute("mul.lo.u32", "%h", node.word[1] | 1));
  Line("st.shared.u32 [{}], {}", Shared(kLockSum), sum);
  Line("st.shared.u32 [{}], {}", Shared(kLockXor), mix);
  if (!ordered) Line("membar.cta");
  Line("{} {}, [{}], 0", release, Reg(), Shared(kLockWord));
  if (!inside) return;
  Line("mov.u32 {}, 1", done);
  Label(next);
  const std::string more = Predicate();
  Line("setp.eq.u32 {}, {}, 0", more, done);
  Line("@{} bra {}", more, again);
}

// Draws a ticket, waits for its turn, adds the hash to the next word, and lets the next lane enter. Where
// lanes of one warp wait for each other the turn is not passed on by st.release: ptxas 13.0 moves that below
// the WARPSYNC of the next shfl.sync or bar.sync, where the lanes that still wait never come.
void Writer::TicketTurn(uint32_t next, uint32_t word, bool lanes_wait) {
  const std::string ticket = Reg(), serving = Shared(next + 1), data = Shared(next + 2);
  Line("atom.shared.add.u32 {}, [{}], 1", ticket, Shared(next));
  Spin(serving, ticket, word);
  Line("st.shared.u32 [{}], {}", data, Compute("add.u32", Compute("ld.shared.u32", "[" + data + "]"), "%h"));
  const std::string turn = Compute("add.u32", ticket, 1);
  if (lanes_wait && (word >> 2) % 2 == 0)
    return Line("atom.release.cta.shared.exch.b32 {}, [{}], {}", Reg(), serving, turn);
  StoreReleased(serving, turn, word >> 2);
}

void Writer::LaneTicket(const Node& node) {
  uses_shared_ = true;
  TicketTurn(kLaneNext, node.word[0], true);
}

// All lanes but the first that is here jump.
void Writer::LeaderOnly(const Place& place, const std::string& end) {
  const std::string first = Compute("and.b32", place.lanes, Compute("neg.s32", place.lanes)),
                    other = Predicate();
  Line("setp.ne.u32 {}, {}, %own", other, first);
  Line("@{} bra {}", other, end);
}

void Writer::WarpTicket(const Node& node, const Place& place) {
  uses_shared_ = true;
  const std::string end = NewLabel();
  LeaderOnly(place, end);
  TicketTurn(kWarpNext, node.word[0], false);
  Label(end);
  Line("bar.warp.sync {}", place.lanes);
}

// Warp after warp: the order is part of the result.
void Writer::Chain(const Node& node, const Place& place) {
  if (!place.lanes_together || !place.warps_together || !place.all_warps || !place.once || chains_ == 4)
    return;
  Need(Feature::k_chain);
  uses_shared_ = true;
  const std::string flag = Shared(kFlags + chains_), data = Shared(kValues + chains_), end = NewLabel();
  ++chains_;
  const uint32_t word = node.word[0];
  const bool all_wait = word >> 8 & 1;
  if (all_wait) {
    Spin(flag, "%warp", word);
    Line("bar.warp.sync {}", place.lanes);
  }
  LeaderOnly(place, end);
  if (!all_wait) Spin(flag, "%warp", word);
  const std::string value = Compute("ld.shared.u32", "[" + data + "]");
  Line("st.shared.u32 [{}], {}", data, Compute("mad.lo.u32", value, 31, "%h"));
  StoreReleased(flag, Compute("add.u32", "%warp", 1), word >> 4);
  Fold(value);
  Label(end);
  Line("bar.warp.sync {}", place.lanes);
}

}  // namespace ptx2cpu::random_kernels
