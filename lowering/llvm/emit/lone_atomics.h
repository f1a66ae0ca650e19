// Atomics that take no lock while the launch runs alone (runtime/abi/lone_launches.h).
//
//   atom.global.add [p], v   ->   if (block.alone) { old = *p; *p = old + v } else old = lock xadd(p, v)
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "lowering/llvm/emit/function_body.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter;

class LoneAtomics {
 public:
  LoneAtomics(FunctionEmitter& e, const ir::Function& f);

  bool any() const { return any_; }
  // Whether the code under emission does not know yet if the launch is alone.
  bool IsOpen(const ir::Inst& inst) const;
  // The instruction may be a load and a store.
  bool IsAlone(const ir::Inst& inst) const;
  llvm::Value* Alone();  // i1, from the function's entry
  // Emits both, and a branch between them; returns the result of the one that runs, or null.
  llvm::Value* Either(const std::function<llvm::Value*()>& alone, const std::function<llvm::Value*()>& else_);

  // While it lives, the code is that of launches that are alone, or of others.
  class Decided {
   public:
    Decided(LoneAtomics& atomics, bool alone)
        : atomics_(atomics), saved_(std::exchange(atomics.decided_, alone)) {}
    ~Decided() { atomics_.decided_ = saved_; }
    Decided(const Decided&) = delete;
    Decided& operator=(const Decided&) = delete;

   private:
    LoneAtomics& atomics_;
    std::optional<bool> saved_;
  };

 private:
  FunctionEmitter& e_;
  const bool any_;
  std::optional<bool> decided_;
  llvm::Value* alone_ = nullptr;
};

}  // namespace ptx2cpu::lowering
