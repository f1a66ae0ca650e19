// Emission of one function.
//
// Levels become loops where they stand: a for_warps or for_lanes terminator emits its loop and, inside, a
// fresh copy of the region it runs. A region is emitted for a step of `width` lanes: at width 1 a value is a
// scalar, at width W a value that differs between lanes is a vector <W x T> and a uniform one stays a scalar.
// Warp-level code is emitted at width
// 32. The function of each opcode is written for any width: constants and types take the shape of the
// operands. At block level a value that differs between threads is not emitted where it stands: its consumer
// (an agreement, a reduction, a slot store) loops over the warps and emits it there, at width 32.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "lowering/llvm/kernel/alignment_notes.h"
#include "lowering/llvm/kernel/module_emitter.h"

namespace ptx2cpu::analysis {
struct LaneRegion;
}

namespace ptx2cpu::lowering {

using analysis::LaneRegion;

inline constexpr unsigned kWarpSize = 32;

// The time that each thread of a region has for its own, see emit_time.cpp. All are i64.
struct ThreadTimes {
  struct Of {
    llvm::AllocaInst* begin = nullptr;  // of the region; 0: nobody has read
    llvm::AllocaInst* skew = nullptr;   // of the thread
  };
  Of clock, timer;
  std::map<const ir::Inst*, llvm::AllocaInst*> latest;  // by the place that reads
};

// Where code of some level stands.
struct LaneStep {
  ir::Level level = ir::Level::kBlock;
  unsigned width = 1;             // lanes of the step
  llvm::Value* warp = nullptr;    // i32; null at block level
  llvm::Value* lane = nullptr;    // i32, first lane of the step
  llvm::Value* thread = nullptr;  // i32, first thread of the step
  llvm::Value* tid[3] = {
      nullptr, nullptr,
      nullptr};  // i32, of the first, where the loops count them; else the block's table has them
  llvm::BasicBlock* end = nullptr;   // end_lane, end_warp, or the function's return
  llvm::BasicBlock* exit = nullptr;  // exit_lane
  llvm::MDNode* access_group =
      nullptr;  // accesses of different iterations are independent (no barrier between)
  std::optional<ThreadTimes> times{};
};

class FunctionEmitter;

// One instruction about to be emitted.
struct Site {
  FunctionEmitter& e;
  llvm::IRBuilder<>& b;
  const ir::Inst& inst;

  // Operand in the site's shape: a vector when any operand is one.
  llvm::Value* Operand(size_t number) const;
  llvm::Value* Raw(size_t number) const;  // in its own shape: a scalar when uniform
  void Return(llvm::Value* value, size_t number = 0) const;
  bool Has(ir::Flag flag) const { return (inst.attrs.flags & flag) != 0; }
  unsigned Width() const { return static_cast<unsigned>(ir::Bits(inst.type)); }
  bool IsVector() const;  // any operand is a vector
  std::unexpected<Error> Unsupported(std::string message) const;
  std::unexpected<Error> Broken(std::string message) const;  // the function breaks the law of its phase
};

using EmitFunction = Status (*)(Site& site);
// One function per row; a row without one is a link error.
#define OP(name, mnemonic, signature, types, attributes, effects, meaning) Status Emit##name(Site& site);
#include "ir/opcodes.def"
#undef OP

// -- shapes --
// `element` in the shape of `like`.
llvm::Type* ShapedLike(llvm::Value* like, llvm::Type* element);
// An integer or float constant of `like`'s own type.
inline llvm::Constant* Literal(llvm::Value* like, uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}
llvm::Value* Broadcast(llvm::IRBuilder<>& b, llvm::Value* value, unsigned width);
// A clock or timer, as i64.
llvm::Value* TimeValue(Site& site, ir::Special special);
// Calls `scalar` for each lane when any argument is a vector (of numbers, no predicates).
llvm::Value* EachLane(FunctionEmitter& e, const std::vector<llvm::Value*>& arguments,
                      const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& scalar);

class FunctionEmitter {
 public:
  FunctionEmitter(ModuleEmitter& m, const ir::Function& f, llvm::Function* function, bool one_dimensional);
  Status EmitKernel();  // block -> nothing: the whole block
  Status
  EmitStep();  // block, warp, entry -> nothing: a resumable kernel's lanes of one warp, emit_resume.cpp
  Status EmitCallee();

