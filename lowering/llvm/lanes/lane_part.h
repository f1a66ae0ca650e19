// The common base of the parts of LaneVectors: masks of lanes, shapes of values, and the step under emission.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "lowering/llvm/emit/function_emitter.h"
#include "lowering/llvm/lanes/lane_plan.h"

namespace ptx2cpu::lowering {

struct LaneVectors;

struct LaneMask {
  llvm::Value* lanes = nullptr;  // <W x i1>
  llvm::Value* any = nullptr;    // i1, or null: to be computed
  // A simpler value of `lanes` that holds where any lane is active; null: there is none.
  llvm::Value* within = nullptr;

  llvm::Value* active() const { return within != nullptr ? within : lanes; }
};

class LanePart {
 public:
  explicit LanePart(LaneVectors& vectors);

 protected:
  using Mask = LaneMask;

  // -- masks --
  Mask Empty() const;
  static bool IsAll(const Mask& mask);
  static bool IsTrue(llvm::Value* condition);  // false: null, or not known
  llvm::Value* AnyOf(const Mask& mask) const;
  llvm::Value* AllOf(const Mask& mask) const;
  llvm::Value* Bits(const Mask& mask) const;  // an integer of as many bits as there are lanes
  llvm::Value* NonZero(llvm::Value* bits) const { return b.CreateICmpNE(bits, Literal(bits, 0)); }
  // The number of a lane, found in bits, as i32.
  llvm::Value* AsLane(llvm::Value* number) const { return b.CreateZExtOrTrunc(number, b.getInt32Ty()); }
  llvm::Value* Repeated(llvm::Value* lanes, size_t count) const;
  bool HasMasksFor(const ir::Inst& inst) const;

  // -- values --
  // Whether a value is the sequence that it is supposed to be; null: always.
  llvm::Value* AsBit(llvm::Value* holds) const { return holds != nullptr ? holds : b.getTrue(); }
  const LaneShape& ShapeOf(ir::ValueId value) const { return region_.shapes[value.index]; }
  llvm::Value* Vector(llvm::Value* value) const { return Broadcast(b, value, width_); }
  llvm::Type* VectorOf(llvm::Type* element) const { return llvm::FixedVectorType::get(element, width_); }
  bool IsOfVector(ir::InstId access) const;  // to memory that is not the same for all lanes

  // -- accesses --
  llvm::Value* FirstPointer(const ir::Inst& inst, Memory* memory, unsigned lanes_before) const;
  void NoteMisaligned(const ir::Inst& inst, const Mask& mask, bool together) const;

  // -- the step --
  // The lanes are threads of a row of a flat kernel, not of a warp.
  bool OfRow() const { return e.step->tid[0] != nullptr; }
  // The step of the same lanes, for code that one of them runs for all.
  LaneStep ScalarStep() const;
  Status EmitScalar(const ir::Inst& inst) const;  // on first lanes' values

  LaneVectors& v;
  FunctionEmitter& e;
  const ir::Function& f;
  llvm::IRBuilder<>& b;
  const LaneRegion& region_;
  const unsigned width_;
  const bool is_wide_;
};

}  // namespace ptx2cpu::lowering
