// Atomics on global memory that wait in the worker's table (runtime/abi/deferred_atomics.h), and the
// instructions that must come after them. The roles of instructions are those of
// analysis/lanes/deferred_atomics.h.
//
//   red.global.add [p], v   ->   entry = table[p >> 2]; if (entry.address == p) entry.value += v
//                                else { the atomic; table.enter(p) }
//   the same for several lanes -> if (all p in the window) for each lane: *(p + table.window_shift) += v
//   red.global.add.f32 [p], v, p the same for all blocks   ->   append (p, v) to the log
//   ld.global [q]           ->   if (q in [table.lowest, table.end)) ptx2cpu_apply_deferred(); the load
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "analysis/lanes/deferred_atomics.h"
#include "lowering/llvm/emit/function_body.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter;

class DeferredAtomics {
 public:
  DeferredAtomics(FunctionEmitter& e, const ir::Function& f);

  bool any() const { return found_.any(); }
  // The size of the table or log, which is at the beginning of a block's slots; and the flag of kernels that
  // have one.
  uint64_t Bytes() const;
  uint32_t KernelFlag() const;
  bool Waits(const ir::Inst& inst) const { return RoleOf(inst) == Role::kDeferred; }
  // The atomic for one lane, its address and operand known. `at_once` does it in memory.
  void Emit(llvm::Value* address, llvm::Value* operand, const std::function<void()>& at_once);
  // i1: `first`, `second` and so on at equal distances up to `last` are addresses of words of the window.
  llvm::Value* CoversRange(llvm::Value* first, llvm::Value* second, llvm::Value* last);
  // For a vector of addresses, of which `lanes` count (null: all): whether all are in the window, and a
  // 32-bit number of each for CombineAt (other lanes have that of a place that does not count).
  struct InWindow {
    llvm::Value *all, *places;
  };
  InWindow FindInWindow(llvm::Value* addresses, llvm::Value* lanes);
  // The atomic of one lane whose word is in the window; what waits for it is at `place`, at the address
  // `word`.
  void CombineAt(llvm::Value* place, llvm::Value* operand);
  llvm::Value* WindowShift();  // from a word's address to the address of what waits for it
  void CombineWaiting(llvm::Value* word, llvm::Value* operand);
  // i1: `lanes` further atomics may wait; otherwise they must be done at once.
  llvm::Value* TakeCredit(unsigned lanes);
  // While it lives, atomics do not ask for credit: they wait, or go to memory.
  class Decided {
   public:
    Decided(DeferredAtomics& atomics, bool wait)
        : atomics_(atomics), saved_(std::exchange(atomics.decided_, wait)) {}
    ~Decided() { atomics_.decided_ = saved_; }
    Decided(const Decided&) = delete;
    Decided& operator=(const Decided&) = delete;

   private:
    DeferredAtomics& atomics_;
    std::optional<bool> saved_;
  };

  // Emitted before an instruction that must come after waiting atomics. An instruction that observes memory
  // accesses `bytes` bytes from each of the addresses (`first` is a scalar, or a vector of which `lanes`
  // count; if `last` is not null, all addresses between `first` and `last`).
  void Before(const ir::Inst& inst, llvm::Value* first, llvm::Value* last, llvm::Value* lanes,
              uint64_t bytes);
  bool Precede(const ir::Inst& inst) const {
    return RoleOf(inst) == Role::kObserves || RoleOf(inst) == Role::kOrders;
  }

 private:
  using Role = analysis::DeferredAtomics::Role;
  Role RoleOf(const ir::Inst& inst) const;
  llvm::Value* Table();
  llvm::Value* Member(size_t offset);
  llvm::Value* Load(llvm::Type* type, llvm::Value* at);
  void Store(llvm::Value* value, llvm::Value* at);
  llvm::Value* IsPrepared();
  uint32_t FormBits() const;  // ptx2cpu_deferred_form
  void EmitLogged(llvm::Value* address, llvm::Value* operand, const std::function<void()>& at_once);
  llvm::Value* OutsideBits(llvm::Value* address);
  llvm::Value* IsInside(llvm::Value* bits);
  void Call(size_t function, llvm::ArrayRef<llvm::Value*> arguments);

  FunctionEmitter& e_;
  const ir::Function& f_;
  const analysis::DeferredAtomics found_;
  std::optional<bool> decided_;
  llvm::Value* is_prepared_ = nullptr;  // i1, in the function's entry
};

}  // namespace ptx2cpu::lowering