  ModuleEmitter& m;
  const ir::Function& f;
  llvm::Function* function;
  llvm::IRBuilder<> b;
  LaneStep step;

  // The step is one lane of a kernel that no other thread waits for.
  bool LaneMayEnd() const;
  bool NobodyWaits() const;   // for any thread of this kernel
  const bool private_shared;  // as in lane_region.h

  // -- values --
  llvm::Value* ValueOf(ir::ValueId id);  // as the current step sees it
  // While lanes are emitted as vectors: by value, what its first lane has (or null), where that is asked for.
  const std::vector<llvm::Value*>* first_lanes = nullptr;
  bool vectors_of_lanes = false;
  void SetValue(ir::ValueId id, llvm::Value* value) { values_[id.index] = value; }
  bool IsVarying(ir::ValueId id) const { return !varying_.empty() && varying_[id.index]; }
  ir::Type TypeOf(ir::ValueId id) const { return f.type_of(id); }
  llvm::Type* I(unsigned bits) { return b.getIntNTy(bits); }

  // -- the block context --
  llvm::Value* Field(size_t offset, llvm::Type* type,
                     const char* name);  // loaded once, at the function's entry
  llvm::Value* Block() { return function->getArg(0); }
  llvm::Value* PointAddress(llvm::Value* thread);  // resumable: where the thread stands
  llvm::Value* WordAddress(uint32_t number);       // resumable: a word of this step's first thread
  llvm::Value* Thread();                           // i32, or a vector of consecutive ones
  llvm::Value* Lane();
  llvm::Value* TidX();       // where the loops count it
  llvm::Value* LocalBase();  // pointer to this thread's local window
  llvm::Value* LocalBaseOf(llvm::Value* thread);
  llvm::Value* LocalSymbol(uint64_t offset);  // window offset of a local variable of this function
  llvm::Value* PackedThreadId();              // x | y << 10 | z << 20
  bool one_dimensional() const { return one_dimensional_; }
  llvm::AllocaInst* stack_locals() const { return stack_locals_; }

  // -- memory --
  // Pointer for an access; `memory` receives the alias class.
  llvm::Value* Pointer(ir::Space space, ir::ValueId address, Memory* memory);
  // Kernel parameters at a known offset are loaded once, at the function's entry: LLVM would otherwise sink
  // such a load into a conditional part of a loop and then not know that it may be hoisted.
  std::optional<uint64_t> ParameterOffset(ir::ValueId address) const;
  llvm::Value* Parameter(uint64_t offset, ir::Type type);
  llvm::AllocaInst* Scratch(llvm::Type* element, unsigned count);  // 64-byte aligned, in the entry block
  llvm::Value* SlotAddress(uint32_t slot);                         // of this step's first element
  llvm::Value* LoadPlain(llvm::Type* type, llvm::Value* pointer, llvm::Align align, Memory memory);
  void StorePlain(llvm::Value* value, llvm::Value* pointer, llvm::Align align, Memory memory);

  // -- alignment --
  Residues& residues();
  // Of the region of lanes that is being emitted; null where misaligned accesses are not noted.
  AlignmentNotes* notes() { return notes_ ? &*notes_ : nullptr; }
  // Whether the launcher sees to it that such an address is aligned.
  bool IsAssumed(const Residue& residue, uint64_t align);
  // Of residues that are not values, known from the function's entry (i1): whether such an address is
  // misaligned.
  llvm::Value* IsOdd(const Residue& residue, uint64_t align);
  llvm::Value* OrAtEntry(llvm::Value* x, llvm::Value* y);

  // -- warps --
  llvm::Value* LiveMask(llvm::Value* warp);  // i32: lanes of the warp that exist and have not exited
  llvm::Value* LanesOf(llvm::Value* warp);   // i32: that exist
  llvm::Value* FirstLanes(llvm::Value* count);
  // Loop from 0 to `count` (i32) around `body`; leaves the builder behind the loop.
  Status Loop(llvm::Value* count, const char* name, const std::function<Status(llvm::Value* index)>& body);
  // Block level: emits `body` for every warp at width 32, where values that differ between threads are
  // available.
  Status ForEachWarp(const std::function<Status(llvm::Value* live)>& body);
  void Fault(llvm::Value* condition, uint32_t kind, llvm::Value* thread, const ir::Position& at);
  [[nodiscard]] llvm::BasicBlock* NewBlock(const char* name);

