// Loads of lanes that are neither side by side nor far apart, such as those of an image that is drawn at
// another size: the lines that hold all lanes' elements are read once, and a permutation takes each lane's.
//
//   lane i: x[floor(i * 0.6)]   ->   two registers of x from the lowest lane on ; permute by the distance
//   from there
//
// Tested where addresses are computed, not loaded. What lies between the lanes' elements is read too: it is
// on the page of one of them.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr uint64_t kPage = 4096, kRegister = 64, kWindow = 2 * kRegister;

llvm::Intrinsic::ID PermutationOf(const TargetTraits& traits, int64_t bytes) {
  if (!traits.has_avx512) return llvm::Intrinsic::not_intrinsic;
  if (bytes == 1 && traits.has_vbmi) return llvm::Intrinsic::x86_avx512_vpermi2var_qi_512;
  if (bytes == 2) return llvm::Intrinsic::x86_avx512_vpermi2var_hi_512;
  if (bytes == 4) return llvm::Intrinsic::x86_avx512_vpermi2var_d_512;
  return llvm::Intrinsic::not_intrinsic;
}

// Elements from `first` on; those past the end are any.
Value Part(llvm::IRBuilder<>& b, Value vector, unsigned first, unsigned count) {
  const unsigned all = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  llvm::SmallVector<int, 64> from;
  for (unsigned n = first; n < first + count; ++n) from.push_back(n < all ? static_cast<int>(n) : -1);
  return b.CreateShuffleVector(vector, from);
}

// Each number, and those after it: `count` in all.
Value WithFollowing(llvm::IRBuilder<>& b, Value vector, unsigned count) {
  auto* type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  llvm::SmallVector<int, 128> from;
  llvm::SmallVector<llvm::Constant*, 128> more;
  for (unsigned n = 0; n < type->getNumElements() * count; ++n) {
    from.push_back(static_cast<int>(n / count));
    more.push_back(llvm::ConstantInt::get(type->getElementType(), n % count));
  }
  return b.CreateAdd(b.CreateShuffleVector(vector, from), llvm::ConstantVector::get(more));
}

}  // namespace

Status LaneGathers::InWindow(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& apart) {
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  // Two loads that have become one lie at multiples of theirs: what moves are elements of that size.
  const uint64_t unit = inst.attrs.align == 0 ? bytes : std::min<uint64_t>(bytes, inst.attrs.align);
  const auto units = static_cast<unsigned>(bytes / unit);
  const llvm::Intrinsic::ID permutation = PermutationOf(e.m.traits, static_cast<int64_t>(unit));
  if (permutation == llvm::Intrinsic::not_intrinsic || ElementCount(inst) != 1) return apart();
  Memory memory;
  Value pointers = e.memory.Pointer(inst.attrs.space, inst.operands[0], &memory);
  Value all = b.CreatePtrToInt(pointers, VectorOf(b.getInt64Ty()));
  Value first = b.CreateExtractElement(all, uint64_t{0}),
        last = b.CreateExtractElement(all, uint64_t{width_ - 1});
  // A lane that is not active may have any address: the window begins between elements all the same.
  Value lowest = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, first, last);
  lowest = b.CreateAnd(lowest, Literal(lowest, ~(unit - 1)));
  Value distance = b.CreateSub(all, Vector(lowest));
  Value outside = b.CreateAnd(mask.lanes, b.CreateICmpUGT(distance, Literal(distance, kWindow - bytes)));
  Value holds = b.CreateNot(NonZero(Bits({outside})));
  // The page of a lane that is active, and does load.
  holds = b.CreateAnd(holds, b.CreateICmpULE(b.CreateAnd(lowest, Literal(lowest, kPage - 1)),
                                             Literal(lowest, kPage - kWindow)));
  if (!IsAll(mask)) holds = b.CreateAnd(holds, NonZero(Bits(mask)));
  auto inside = [&]() -> Status {
    NoteMisaligned(inst, mask, false);
    const auto count = static_cast<unsigned>(kRegister / unit);
    const unsigned all_units = width_ * units;
    llvm::Type* element = b.getIntNTy(static_cast<unsigned>(8 * unit));
    llvm::Type* type = llvm::FixedVectorType::get(element, count);
    auto load = [&](uint64_t offset) {
      Value at = b.CreateIntToPtr(b.CreateAdd(lowest, Literal(lowest, offset)), b.getPtrTy());
      llvm::LoadInst* part = b.CreateAlignedLoad(type, at, llvm::Align(1));
      e.m.Annotate(part, memory);
      return part;
    };
    Value low = load(0), high = load(kRegister);
    Value index =
        b.CreateTrunc(b.CreateLShr(distance, Literal(distance, llvm::Log2_64(unit))), VectorOf(element));
    if (units > 1) index = WithFollowing(b, index, units);
    std::vector<Value> parts;
    for (unsigned n = 0; n < all_units; n += count)
      parts.push_back(b.CreateIntrinsic(permutation, {}, {low, Part(b, index, n, count), high}));
    while (parts.size() > 1) {
      std::vector<Value> joined;
      for (size_t n = 0; n < parts.size(); n += 2) {
        llvm::SmallVector<int, 64> both(
            2 * llvm::cast<llvm::FixedVectorType>(parts[n]->getType())->getNumElements());
        std::iota(both.begin(), both.end(), 0);
        joined.push_back(b.CreateShuffleVector(parts[n], parts[n + 1], both));
      }
      parts = std::move(joined);
    }
    Value result = all_units < count ? Part(b, parts[0], 0, all_units) : parts[0];
    e.values.Set(inst.results[0], b.CreateBitCast(result, VectorOf(e.m.MemoryTypeOf(inst.type))));
    return {};
  };
  return v.partings.Choose(holds, inside, apart, inst.results);
}

}  // namespace ptx2cpu::lowering
