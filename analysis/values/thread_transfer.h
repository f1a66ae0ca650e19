// The transfer function of each opcode: how its results differ between threads, given how its operands do.
#pragma once

#include <span>
#include <vector>

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

class ThreadTransfer {
 public:
  // `in_address`: by value, whether addresses are computed from it; read where the group's reader tests
  // guesses. It outlives this.
  ThreadTransfer(const ir::Function& f, const ThreadGroup& group,
                 const std::vector<bool>* in_address = nullptr)
      : f_(f), group_(group), in_address_(in_address) {}

  // `level`: of the block that the instruction is in; `operands`: in their order.
  ThreadShape Result(const ir::Inst& inst, size_t number, ir::Level level,
                     std::span<const ThreadShape> operands) const;

 private:
  ThreadShape Pure(const ir::Inst& inst, ir::Level level, std::span<const ThreadShape> operands) const;
  ThreadShape Register(const ir::Inst& inst, ir::Level level) const;
  uint8_t AlignOfExtent(ir::Special special) const;
  ThreadShape Vote(const ir::Inst& inst, std::span<const ThreadShape> operands) const;
  ThreadShape Read(const ir::Inst& inst, std::span<const ThreadShape> operands) const;

  const ir::Function& f_;
  const ThreadGroup& group_;
  const std::vector<bool>* in_address_;
};

// An access that other host threads or, between two boundaries, other lanes may see. Where a block's shared
// memory is private to the host thread that runs its lanes to each boundary, no other thread observes it
// while they run, and any order of their volatile and relaxed accesses there is one that the memory model
// allows.
bool IsStrong(const ir::Inst& access, bool private_shared);
// Whether shared memory is private in that sense for all accesses of the function.
bool HasPrivateShared(const ir::Function& f);

}  // namespace ptx2cpu::analysis
