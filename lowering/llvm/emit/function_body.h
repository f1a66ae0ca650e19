// The LLVM function under construction: its entry block with what is computed once, and the pieces of
// structure that code of every level needs.
#pragma once

#include <functional>
#include <map>

#include "lowering/llvm/emit/lane_step.h"
#include "lowering/llvm/module/module_emitter.h"

namespace ptx2cpu::lowering {

class FunctionBody {
 public:
  FunctionBody(ModuleEmitter& m, llvm::Function* function) : function(function), b(m.context), m_(m) {}
  // The entry block, which ends in a branch to the code; the builder is there afterwards.
  void Begin(const ir::Function& f);

  llvm::Function* const function;
  llvm::IRBuilder<> b;

  [[nodiscard]] llvm::BasicBlock* NewBlock(const char* name);
  llvm::AllocaInst* Scratch(llvm::Type* element, unsigned count);  // 64-byte aligned, in the entry block
  // Memory that only this instruction writes and reads. In a function with many such allocations,
  // instructions share them.
  llvm::AllocaInst* ScratchOf(const ir::Inst& inst, llvm::Type* element, unsigned count);

  // -- known from the entry on --
  llvm::Value* Block() { return function->getArg(0); }  // the block context
  // A word of the context, loaded once.
  llvm::Value* Field(size_t offset, llvm::Type* type, const char* name);
  // Kernel parameters at a known offset are loaded once: LLVM would otherwise sink such a load into a
  // conditional part of a loop and then not know that it may be hoisted.
  llvm::Value* Parameter(uint64_t offset, ir::Type type);
  // Computes in the entry block; the builder is back where it was afterwards.
  llvm::Value* AtEntry(const std::function<llvm::Value*()>& compute);

  // -- structure --
  // Loop from 0 to `count` (i32) around `body`; the builder is after the loop at the end.
  Status Loop(llvm::Value* count, const char* name, const std::function<Status(llvm::Value* index)>& body);
  // Faults where `condition` holds. `thread`: null at block level.
  void Fault(llvm::Value* condition, uint32_t kind, llvm::Value* thread, const ir::Position& at);

 private:
  ModuleEmitter& m_;
  const ir::Function* f_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::map<size_t, llvm::Value*> fields_;
  size_t own_scratch_ = 0;  // arrays that one instruction has for itself
  std::vector<llvm::AllocaInst*> shared_scratch_;
  const ir::Inst* shares_ = nullptr;  // the instruction that took some of them last
  size_t taken_ = 0;                  // how many it has gone through
  std::map<std::pair<uint64_t, ir::Type>, llvm::Value*> parameters_;
};

}  // namespace ptx2cpu::lowering
