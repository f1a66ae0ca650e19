// Accesses in which a few lanes at a time have elements close together, at known distances: one access for
// each such group, where a test at run time confirms the distances.
//
//   lane i: x[17 * (i / 4) + 4 * (i % 4)]   ->   loads of x[0 .. 16), x[17 .. 33), ...; a shuffle
//   lane i: x[i ^ 2] = v                    ->   x[0 .. W) = shuffle v
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

// The first lane's value, computed from that of its parts: the vector is needed only where the test fails.
Result<Value> GroupedAccesses::FirstOf(ValueId id, std::span<const ValueId> parts) {
  const ShapedValue shaped = e.values.Shaped(id);
  if (!shaped.value->getType()->isVectorTy()) return shaped.value;
  if (shaped.first != nullptr) return shaped.first;
  const bool is_part = std::ranges::find(parts, id) != parts.end();
  if (is_part || ShapeOf(id).uniform()) return b.CreateExtractElement(shaped.value, uint64_t{0});
  const ir::Inst& inst = f.at_inst(f.at_value(id).def);
  ValueMap::Overrides of_first(e.values);
  for (ValueId operand : inst.operands) {
    Value first = TRY(FirstOf(operand, parts));
    of_first.Set(operand, {first, nullptr, nullptr});
  }
  TRY_STATUS(EmitScalar(inst));
  Value first = e.values.Get(id);
  e.values.SetShaped(id, shaped);
  return first;
}

// In the active lanes. Null: always.
Value GroupedAccesses::IsPattern(ValueId part, const Mask& mask) {
  const ShapedValue shaped = e.values.Shaped(part);
  if (shaped.first != nullptr) return shaped.holds;
  const LaneRegion::Pattern& pattern = region_.patterns.at(part.index);
  if (!shaped.value->getType()->isVectorTy()) return nullptr;
  Value first = b.CreateExtractElement(shaped.value, uint64_t{0});
  llvm::SmallVector<llvm::Constant*, 64> distances;
  for (int64_t distance : pattern.distances) {
    const llvm::APInt number(64, static_cast<uint64_t>(distance));
    distances.push_back(
        llvm::ConstantInt::get(first->getType(), number.sextOrTrunc(first->getType()->getIntegerBitWidth())));
  }
  Value expected = b.CreateAdd(Vector(first), llvm::ConstantVector::get(distances));
  Value as_expected = b.CreateICmpEQ(shaped.value, expected);
  if (!IsAll(mask)) as_expected = b.CreateOr(as_expected, b.CreateNot(mask.lanes));
  return AllOf({as_expected});
}

// No lane's value wraps around where it is widened; `first`: of the narrow values.
Value GroupedAccesses::IsUnwrapped(const ir::Inst& widened, Value first) {
  const auto [low, high] = std::ranges::minmax(region_.patterns.at(widened.operands[0].index).distances);
  const bool is_signed = widened.op == Opcode::kSext;
  const int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
  Value wide = is_signed ? b.CreateSExt(first, b.getInt64Ty()) : b.CreateZExt(first, b.getInt64Ty());
  Value fits_above = b.CreateICmpSLE(wide, b.getInt64(static_cast<uint64_t>(most - high)));
  if (low == 0) return fits_above;
  return b.CreateAnd(fits_above, b.CreateICmpSGE(wide, b.getInt64(static_cast<uint64_t>(least - low))));
}

