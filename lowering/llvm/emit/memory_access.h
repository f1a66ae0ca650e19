// Addresses and plain accesses: pointers of each space, slots, local memory.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lowering/llvm/emit/function_body.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter;

class MemoryAccess {
 public:
  explicit MemoryAccess(FunctionEmitter& e) : e_(e) {}
  // Once, where the function's code begins.
  void PrepareSlots();
  // Local variables of this function are on the stack from here on.
  void PutLocalsOnStack(uint32_t bytes);
  // Where lanes run at once, the locals of `width` lanes are interleaved: the first `granule` bytes of each
  // lane, then the next ones. 0: they cannot be interleaved.
  void SetLocalGranule(unsigned granule) { local_granule_ = granule; }
  unsigned local_granule() const { return local_granule_; }
  llvm::Value* LocalsOfLanes(unsigned width);
  // The address `bytes` beyond a variable's beginning. Constants have the form that LLVM gives them: it
  // visits all uses of the variable again whenever it rewrites one of them.
  llvm::Value* WithinLocals(llvm::Value* base, llvm::Value* bytes);
  // Called functions reach their caller's locals by offsets from the thread's window, which is found once.
  void FindLocalsOfCallee(llvm::Value* thread) { callee_local_base_ = LocalBaseOf(thread); }

  // Pointer for an access; `memory` receives the alias class.
  llvm::Value* Pointer(ir::Space space, ir::ValueId address, Memory* memory);
  std::optional<uint64_t> ParameterOffset(ir::ValueId address) const;
  llvm::Value* SlotAddress(uint32_t slot);  // of the step's first element
  // Slots of lanes of 4 bytes are rows of one array, WordSlotDistance bytes (i64) apart. None: of the warp's
  // turn, or other slots.
  std::optional<uint32_t> SlotRow(uint32_t slot) const;
  llvm::Value* WordSlotDistance() const { return word_slot_distance_; }
  void ClearSlotOfTurn(uint32_t slot);  // of lanes, where a warp's turn begins
  // An index (i32) as i64. Code of single lanes, which have hundreds of slots, has it once.
  llvm::Value* WideIndex(llvm::Value* index);
  llvm::Value* LocalBase();                   // pointer to this thread's local window
  llvm::Value* LocalSymbol(uint64_t offset);  // window offset of a local variable of this function
  llvm::AllocaInst* stack_locals() const { return stack_locals_; }

  llvm::Value* Load(llvm::Type* type, llvm::Value* pointer, llvm::Align align, Memory memory);
  void Store(llvm::Value* value, llvm::Value* pointer, llvm::Align align, Memory memory);

 private:
  llvm::Value* BaseOf(ir::ValueId address, int depth);
  llvm::Value* LocalBaseOf(llvm::Value* thread);
  void SetInsertPointAfter(llvm::Instruction* value);
  llvm::AllocaInst* DebuggersLocals();
  bool IsIndependent(Memory memory) const;
  bool IsOfTurn(uint32_t slot) const;

  FunctionEmitter& e_;
  std::vector<llvm::Value*> slot_base_;
  std::vector<uint32_t> slot_row_;  // ~0: none
  llvm::Value* word_slot_distance_ = nullptr;
  llvm::AllocaInst* stack_locals_ = nullptr;
  std::map<unsigned, llvm::AllocaInst*> lane_locals_;             // by width
  std::map<llvm::Instruction*, llvm::Value*> thread_local_base_;  // of a lane that runs on its own
  std::map<llvm::Instruction*, llvm::Value*> wide_index_;
  unsigned local_granule_ = 0;
  llvm::Value* callee_local_base_ = nullptr;
  llvm::AllocaInst* debuggers_locals_ = nullptr;
};

}  // namespace ptx2cpu::lowering
