// The members of one collective, as its completion sees them.
#pragma once

#include <bit>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

inline Bits128 OperandOf(const Thread& thread, size_t number) {
  return Read(thread.frame(), thread.waiting_at->operands[number]);
}

inline void ReturnTo(Thread& thread, Bits128 bits, size_t number = 0) {
  Write(thread.frame(), thread.waiting_at->results[number], bits);
}

// The members of one collective, by lane.
struct Group {
  Machine& machine;
  Warp& warp;
  uint32_t members;
  Status status = {};  // a fault of one that accesses memory

  template <typename Visit>
  void ForEach(Visit visit) {
    for (uint32_t rest = members; rest != 0; rest &= rest - 1) {
      visit(machine.ThreadAt(warp, static_cast<uint32_t>(std::countr_zero(rest))));
    }
  }
  Thread& first() { return machine.ThreadAt(warp, static_cast<uint32_t>(std::countr_zero(members))); }
  // Bit per member for which the predicate (operand 0) holds.
  uint32_t Ballot() {
    uint32_t ballot = 0;
    ForEach([&](Thread& t) { ballot |= (OperandOf(t, 0) != 0 ? 1u : 0u) << t.lane; });
    return ballot;
  }
  void ReturnToAll(Bits128 bits) {
    ForEach([&](Thread& t) { ReturnTo(t, bits); });
  }
};

// What the members get: a function for each collective, a row without one is a link error.
#define OP(name, ...) void Complete##name(Group& group);
#include "ir/opcodes.def"
#undef OP

}  // namespace ptx2cpu::ir::interpret
