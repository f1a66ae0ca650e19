// Products of fp8 as an H100 does them: the elements become f16, the first two of each four and the last two
// (of a sparse matrix those that are stored) are products of their own, and the accumulator is added at the
// end, in its own precision.
#include "ptx-parser/translate/matrix_pairs.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::Product;

namespace {

// a + b, each element on its own.
ValueId AddAccumulators(Emitter& e, MatrixElement element, ValueId a, ValueId b) {
  const ir::Attrs attrs{.rounding = ir::Rounding::kNearestEven};
  if (element == MatrixElement::kF32) return e.b.Binary(Opcode::kFAdd, Type::kF32, a, b, attrs);
  const std::vector<ValueId> x = e.b.Unpack(Type::kI16, a), y = e.b.Unpack(Type::kI16, b);
  std::vector<ValueId> sums;
  for (size_t n = 0; n < 2; ++n) {
    sums.push_back(e.b.Binary(Opcode::kFAdd, Type::kF16, e.b.Bitcast(Type::kF16, x[n]),
                              e.b.Bitcast(Type::kF16, y[n]), attrs));
  }
  return e.b.Pack(Type::kI32, sums);
}

// The product of f16 that each half of the elements makes; nothing if the instruction has no such form.
std::optional<Product> HalfOf(Emitter& e, bool is_sparse) {
  const MatrixShape shape = ShapeOf(e);
  const auto& types = e.mods().types;
  const bool is_half = types[3] == PtxType::kF16;
  const bool depth_fits = is_sparse ? shape.k == 64 : shape.k == 16 || shape.k == 32;
  const bool is_legal = shape.m == 16 && shape.n == 8 && depth_fits && IsFp8(types[2]) &&
                        types[0] == types[3] && (is_half || types[3] == PtxType::kF32);
  if (!is_legal) {
    e.Fail(ErrorCode::kSyntax, "there is no such product: the shape and types do not belong together");
    return std::nullopt;
  }
  Product p{.rows = 16, .depth = shape.k / 2, .c = is_half ? MatrixElement::kF16 : MatrixElement::kF32};
  p.sparse = is_sparse;
  if (!HasRegisters(e, 0, p.registers_of_c()) || !HasRegisters(e, 1, p.registers_of_a()) ||
      !HasRegisters(e, 2, p.registers_of_b()) || !HasRegisters(e, 3, p.registers_of_c()))
    return std::nullopt;
  return p;
}

void AddAndWrite(Emitter& e, const Product& p, std::vector<ValueId> sums) {
  const std::vector<ValueId> c = e.ReadVector(3, RegisterType(p.c));
  for (size_t n = 0; n < c.size(); ++n) sums[n] = AddAccumulators(e, p.c, sums[n], c[n]);
  e.WriteVector(0, sums, false);
}

}  // namespace

void MultiplyBytes(Emitter& e) {
  const std::optional<Product> p = HalfOf(e, false);
  if (!p) return;
  AddAndWrite(e, *p,
              SumOfPairs(e, *p, DensePairs(e, e.ReadVector(1, Type::kI32), e.ReadVector(2, Type::kI32))));
}

void MultiplySparseBytes(Emitter& e) {
  const std::optional<Product> p = HalfOf(e, true);
  if (!p) return;
  if (e.Immediate(5) != 0) return e.Fail(ErrorCode::kSyntax, "the sparsity selector must be 0");
  AddAndWrite(e, *p,
              SumOfPairs(e, *p,
                         SparsePairs(e, e.ReadVector(1, Type::kI32), e.ReadVector(2, Type::kI32),
                                     e.Read(4, Type::kI32))));
}

}  // namespace ptx2cpu::ptx
