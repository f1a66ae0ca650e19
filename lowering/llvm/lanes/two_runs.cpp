// Addresses that are a sequence except for lanes at an edge of the data, which are clamped to its bound or
// choose another distance. The addresses of both parts of the lanes are known where the edge is computed, so
// that loads of vectors at an edge are two accesses under masks:
//
//   x[i + (i > 0 ? -1 : 0)]   ->   where all lanes choose alike: one access; else
//                                  select(i > 0, masked load x + i0 - 1, masked load x + i0)
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr int64_t kMaxStride = 1 << 24;  // no product of two of them is wide

bool IsClamp(Opcode op) {
  return op == Opcode::kMinS || op == Opcode::kMinU || op == Opcode::kMaxS || op == Opcode::kMaxU;
}

std::optional<int64_t> ConstantOf(const ir::Function& f, ValueId value) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kConst) return std::nullopt;
  const int unused = std::max(64 - ir::Bits(f.at_inst(def).type), 0);
  return static_cast<int64_t>(f.at_inst(def).attrs.bits << unused) >> unused;
}

// The stride of a result from those of its operands.
std::optional<int64_t> StrideAfter(const ir::Function& f, const ir::Inst& inst,
                                   std::span<const int64_t> strides) {
  if (inst.op == Opcode::kAdd) return strides[0] + strides[1];
  if (inst.op == Opcode::kSub) return strides[0] - strides[1];
  if (inst.op == Opcode::kNeg) return -strides[0];
  if (strides.size() == 1) return strides[0];  // conversions
  if (inst.op != Opcode::kMul && inst.op != Opcode::kShl) return std::nullopt;
  const size_t with = ConstantOf(f, inst.operands[1]) ? 1 : 0;
  const std::optional<int64_t> number = ConstantOf(f, inst.operands[with]);
  if (inst.op == Opcode::kMul) {
    if (strides[0] == 0 && strides[1] == 0) return 0;
    if (!number || std::abs(*number) > kMaxStride) return std::nullopt;
    return strides[1 - with] * *number;
  }
  if (!number || with != 1 || *number < 0 || *number > 24) return std::nullopt;
  return strides[0] * (int64_t{1} << *number);
}

}  // namespace

// What the instruction makes of a sequence that may be two. Nothing: no such parts are known.
Result<TwoRuns> LaneRuns::RunsOf(const ir::Inst& inst) {
  if (IsClamp(inst.op)) return ClampedRuns(inst);
  if (inst.op != Opcode::kSelect) return EachRunOf(inst);
  return e.values.Get(inst.operands[0])->getType()->isVectorTy() ? ChosenRuns(inst) : TwoRuns{};
}

// Whether operands step in different lanes. Without masks in hardware, more runs cost more than they save.
bool LaneRuns::StepsTwice(const ir::Inst& inst) const {
  if (!e.m.traits.has_avx512) return false;
  Value lanes = nullptr;
  for (ValueId operand : inst.operands) {
    Value here = e.values.Shaped(operand).runs.second;
    if (lanes != nullptr && here != nullptr && here != lanes) return true;
    if (here != nullptr) lanes = here;
  }
  return false;
}

// The operation on each run of its operands.
Result<TwoRuns> LaneRuns::EachRunOf(const ir::Inst& inst) {
  TwoRuns runs;
  std::vector<ShapedValue> operands;
  for (ValueId operand : inst.operands) {
    operands.push_back(e.values.Shaped(operand));
    const ShapedValue& shaped = operands.back();
    Value lanes = shaped.runs.second, holds = lanes == nullptr ? shaped.holds : shaped.runs.holds;
    if (lanes != nullptr && runs.second != nullptr && lanes != runs.second) return TwoRuns{};
    if (lanes != nullptr) runs.second = lanes;
    if (holds != nullptr) runs.holds = runs.holds == nullptr ? holds : b.CreateLogicalAnd(runs.holds, holds);
  }
  if (runs.second == nullptr) return TwoRuns{};
  const ValueId result = inst.results[0];
  for (size_t k = 0; k < 2; ++k) {
    ValueMap::Overrides of_run(e.values);
    std::vector<int64_t> strides;
    for (size_t i = 0; i < operands.size(); ++i) {
      const ShapedValue& shaped = operands[i];
      const bool has_runs = shaped.runs.second != nullptr;
      strides.push_back(has_runs                  ? shaped.runs.stride[k]
                        : shaped.first != nullptr ? ShapeOf(inst.operands[i]).stride
                                                  : 0);
      if (has_runs && std::ranges::find(inst.operands, inst.operands[i]) - inst.operands.begin() ==
                          static_cast<std::ptrdiff_t>(i))
        of_run.Set(inst.operands[i], {shaped.value, shaped.runs.first[k], nullptr});
    }
    const std::optional<int64_t> stride = StrideAfter(f, inst, strides);
    if (!stride || std::abs(*stride) > kMaxStride) return TwoRuns{};
    TRY_STATUS(EmitScalar(inst));
    runs.first[k] = e.values.Get(result);
    runs.stride[k] = *stride;
    if (inst.op == Opcode::kZext || inst.op == Opcode::kSext) {
      Value fits = v.computations.HoldsWidened(inst, operands[0].runs.first[k], *stride);
      runs.holds = runs.holds == nullptr ? fits : b.CreateAnd(runs.holds, fits);
    }
  }
  return runs;
}

