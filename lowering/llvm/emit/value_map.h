// The values of the function in the shape that the code under emission needs.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "lowering/llvm/emit/lane_step.h"

namespace ptx2cpu::lowering {

// The two sequences of a value whose lanes at an edge of the data differ from the others.
struct TwoRuns {
  llvm::Value* second = nullptr;        // <W x i1>: lanes of the second run; null: there are no such runs
  std::array<llvm::Value*, 2> first{};  // what each would be in the first lane
  std::array<int64_t, 2> stride{};      // ... and from lane to lane: 0, or that of the value's shape
  llvm::Value* holds = nullptr;         // i1: that it is these; null: always
};

// A value in its forms. Uniform: a scalar. Affine (base + stride * lane): the vector and its first lane's
// value. Else a vector.
struct ShapedValue {
  enum class Shape : uint8_t { kUniform, kAffine, kVector };
  llvm::Value* value = nullptr;  // vector, or scalar where uniform
  llvm::Value* first = nullptr;  // affine: of the first lane
  llvm::Value* holds = nullptr;  // i1: that it is affine; null: always
  TwoRuns runs{};                // of an affine value that may not be one

  Shape shape() const {
    if (!value->getType()->isVectorTy()) return Shape::kUniform;
    return first != nullptr ? Shape::kAffine : Shape::kVector;
  }
};

struct FunctionEmitter;

class ValueMap {
 public:
  // `varying`: values of warp- and block-level code that differ between lanes. Empty: none.
  ValueMap(FunctionEmitter& e, std::vector<bool> varying);

  // The value as the current step sees it: in lane-level code of width 1, a warp's vector gives the lane's
  // element. At block level a value that differs between threads is not emitted where it is defined; here it
  // is emitted for the current warp.
  llvm::Value* Get(ir::ValueId id);
  ShapedValue Shaped(ir::ValueId id);
  void Set(ir::ValueId id, llvm::Value* value) { values_[id.index].value = value; }
  void SetShaped(ir::ValueId id, const ShapedValue& value) {
    values_[id.index] = value;
    if (value.first != nullptr || value.holds != nullptr) sequences_.push_back(id);
  }
  // The value is not a known sequence until it is set again.
  void ForgetSequence(ir::ValueId id) { values_[id.index] = {values_[id.index].value, nullptr, nullptr}; }
  bool IsVarying(ir::ValueId id) const { return !varying_.empty() && varying_[id.index]; }

  // While it lives, sequences are given as their first lane's value.
  class FirstLanes {
   public:
    explicit FirstLanes(ValueMap& map) : map_(map) { map_.gives_first_ = true; }
    ~FirstLanes() { map_.gives_first_ = false; }
    FirstLanes(const FirstLanes&) = delete;
    FirstLanes& operator=(const FirstLanes&) = delete;

   private:
    ValueMap& map_;
  };
  // Encloses a region of lanes: no sequence is known at its beginning, and none after it.
  class LaneRegionScope {
   public:
    explicit LaneRegionScope(ValueMap& map) : map_(map) { map_.ForgetSequences(); }
    ~LaneRegionScope() { map_.ForgetSequences(); }
    LaneRegionScope(const LaneRegionScope&) = delete;
    LaneRegionScope& operator=(const LaneRegionScope&) = delete;

   private:
    ValueMap& map_;
  };
  // Encloses code for one warp of a block: values emitted in it for that warp are forgotten.
  class WarpScope {
   public:
    explicit WarpScope(ValueMap& map) : map_(map) {}
    ~WarpScope() { map_.ForgetMaterialised(); }
    WarpScope(const WarpScope&) = delete;
    WarpScope& operator=(const WarpScope&) = delete;

   private:
    ValueMap& map_;
  };
  // Gives some values other forms; at its end they have their own forms again.
  class Overrides {
   public:
    explicit Overrides(ValueMap& map) : map_(map) {}
    ~Overrides() {
      for (auto it = saved_.rbegin(); it != saved_.rend(); ++it) map_.SetShaped(it->first, it->second);
    }
    Overrides(const Overrides&) = delete;
    Overrides& operator=(const Overrides&) = delete;
    void Set(ir::ValueId id, const ShapedValue& value) {
      saved_.push_back({id, map_.values_[id.index]});
      map_.SetShaped(id, value);
    }

   private:
    ValueMap& map_;
    std::vector<std::pair<ir::ValueId, ShapedValue>> saved_;
  };

 private:
  Status Materialise(ir::ValueId id);
  void ForgetMaterialised();
  void ForgetSequences();
  llvm::Value* PartOf(ir::ValueId id, llvm::Value* whole);

  FunctionEmitter& e_;
  std::vector<ShapedValue> values_;
  std::vector<bool> varying_;
  std::vector<ir::ValueId> materialised_;
  std::vector<ir::ValueId> sequences_;                // those that may be known as such
  std::map<llvm::Value*, llvm::AllocaInst*> arrays_;  // of vectors of a warp that parts are read from
  bool gives_first_ = false;
};

}  // namespace ptx2cpu::lowering