Status GroupedAccesses::InGroups(const ir::Inst& inst, const Mask& mask,
                                 const std::function<Status()>& apart) {
  const ValueId address = inst.operands[0];
  const auto [parts, widened] =
      analysis::PartsOfPattern(f, region_, inst, [&](ir::BlockId block) { return v.flow.IsOpen(block); });
  GroupedAccess access{
      inst, *GroupsOfAccess(region_, inst), region_.patterns.at(address.index).distances, nullptr, {}};
  const bool is_store = inst.op == Opcode::kStore;
  const bool is_injective =
      analysis::IsInjective(access.distances, access.bytes() * static_cast<int64_t>(ElementCount(inst)));
  const bool masks = HasMasksFor(inst) && (!is_store || is_injective);
  auto is_sequence = [&](ValueId part) { return e.values.Shaped(part).first != nullptr; };
  const bool masks_always = IsAll(mask) || (is_injective && std::ranges::all_of(parts, is_sequence));
  // Lanes that are not active may hold anything, poison too, where they are no sequence.
  ValueMap::Overrides of_parts(e.values);
  for (ValueId part : parts) {
    const ShapedValue shaped = e.values.Shaped(part);
    if (!IsAll(mask) && shaped.first == nullptr && shaped.value->getType()->isVectorTy())
      of_parts.Set(part, {b.CreateFreeze(shaped.value), nullptr, nullptr});
  }
  Value holds = IsAll(mask) || masks ? b.getTrue() : AllOf(mask);
  for (ValueId part : parts) {
    if (Value also = IsPattern(part, mask)) holds = b.CreateLogicalAnd(holds, also);
  }
  for (ir::InstId id : widened) {
    Value first = TRY(FirstOf(f.at_inst(id).operands[0], parts));
    holds = b.CreateLogicalAnd(holds, IsUnwrapped(f.at_inst(id), first));
  }
  Value first = TRY(FirstOf(address, parts));
  ValueMap::Overrides with_first(e.values);
  with_first.Set(address, {e.values.Get(address), first, nullptr});
  const std::vector<ValueId> results = is_store ? std::vector<ValueId>{} : inst.results;
  auto access_under = [&](const Mask& lanes) {
    NoteMisaligned(inst, lanes, IsAll(lanes) || masks_always);  // else the first lane may be anywhere
    access.start = FirstPointer(inst, &access.memory, 0);
    const bool keeps = IsAll(lanes) && e.private_shared && inst.attrs.space == ir::Space::kShared;
    is_store ? StoreGroups(access, lanes, keeps) : LoadGroups(access, lanes);
    return Status{};
  };
  auto in_groups = [&] {
    auto whole = [&] {
      return access_under({llvm::Constant::getAllOnesValue(mask.lanes->getType()), b.getTrue()});
    };
    auto masked = [&] { return access_under(mask); };
    if (!masks) return whole();
    return masks_always ? masked() : v.partings.Choose(AllOf(mask), whole, masked, results);
  };
  return v.partings.Choose(holds, in_groups, apart, results);
}

std::vector<int> GroupedAccesses::GroupedAccess::LanesOf(size_t group) const {
  const auto count = static_cast<int64_t>(ElementCount(inst));
  return analysis::LanesOfGroup(distances, groups, group, bytes(), count);
}

// For a store: the part, with the elements of `width` lanes, that has the value for a place in a group; -1:
// none.
int GroupedAccesses::GroupedAccess::PartAt(size_t group, size_t place, unsigned width) const {
  const int lane = LanesOf(group)[place];
  if (lane < 0) return lane;
  const int64_t first = (distances[static_cast<size_t>(lane)] - groups.begin[group]) / bytes();
  return static_cast<int>(static_cast<int64_t>(place) - first) * static_cast<int>(width) + lane;
}

// By element of a group's access: whether the lane is active that has it.
Value GroupedAccesses::ActiveInGroup(const Mask& mask, std::span<const int> lanes) {
  llvm::SmallVector<int, 64> from;
  for (int lane : lanes) from.push_back(lane < 0 ? static_cast<int>(width_) : lane);
  return b.CreateShuffleVector(mask.lanes, llvm::Constant::getNullValue(mask.lanes->getType()), from);
}

// By element of a group's load: whether one of the lanes is active that read it.
Value GroupedAccesses::ReadInGroup(const GroupedAccess& access, size_t group, const Mask& mask) {
  const auto count = static_cast<int64_t>(ElementCount(access.inst));
  llvm::Type* word = b.getIntNTy(std::max(width_, 32u));
  std::vector<uint64_t> readers(static_cast<size_t>(access.elements()));
  for (size_t lane = 0; lane < width_; ++lane) {
    if (access.groups.of_lane[lane] != group) continue;
    const int64_t first = (access.distances[lane] - access.groups.begin[group]) / access.bytes();
    for (int64_t k = 0; k < count; ++k) readers[static_cast<size_t>(first + k)] |= uint64_t{1} << lane;
  }
  llvm::SmallVector<llvm::Constant*, 64> bits;
  for (uint64_t lanes : readers) bits.push_back(llvm::ConstantInt::get(word, lanes));
  Value all = b.CreateVectorSplat(static_cast<unsigned>(bits.size()), b.CreateZExt(Bits(mask), word));
  Value active = b.CreateAnd(all, llvm::ConstantVector::get(bits));
  return b.CreateICmpNE(active, llvm::Constant::getNullValue(active->getType()));
}