// Both choices are sequences or the same in all lanes.
TwoRuns LaneRuns::ChosenRuns(const ir::Inst& inst) {
  TwoRuns runs;
  runs.second = b.CreateNot(e.values.Get(inst.operands[0]));
  for (size_t k = 0; k < 2; ++k) {
    const ShapedValue choice = e.values.Shaped(inst.operands[1 + k]);
    runs.first[k] = choice.first != nullptr ? choice.first : choice.value;
    runs.stride[k] = choice.first != nullptr ? ShapeOf(inst.operands[1 + k]).stride : 0;
    if (choice.holds != nullptr)
      runs.holds = runs.holds == nullptr ? choice.holds : b.CreateAnd(runs.holds, choice.holds);
  }
  return runs;
}

// Lanes beyond the bound access the place at the bound. Where two clamps follow each other, each has lanes of
// its own beyond its bound, and in most vectors one of the clamps changes nothing.
Result<TwoRuns> LaneRuns::ClampedRuns(const ir::Inst& inst) {
  const size_t number = v.computations.PlaceOfClamp(inst);
  const ShapedValue place = e.values.Shaped(inst.operands[number]);
  const int64_t stride = ShapeOf(inst.operands[number]).stride;
  Value bound = e.values.Get(inst.operands[1 - number]);
  using Predicate = llvm::CmpInst::Predicate;
  const Predicate beyond = inst.op == Opcode::kMinS   ? Predicate::ICMP_SGT
                           : inst.op == Opcode::kMinU ? Predicate::ICMP_UGT
                           : inst.op == Opcode::kMaxS ? Predicate::ICMP_SLT
                                                      : Predicate::ICMP_ULT;
  TwoRuns runs;
  runs.second = b.CreateICmp(beyond, place.value, Vector(bound));
  runs.first = {place.first, bound};
  runs.stride = {stride, 0};
  runs.holds = place.holds;
  const TwoRuns& before = place.runs;
  if (before.second == nullptr || place.holds == nullptr || before.stride != runs.stride) return runs;
  TwoRuns kept = before;
  for (size_t k = 0; k < 2; ++k) {
    Value inside = v.computations.HoldsClamped(inst, before.first[k], before.stride[k]);
    kept.holds = kept.holds == nullptr ? inside : b.CreateLogicalAnd(kept.holds, inside);
  }
  runs.second = b.CreateSelect(place.holds, runs.second, kept.second);
  for (size_t k = 0; k < 2; ++k) runs.first[k] = b.CreateSelect(place.holds, runs.first[k], kept.first[k]);
  runs.holds = b.CreateLogicalOr(place.holds, kept.holds);
  return runs;
}

// A quotient, or rest, of a sequence that may step in some lane: as the shapes of values have it, or by a
// number that is not known, where one division of the first lane's value replaces a vector of them.
bool LaneRuns::IsDivided(const ir::Inst& inst) const {
  const bool divides = inst.op == Opcode::kDivS || inst.op == Opcode::kDivU || inst.op == Opcode::kRemS ||
                       inst.op == Opcode::kRemU;
  if (!divides || inst.type != ir::Type::kI32) return false;
  if (ShapeOf(inst.results[0]).affine()) return true;
  const LaneShape& dividend = ShapeOf(inst.operands[0]);
  const ir::InstId divisor = f.at_value(inst.operands[1]).def;
  const bool is_number = divisor.valid() && f.at_inst(divisor).op == Opcode::kConst;
  return dividend.affine() && dividend.stride > 0 && dividend.stride <= kMaxStride && !is_number &&
         ShapeOf(inst.operands[1]).uniform();
}