  // -- regions: emit_regions.cpp --
  Status EmitRegion(ir::BlockId entry, const LaneStep& region_step, const ir::Edge& edge);
  Status EmitForWarps(const ir::Inst& inst);
  Status EmitForLanes(const ir::Inst& inst);              // over the lanes of a warp
  Result<bool> EmitLanesAsVectors(const ir::Inst& inst);  // false: they must be a loop
  Status EmitForEachLane(
      const ir::Inst& inst);  // the same where lanes suspend by themselves: one after the other
  Status EmitForThreads(
      const ir::Inst& inst);  // flat: over the threads of the block, as a nest over z, y and x
  // its parts: emit_rows.cpp
  Status EachRow(llvm::MDNode* access_group, const std::function<Status(LaneStep, llvm::Value*)>& body);
  Status EmitRowsThreadByThread(const ir::Inst& inst);
  Status EmitRowsAsVectors(LaneRegion& region);
  std::optional<LaneRegion> RegionOfRows(const ir::Inst& inst) const;
  void Jump(const ir::Edge& edge);
  llvm::BasicBlock* BlockOf(ir::BlockId id) const { return blocks_[id.index]; }
  void AddIncoming(const ir::Edge& edge, llvm::BasicBlock* from);

 private:
  friend class LaneVectors;
  Status EmitInst(const ir::Inst& inst);
  Status Materialise(ir::ValueId id);  // a value kept back at block level, in the current step
  void FindVarying();                  // shapes.cpp
  std::vector<ir::BlockId> SameLevelOrder(ir::BlockId entry) const;
  void Begin();
  void PrepareSlots();
  llvm::Value* BaseOf(ir::ValueId address, int depth);
  bool LocalsMayLiveOnStack() const;
  bool IsIndependent(Memory memory) const;
  // Continues behind a loop over threads only while some thread is live.
  void ContinueWhileLive(llvm::Value* any_live, llvm::BasicBlock* otherwise);
  llvm::Value* AnyLive();
  llvm::MDNode* LoopMetadata(llvm::MDNode* access_group);
  // Head and latch of a loop that is entered at least once.
  struct LaneLoop {
    llvm::PHINode* index;
    llvm::BasicBlock *head, *next, *after;
    llvm::Value* count;
  };
  LaneLoop OpenLoop(llvm::Value* count, const char* name);
  void CloseLoop(const LaneLoop& loop, llvm::MDNode* access_group);
  bool MasksLanes(const ir::Inst& loop) const {
    return f.has_early_exit && (loop.attrs.flags & ir::kUniform) == 0;
  }
  llvm::BasicBlock* ExitBlock(const LaneStep& lane_step,
                              llvm::BasicBlock* done);  // clears the lane's live bit
  // The region of one lane, in the innermost loop; skips lanes that have exited.
  Status EmitLane(const ir::Inst& inst, LaneStep lane_step, const LaneLoop& loop);

  // Before the loop over threads whose region begins there, and before each thread; nothing where no clock is
  // read.
  std::optional<ThreadTimes> BeginTimes(ir::BlockId entry);
  void BeginThread(const ThreadTimes& times);

  bool one_dimensional_;
  // The region of lanes between these two, where misaligned accesses are noted.
  void BeginNotes(const ir::Inst& loop, bool all_enter);
  void EndNotes();
  std::optional<Residues> residues_;
  std::optional<AlignmentNotes> notes_;
  std::vector<llvm::Value*> values_;
  std::vector<bool> varying_;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<llvm::PHINode*> phis_;  // by value
  std::vector<llvm::Value*> slot_base_;
  std::map<size_t, llvm::Value*> fields_;
  std::map<std::pair<uint64_t, ir::Type>, llvm::Value*> parameters_;
  llvm::AllocaInst* stack_locals_ = nullptr;
  llvm::Value* callee_local_base_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<ir::ValueId> materialised_;
};

}  // namespace ptx2cpu::lowering
