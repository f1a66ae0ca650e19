// Directed rounding by AVX-512, whose instructions on vectors of 512 bits and on scalars name their rounding:
// one instruction in place of about forty. What is narrower is computed in a part of such a vector.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

#include "lowering/llvm/emit/float_rounding.h"

namespace ptx2cpu::lowering {

using ir::Rounding;
using ir::Type;
namespace intrinsic = llvm::Intrinsic;
using Value = llvm::Value*;

namespace {

struct Row {
  Floats::Directed operation;
  intrinsic::ID words, longs;  // on 16 f32, on 8 f64
};
constexpr Row kRows[] = {
    {Floats::Directed::kAdd, intrinsic::x86_avx512_add_ps_512, intrinsic::x86_avx512_add_pd_512},
    {Floats::Directed::kMultiply, intrinsic::x86_avx512_mul_ps_512, intrinsic::x86_avx512_mul_pd_512},
    {Floats::Directed::kDivide, intrinsic::x86_avx512_div_ps_512, intrinsic::x86_avx512_div_pd_512},
    {Floats::Directed::kSqrt, intrinsic::x86_avx512_sqrt_ps_512, intrinsic::x86_avx512_sqrt_pd_512},
    {Floats::Directed::kFma, intrinsic::x86_avx512_vfmadd_ps_512, intrinsic::x86_avx512_vfmadd_pd_512},
};

constexpr uint32_t kNoExceptions = 8;
uint32_t CodeOf(Rounding mode) {
  const uint32_t direction = mode == Rounding::kDown ? 1 : mode == Rounding::kUp ? 2 : 3;
  return direction | kNoExceptions;
}

}  // namespace

bool Floats::HasDirected(Type type, Rounding mode) const {
  const bool directed = mode == Rounding::kDown || mode == Rounding::kUp || mode == Rounding::kTowardZero;
  return directed && e.m.traits.has_avx512 && !IsHalf(type);
}

// A vector's elements from `first` on, filled up with ones.
Value Floats::PartOf(Value value, unsigned first, unsigned lanes) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  llvm::Type* part = llvm::FixedVectorType::get(value->getType()->getScalarType(), lanes);
  if (vector == nullptr) return b.CreateInsertElement(llvm::ConstantFP::get(part, 1), value, uint64_t{0});
  llvm::SmallVector<int, 16> from(lanes);
  const unsigned count = vector->getNumElements();
  for (unsigned i = 0; i < lanes; ++i) from[i] = static_cast<int>(std::min(first + i, count));
  return b.CreateShuffleVector(value, llvm::ConstantFP::get(vector, 1), from);
}

Value Floats::InDirection(Directed operation, const std::vector<Value>& operands, Type type, Rounding mode) {
  const auto& row = *std::ranges::find(kRows, operation, &Row::operation);
  const unsigned lanes = type == Type::kF32 ? 16 : 8;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
  const unsigned count = vector == nullptr ? 1 : vector->getNumElements();
  llvm::SmallVector<Value, 4> parts;
  for (unsigned first = 0; first < count; first += lanes) {
    llvm::SmallVector<Value, 4> arguments;
    for (Value operand : operands) arguments.push_back(PartOf(operand, first, lanes));
    arguments.push_back(b.getInt32(CodeOf(mode)));
    parts.push_back(b.CreateIntrinsic(type == Type::kF32 ? row.words : row.longs, {}, arguments));
  }
  if (vector == nullptr) return b.CreateExtractElement(parts[0], uint64_t{0});
  if (count % lanes == 0) return llvm::concatenateVectors(b, parts);
  llvm::SmallVector<int, 16> own(count);
  std::iota(own.begin(), own.end(), 0);
  return b.CreateShuffleVector(parts[0], own);
}

// -- x * b + c for x in [0, 1] and numbers 1 <= |b| <= |c| / 4: how exponentials split their argument --
//
//   r = fma(x, b, c)                 to nearest, in [3/4 c, 5/4 c]
//   e = fma(x, b, -(r - c))          the difference is exact (Sterbenz 1974), so that e has the error's sign:
//   r = e < 0 ? the float below : r  it is at least 2^-149 where it is not 0, and does not vanish

namespace {

std::optional<double> Number(const ir::Function& f, ir::ValueId value) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || f.at_inst(def).op != ir::Opcode::kConst) return std::nullopt;
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(f.at_inst(def).attrs.bits)));
}

bool IsSaturated(const ir::Function& f, ir::ValueId value) {
  const ir::InstId def = f.at_value(value).def;
  return def.valid() && ir::IsFloat(f.at_inst(def).type) && (f.at_inst(def).attrs.flags & ir::kSat) != 0;
}

}  // namespace

Value Floats::FmaNearAddend(const Site& s, Value x, Value y, Value z, Rounding mode) {
  if (s.inst.type != Type::kF32 || mode == Rounding::kNearestEven || !e.m.traits.has_fma) return nullptr;
  if (HasDirected(Type::kF32, mode) || !IsSaturated(e.f, s.inst.operands[0])) return nullptr;
  const std::optional<double> factor = Number(e.f, s.inst.operands[1]),
                              addend = Number(e.f, s.inst.operands[2]);
  if (!factor || !addend) return nullptr;
  const double size = std::abs(*addend);
  if (!(std::abs(*factor) >= 1 && std::abs(*factor) <= size / 4 && size < 0x1p100)) return nullptr;
  const bool positive = *addend > 0;
  const bool down = mode == Rounding::kDown || (mode == Rounding::kTowardZero && positive);
  Value nearest = FusedOrCall(x, y, z);
  Value error = FusedOrCall(x, y, b.CreateFNeg(b.CreateFSub(nearest, z)));
  Value wrong =
      down ? b.CreateFCmpOLT(error, Constant(error, 0)) : b.CreateFCmpOGT(error, Constant(error, 0));
  Value bits = AsBits(nearest, Type::kF32);
  const uint64_t step = down == positive ? ~uint64_t{0} : 1;
  return FromBits(b.CreateSelect(wrong, b.CreateAdd(bits, Literal(bits, step)), bits), Type::kF32);
}

}  // namespace ptx2cpu::lowering