// Divides two runs, in each of which all lanes have one number (rows, where places in a plane are divided).
Status LaneRuns::DivideRuns(const ir::Inst& inst) {
  const bool is_signed = inst.op == Opcode::kDivS || inst.op == Opcode::kRemS;
  const bool is_rest = inst.op == Opcode::kRemS || inst.op == Opcode::kRemU;
  const ValueId result = inst.results[0];
  const ShapedValue dividend = e.values.Shaped(inst.operands[0]);
  Value divisor = e.values.Get(inst.operands[1]), one = Literal(divisor, 1);
  Value positive =
      b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, divisor, one);
  Value fits = b.CreateICmpEQ(divisor, positive);
  TwoRuns runs = dividend.runs;
  for (Value& number : runs.first) {
    if (is_signed) fits = b.CreateAnd(fits, b.CreateICmpSGE(number, Literal(number, 0)));
    number = is_rest ? b.CreateURem(number, positive) : b.CreateUDiv(number, positive);
  }
  runs.holds = runs.holds == nullptr ? fits : b.CreateLogicalAnd(runs.holds, fits);
  auto from_runs = [&]() -> Status {
    e.values.Set(result, b.CreateSelect(runs.second, Vector(runs.first[1]), Vector(runs.first[0])));
    return {};
  };
  TRY_STATUS(v.partings.Choose(runs.holds, from_runs, [&] { return e.EmitInst(inst); }, {result}));
  if (!ShapeOf(result).affine()) return {};
  Value holds = dividend.holds == nullptr ? fits : b.CreateLogicalAnd(dividend.holds, fits);
  e.values.SetShaped(result, {e.values.Get(result), runs.first[0], holds, runs});
  return {};
}

LaneRuns::Divided LaneRuns::DivideFirst(const ir::Inst& inst, Value first, int64_t stride, Value holds) {
  const bool is_signed = inst.op == Opcode::kDivS || inst.op == Opcode::kRemS;
  const int64_t way = stride * (width_ - 1);
  Value divisor = e.values.Get(inst.operands[1]), one = Literal(divisor, 1);
  Value positive =
      b.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, divisor, one);
  Value quotient = b.CreateUDiv(first, positive);
  Value rest = b.CreateSub(first, b.CreateMul(quotient, positive)), to_step = b.CreateSub(positive, rest);
  const int64_t most = (is_signed ? int64_t{INT32_MAX} : int64_t{UINT32_MAX}) - way;
  Value steps_once =
      b.CreateAnd(b.CreateICmpULE(first, Literal(divisor, static_cast<uint64_t>(most))),
                  b.CreateAnd(b.CreateICmpEQ(divisor, positive),
                              b.CreateICmpUGT(positive, Literal(divisor, static_cast<uint64_t>(way)))));
  if (holds != nullptr) steps_once = b.CreateLogicalAnd(holds, steps_once);
  return {positive, quotient, rest, to_step, steps_once};
}

// Lanes from where the quotient steps on are the second run, where it steps once at most and nothing is
// negative or wraps around. Vectors are computed by division elsewhere alone.
Status LaneRuns::EmitDivided(const ir::Inst& inst) {
  const bool is_rest = inst.op == Opcode::kRemS || inst.op == Opcode::kRemU;
  const ValueId result = inst.results[0];
  const ShapedValue dividend = e.values.Shaped(inst.operands[0]);
  const int64_t stride = ShapeOf(inst.operands[0]).stride, way = stride * (width_ - 1);
  const bool in_runs = dividend.runs.second != nullptr && dividend.runs.stride == std::array<int64_t, 2>{};
  if (stride == 0 && in_runs) return DivideRuns(inst);
  const auto [positive, quotient, rest, to_step, steps_once] =
      DivideFirst(inst, dividend.first, stride, dividend.holds);
  llvm::SmallVector<llvm::Constant*, 64> distances;
  for (unsigned lane = 0; lane < width_; ++lane)
    distances.push_back(b.getInt32(static_cast<uint32_t>(stride * lane)));
  TwoRuns runs;
  runs.second = b.CreateICmpUGE(llvm::ConstantVector::get(distances), Vector(to_step));
  runs.first = is_rest ? std::array{rest, b.CreateSub(rest, positive)}
                       : std::array{quotient, b.CreateAdd(quotient, Literal(quotient, 1))};
  if (is_rest) runs.stride = {stride, stride};
  runs.holds = steps_once;
  auto from_runs = [&]() -> Status {
    Value vectors[2];
    for (size_t k = 0; k < 2; ++k)
      vectors[k] = is_rest ? v.bounds.SequenceFrom(inst.operands[0], runs.first[k]) : Vector(runs.first[k]);
    e.values.Set(result, b.CreateSelect(runs.second, vectors[1], vectors[0]));
    return {};
  };
  TRY_STATUS(v.partings.Choose(steps_once, from_runs, [&] { return e.EmitInst(inst); }, {result}));
  if (!ShapeOf(result).affine()) return {};
  Value holds =
      b.CreateLogicalAnd(steps_once, b.CreateICmpUGT(to_step, Literal(to_step, static_cast<uint64_t>(way))));
  e.values.SetShaped(result, {e.values.Get(result), runs.first[0], holds, runs});
  return {};
}