void GroupedAccesses::LoadGroups(const GroupedAccess& access, const Mask& mask) {
  const ir::Inst& inst = access.inst;
  const analysis::LaneGroups& groups = access.groups;
  const int64_t bytes = access.bytes(), elements = access.elements();
  llvm::Type* type = e.m.MemoryTypeOf(inst.type);
  const llvm::Align align = llvm::commonAlignment(AlignOf(inst, 0), static_cast<uint64_t>(bytes));
  auto* run = llvm::FixedVectorType::get(type, static_cast<unsigned>(elements));
  auto* singles = llvm::FixedVectorType::get(type, static_cast<unsigned>(groups.begin.size()));
  llvm::SmallVector<Value, 32> runs;
  v.prefetch.PrefetchNextBlock(inst, access.start,
                               static_cast<unsigned>(groups.begin.back() + elements * bytes));
  Value whole = llvm::PoisonValue::get(singles);
  for (size_t n = 0; n < groups.begin.size(); ++n) {
    Value pointer = b.CreateConstGEP1_64(b.getInt8Ty(), access.start, static_cast<uint64_t>(groups.begin[n]));
    const bool is_single = elements == 1 && IsAll(mask);
    llvm::Instruction* load;
    if (IsAll(mask)) {
      load = b.CreateAlignedLoad(is_single ? type : run, pointer, align);
    } else {
      load = b.CreateMaskedLoad(run, pointer, align, ReadInGroup(access, n, mask),
                                llvm::Constant::getNullValue(run));
    }
    e.m.Annotate(load, access.memory);
    if (is_single)
      whole = b.CreateInsertElement(whole, load, n);
    else
      runs.push_back(load);
  }
  if (!runs.empty()) whole = llvm::concatenateVectors(b, runs);
  for (size_t k = 0; k < inst.results.size(); ++k) {
    llvm::SmallVector<int, 64> from;
    for (unsigned lane = 0; lane < width_; ++lane) {
      const size_t group = groups.of_lane[lane];
      const int64_t within = (access.distances[lane] - groups.begin[group]) / bytes + static_cast<int64_t>(k);
      from.push_back(static_cast<int>(static_cast<int64_t>(group) * elements + within));
    }
    e.values.Set(inst.results[k], b.CreateShuffleVector(whole, from));
  }
}

// `keeps`: what lies between the lanes' elements is loaded and stored again, so that two stores whose
// elements lie between each other's become one.
void GroupedAccesses::StoreGroups(const GroupedAccess& access, const Mask& mask, bool keeps) {
  const ir::Inst& inst = access.inst;
  const llvm::Align align = AlignOf(inst, 0);
  llvm::SmallVector<Value, 4> parts;
  for (size_t k = 1; k < inst.operands.size(); ++k) parts.push_back(Vector(e.values.Get(inst.operands[k])));
  Value value = llvm::concatenateVectors(b, parts);  // all lanes' first elements, then all second ones ...
  auto* run =
      llvm::FixedVectorType::get(value->getType()->getScalarType(), static_cast<unsigned>(access.elements()));
  for (size_t n = 0; n < access.groups.begin.size(); ++n) {
    Value pointer =
        b.CreateConstGEP1_64(b.getInt8Ty(), access.start, static_cast<uint64_t>(access.groups.begin[n]));
    const std::vector<int> lanes = access.LanesOf(n);
    const bool has_gaps = std::ranges::find(lanes, -1) != lanes.end();
    llvm::SmallVector<int, 64> from;
    for (size_t place = 0; place < lanes.size(); ++place) from.push_back(access.PartAt(n, place, width_));
    Value stored = b.CreateShuffleVector(value, from);
    if (has_gaps && keeps) {
      auto* old = b.CreateAlignedLoad(run, pointer, align);
      e.m.Annotate(old, access.memory);
      llvm::SmallVector<int, 64> chosen;
      for (size_t k = 0; k < lanes.size(); ++k)
        chosen.push_back(static_cast<int>(lanes[k] < 0 ? lanes.size() + k : k));
      stored = b.CreateShuffleVector(stored, old, chosen);
    }
    const bool is_whole = IsAll(mask) && (keeps || !has_gaps);
    llvm::Instruction* store;
    if (is_whole) {
      store = b.CreateAlignedStore(stored, pointer, align);
    } else {
      store = b.CreateMaskedStore(stored, pointer, align, ActiveInGroup(mask, lanes));
    }
    e.m.Annotate(store, access.memory);
  }
}

}  // namespace ptx2cpu::lowering
