// Emission of a lane region for all lanes of a warp at once: a value that differs between lanes is a vector,
// lanes that have parted go through the code one after the other under masks (Allen et al. 1983; Karrenberg
// and Hack 2011).
//
//   if (x < n) y = p[x];   ->   m = all & (x < n);  if (any(m)) y' = masked load p + x, m;  y = select(m, y',
//   y) while (x < n) x += s;  ->   m = all; do { ...; left |= m & !(x < n); x_out = select(.., x, x_out); m
//   &= x < n; } while (any(m))
//
// Code that no lane reaches is jumped over where it costs or must not run. Code that all of the level's lanes
// or none reach needs no masks. A sequence base + stride * lane is there twice, as vector and as its first
// lane's value, so that consecutive accesses are one access. What cannot be a vector runs lane by lane.
// Internal to this folder.
#pragma once

#include <map>

#include "analysis/lanes/lane_region.h"
#include "lowering/llvm/kernel/function_emitter.h"

namespace ptx2cpu::lowering {

using analysis::EdgeRef;
using analysis::LaneRegionOptions;
using analysis::LaneShape;

class LaneVectors {
 public:
  LaneVectors(FunctionEmitter& e, LaneRegion& region);
  // `live` (i32): the lanes that enter, at least one.
  Status Run(llvm::Value* live);

  // Whether that pays: not where much of the code would run lane by lane.
  static bool Suits(const FunctionEmitter& e, const LaneRegion& region);
  // The same for rows of a flat kernel's threads.
  static bool SuitsRows(const FunctionEmitter& e, const LaneRegion& region);

 private:
  struct Mask {
    llvm::Value* lanes = nullptr;  // <32 x i1>
    llvm::Value* any = nullptr;    // i1, or null: to be computed
  };
  // A value in its forms.
  struct Forms {
    llvm::Value* value = nullptr;  // vector, or scalar where uniform
    llvm::Value* first = nullptr;  // affine: of the first lane
    llvm::Value* holds = nullptr;  // i1: that it is affine; null: always
  };
  struct Guard {
    llvm::BasicBlock *before = nullptr, *skip = nullptr;
  };

  // -- lanes: emit_lanes.cpp --
  Status EmitLevel(uint32_t level, const Mask& all);
  Status EmitBlock(ir::BlockId block, const Mask& mask, bool whole_level);
  Status EmitLoop(const LaneRegion::Item& item, const Mask& mask);
  Status EmitEdges(const ir::Inst& inst, ir::BlockId block, const Mask& mask);
  Status EmitLoopBody(const LaneRegion::Item& item, const Mask& mask, const std::vector<Forms>& entering);
  Mask Either(const std::vector<EdgeRef>& edges);
  Mask EdgeMask(const Mask& mask, llvm::Value* condition);
  Mask Empty();
  llvm::Value* AnyOf(const Mask& mask);
  llvm::Value* Bits(const Mask& mask);
  Guard Open(const Mask& mask);
  void Close(const Guard& guard, const std::vector<ir::ValueId>& values, const std::vector<EdgeRef>& edges);
  bool NeedsGuard(ir::BlockId block) const;
  void EmitExit(const Mask& mask);
  void EmitFault(const Mask& mask, const ir::Inst& inst, uint32_t kind);

  // -- values --
  const LaneShape& ShapeOf(ir::ValueId value) const { return region_.shapes[value.index]; }
  Forms FormsOf(ir::ValueId value);
  void SetForms(ir::ValueId value, const Forms& forms);
  Forms Merge(const std::vector<EdgeRef>& edges, size_t number, const LaneShape& shape);
  void MergeParams(ir::BlockId block, const std::vector<EdgeRef>& edges);
  llvm::Value* Vector(llvm::Value* value) { return Broadcast(b, value, kWarpSize); }
  llvm::Type* VectorOf(llvm::Type* element) { return llvm::FixedVectorType::get(element, kWarpSize); }

  // -- instructions: emit_lane_instructions.cpp --
  Status EmitOne(const ir::Inst& inst, const Mask& mask, bool whole_level);
  Status EmitPure(const ir::Inst& inst);
  Status EmitScalar(const ir::Inst& inst);  // on first lanes' values
  Status EmitEachLane(const ir::Inst& inst, const Mask& mask);
  llvm::Value* FirstPointer(const ir::Inst& inst, Memory* memory);
  void NoteMisaligned(const ir::Inst& inst, const Mask& mask, bool together);
  Status EmitLoad(const ir::Inst& inst, const Mask& mask);
  void LoadTogether(const ir::Inst& inst, const Mask& mask);
  void Gather(const ir::Inst& inst, const Mask& mask);
  Status EmitStore(const ir::Inst& inst, const Mask& mask);
  Status StoreLast(const ir::Inst& inst, const Mask& mask);
  void StoreTogether(const ir::Inst& inst, const Mask& mask);
  void Scatter(const ir::Inst& inst, const Mask& mask);
  Status EmitTextures(const ir::Inst& inst, const Mask& mask);  // these two: emit_texture.cpp
  Status EmitSurfaceAddresses(const ir::Inst& inst, const Mask& mask);
  Status EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level);
  Status LoadSlotOfRow(const ir::Inst& inst, const Mask& mask);
  // The lanes are threads of a row of a flat kernel, not of a warp.
  bool OfRow() const { return e.step.tid[0] != nullptr; }
  llvm::Value* Repeated(llvm::Value* lanes, size_t count);
  llvm::Value* HoldsWidened(const ir::Inst& inst, llvm::Value* first);
  enum class Way : uint8_t { kScalar, kTogether, kMaybeTogether, kApart, kEachLane };
  static Way WayOf(const FunctionEmitter& e, const LaneRegion& region, const ir::Inst& inst);
  Status ChooseBySight(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& together,
                       const std::function<Status()>& apart);
  // One branch where a guess holds, the other where not.
  Status Choose(llvm::Value* holds, const std::function<Status()>& yes, const std::function<Status()>& no,
                const std::vector<ir::ValueId>& results);

  FunctionEmitter& e;
  const ir::Function& f;
  llvm::IRBuilder<>& b;
  LaneRegion& region_;
  std::vector<llvm::Value*> first_, holds_;  // by value
  std::map<EdgeRef, Mask> edges_;
};

}  // namespace ptx2cpu::lowering