// Whether each run is read or written by one access.
bool LaneRuns::LoadsInRuns(const ir::Inst& load, const TwoRuns& runs) const {
  const int64_t apart = ShapeOf(load.operands[0]).stride;
  if (!e.m.traits.has_avx512 && FormOf(e, region_, load) == LaneForm::kStrided) return false;
  return runs.second != nullptr && HasMasksFor(load) &&
         std::ranges::all_of(runs.stride, [&](int64_t stride) { return stride == apart || stride == 0; });
}

bool LaneRuns::StoresInRuns(const ir::Inst& store, const TwoRuns& runs) const {
  const int64_t apart = ShapeOf(store.operands[0]).stride;
  if (!e.m.traits.has_avx512 && FormOf(e, region_, store) == LaneForm::kStrided) return false;
  return runs.second != nullptr && HasMasksFor(store) && runs.stride == std::array{apart, apart};
}

Status LaneRuns::StoreRuns(const ir::Inst& store, const TwoRuns& runs, const Mask& mask) {
  const ValueId address = store.operands[0];
  Value all = e.values.Get(address);
  for (size_t k = 0; k < 2; ++k) {
    Value in_run = k == 0 ? b.CreateNot(runs.second) : runs.second;
    const Mask lanes{IsAll(mask) ? in_run : b.CreateLogicalAnd(mask.lanes, in_run)};
    ValueMap::Overrides of_run(e.values);
    of_run.Set(address, {all, runs.first[k], nullptr});
    auto side_by_side = [&]() -> Status {
      if (FormOf(e, region_, store) == LaneForm::kStrided)
        return v.strides.StoreStrided(store, lanes), Status{};
      return v.accesses.StoreTogether(store, lanes), Status{};
    };
    TRY_STATUS(v.partings.Choose(AnyOf(lanes), side_by_side, [] { return Status{}; }, {}));
  }
  return {};
}

Status LaneRuns::LoadRuns(const ir::Inst& load, const TwoRuns& runs, const Mask& mask) {
  const ValueId address = load.operands[0];
  Value all = e.values.Get(address);
  std::vector<Value> loaded(load.results.size());
  for (size_t k = 0; k < 2; ++k) {
    Value in_run = k == 0 ? b.CreateNot(runs.second) : runs.second;
    const Mask lanes{IsAll(mask) ? in_run : b.CreateLogicalAnd(mask.lanes, in_run)};
    ValueMap::Overrides of_run(e.values);
    auto nothing = [&]() -> Status {
      for (ValueId result : load.results)
        e.values.Set(result, llvm::Constant::getNullValue(VectorOf(e.m.MemoryTypeOf(load.type))));
      return {};
    };
    auto one = [&]() -> Status {
      NoteMisaligned(load, lanes, false);
      of_run.Set(address, {runs.first[k], nullptr, nullptr});
      TRY_STATUS(EmitScalar(load));
      for (ValueId result : load.results) e.values.Set(result, Vector(e.values.Get(result)));
      return {};
    };
    auto side_by_side = [&]() -> Status {
      of_run.Set(address, {all, runs.first[k], nullptr});
      if (FormOf(e, region_, load) == LaneForm::kStrided) return v.strides.LoadStrided(load, lanes), Status{};
      v.accesses.LoadTogether(load, lanes);
      return {};
    };
    TRY_STATUS(v.partings.Choose(AnyOf(lanes),
                                 runs.stride[k] == 0 ? std::function<Status()>(one) : side_by_side, nothing,
                                 load.results));
    for (size_t n = 0; n < loaded.size(); ++n) {
      Value here = e.values.Get(load.results[n]);
      loaded[n] = k == 0 ? here : b.CreateSelect(runs.second, here, loaded[n]);
    }
  }
  for (size_t n = 0; n < loaded.size(); ++n)
    e.values.SetShaped(load.results[n], {loaded[n], nullptr, nullptr});
  return {};
}

}  // namespace ptx2cpu::lowering
