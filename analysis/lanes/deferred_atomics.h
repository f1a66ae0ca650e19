// Atomics that may reach memory later than their thread executes them.
//
// A relaxed atomic on global memory whose result is not read is ordered by nothing except fences, strong
// accesses and accesses of the same bytes (PTX ISA 8.10). If its operation is associative and commutative,
// the host thread that runs the block may collect its operands. Collected operands must reach memory before
// an instruction that could observe the difference.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

struct DeferredAtomics {
  enum class Role : uint8_t {
    kNone,
    kDeferred,
    kObserves,  // a weak access: after deferred atomics on the same bytes
    kOrders,    // after all deferred ones
  };
  std::vector<Role> roles;  // by instruction; empty: no atomic is deferred
  // What all of them do; floats: whether subnormal ones become zero.
  ir::AtomicOp operation = ir::AtomicOp::kNone;
  ir::Type type = ir::Type::kI32;
  bool flush = false;
  // Their operands are kept in order, one by one: of few atomics, on words that are the same in the whole
  // grid. Only then do floats wait.
  bool logged = false;

  bool any() const { return !roles.empty(); }
};

// None in functions other than kernels, in resumable ones and where something else than loads, stores and
// atomics reads or writes global memory. Addresses are those that the data decides or, where no weak access
// comes after the atomic, those that are the same in the whole grid.
DeferredAtomics FindDeferredAtomics(const ir::Function& f);

}  // namespace ptx2cpu::analysis
