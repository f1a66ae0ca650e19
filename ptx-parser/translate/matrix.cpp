// 9.7.14: matrix instructions. Fragments lie in registers of a whole warp.
#include "ptx-parser/translate/matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::Product;

namespace {

constexpr MatrixShape kShapes[] = {
    {"m8n8k4", 8, 8, 4},     {"m8n8k16", 8, 8, 16},     {"m8n8k32", 8, 8, 32},     {"m8n8k128", 8, 8, 128},
    {"m16n8k4", 16, 8, 4},   {"m16n8k8", 16, 8, 8},     {"m16n8k16", 16, 8, 16},   {"m16n8k32", 16, 8, 32},
    {"m16n8k64", 16, 8, 64}, {"m16n8k128", 16, 8, 128}, {"m16n8k256", 16, 8, 256}, {"m16n16k16", 16, 16, 16},
    {"m16n16k8", 16, 16, 8}, {"m32n8k16", 32, 8, 16},   {"m8n32k16", 8, 32, 16},
};

constexpr struct {
  PtxType type;
  MatrixElement element;
} kElementTypes[] = {
    {PtxType::kF16, MatrixElement::kF16},   {PtxType::kBF16, MatrixElement::kBF16},
    {PtxType::kTF32, MatrixElement::kTF32}, {PtxType::kF64, MatrixElement::kF64},
    {PtxType::kS8, MatrixElement::kS8},     {PtxType::kU8, MatrixElement::kU8},
    {PtxType::kS4, MatrixElement::kS4},     {PtxType::kU4, MatrixElement::kU4},
    {PtxType::kB1, MatrixElement::kB1},     {PtxType::kF32, MatrixElement::kF32},
    {PtxType::kS32, MatrixElement::kS32},   {PtxType::kE4M3, MatrixElement::kE4M3},
    {PtxType::kE5M2, MatrixElement::kE5M2},
};

}  // namespace

MatrixShape ShapeOf(const Emitter& e) {
  for (const MatrixShape& shape : kShapes) {
    if (e.mods().At("shape") == Word(shape.word)) return shape;
  }
  return {};
}

std::optional<MatrixElement> ElementOfType(PtxType type) {
  for (const auto& row : kElementTypes) {
    if (row.type == type) return row.element;
  }
  return std::nullopt;
}

Type RegisterType(MatrixElement element) {
  if (element == MatrixElement::kF64) return Type::kF64;
  return element == MatrixElement::kF32 ? Type::kF32 : Type::kI32;
}

std::vector<ValueId> MultiplyMatrices(Emitter& e, const Product& form, const MatrixOperands& operands) {
  std::vector<ValueId> values = operands.a;
  values.insert(values.end(), operands.b.begin(), operands.b.end());
  values.insert(values.end(), operands.c.begin(), operands.c.end());
  if (operands.metadata) values.push_back(*operands.metadata);
  values.push_back(e.Const(Type::kI32, kAllLanes));
  const ir::InstId id = e.b.Make(Opcode::kMatrixMultiply, RegisterType(form.c), std::move(values),
                                 {.index = ir::matrix::Encode(form)}, Type::kVoid, form.registers_of_c());
  return e.f.at_inst(id).results;
}

void ChainMatrixSums(ir::Module& module) {
  for (ir::Function& function : module.functions) {
    for (ir::Inst& inst : function.insts) {
      if (inst.op != Opcode::kMatrixMultiply && inst.op != Opcode::kMatrixMultiplyShared) continue;
      const bool is_shared = inst.op == Opcode::kMatrixMultiplyShared;
      ir::matrix::SharedProduct shared = ir::matrix::DecodeShared(inst.attrs.index);
      if (!shared.product.CanChain()) continue;
      shared.product.combine = ir::matrix::Combine::kChain;
      inst.attrs.index = is_shared ? ir::matrix::Encode(shared) : ir::matrix::Encode(shared.product);
    }
  }
}

bool IsFp8(PtxType type) { return type == PtxType::kE4M3 || type == PtxType::kE5M2; }

uint32_t MatricesOf(const Emitter& e) { return e.Has("x4") ? 4 : e.Has("x2") ? 2 : 1; }

bool HasRegisters(Emitter& e, size_t operand, size_t count) {
  const ast::Operand& o = e.Operand(operand);
  const size_t written = o.kind == ast::OperandKind::kVector ? e.ast.Children(o).size() : 1;
  if (written == count) return true;
  e.Fail(ErrorCode::kSyntax,
         fmt::format("operand {} has {} registers, the matrices of this shape and type have {}", operand + 1,
                     written, count));
  return false;
}

namespace rows {

namespace {

uint32_t TransferForm(const Emitter& e) {
  return MatricesOf(e) | (e.Has("trans") ? ir::matrix::kTransposed : 0);
}

}  // namespace

void movmatrix(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kMatrixTranspose, Type::kVoid, e.Read(1, Type::kI32),
                        e.Const(Type::kI32, kAllLanes)));
}

void ldmatrix(Emitter& e) {
  const uint32_t count = MatricesOf(e);
  if (!HasRegisters(e, 0, count)) return;
  const Place from = e.Address(1, SpaceOfWords(e));
  const ir::InstId id =
      e.b.Make(Opcode::kMatrixLoad, Type::kVoid, {from.address, e.Const(Type::kI32, kAllLanes)},
               {.index = TransferForm(e), .space = from.space}, Type::kVoid, count);
  const std::vector<ValueId> results = e.f.at_inst(id).results;  // writing them may add instructions
  e.WriteVector(0, results, false);
}

void stmatrix(Emitter& e) {
  if (!HasRegisters(e, 1, MatricesOf(e))) return;
  const Place to = e.WritableAddress(0, SpaceOfWords(e));
  std::vector<ValueId> operands{to.address};
  for (ValueId value : e.ReadVector(1, Type::kI32)) operands.push_back(value);
  operands.push_back(e.Const(Type::kI32, kAllLanes));
  e.b.Make(Opcode::kMatrixStore, Type::kVoid, std::move(operands),
           {.index = TransferForm(e), .space = to.space});
}

namespace {

bool IsRowByColumn(const Emitter& e) {
  return e.mods().At("layout") == Word("row") && e.mods().At("layout2") == Word("col");
}

// The elements and the depth that a shape has for each kind of multiplicand: bits of depth are those of one
// or two tiles, f64 has up to four.
bool IsLegal(const Product& p, const MatrixShape& shape) {
  const auto& a = ir::matrix::InfoOf(p.a);
  const auto& b = ir::matrix::InfoOf(p.b);
  const bool is_integer = a.exponent_bits == 0;
  if (a.bits != b.bits || (b.exponent_bits == 0) != is_integer) return false;
  if (!is_integer && p.a != p.b) return false;
  if (is_integer != (p.c == MatrixElement::kS32)) return false;
  if ((p.a == MatrixElement::kF64) != (p.c == MatrixElement::kF64) ||
      (p.c == MatrixElement::kF16 && p.a != MatrixElement::kF16))
    return false;
  if (shape.n != 8 || shape.m > 16 || (shape.m == 8 && !is_integer && p.a != MatrixElement::kF64))
    return false;
  const uint32_t depth = p.sparse ? p.depth / 2 : p.depth,
                 bits = depth * (p.a == MatrixElement::kF64 ? 32 : a.bits);
  return bits >= 128 && bits <= (p.a == MatrixElement::kF64 ? 512u : 256u);
}

std::optional<Product> FormOf(Emitter& e) {
  const MatrixShape shape = ShapeOf(e);
  const auto& types = e.mods().types;
  const auto a = ElementOfType(types[1]), b = ElementOfType(types[2]), c = ElementOfType(types[3]);
  if (a && b && c && types[0] == types[3]) {
    Product p{.rows = shape.m, .depth = shape.k, .a = *a, .b = *b, .c = *c, .saturates = e.Has("satfinite")};
    if (e.Has("popc")) p.combine = e.Has("xor") ? ir::matrix::Combine::kXor : ir::matrix::Combine::kAnd;
    p.sparse = e.match.row == RowId::k_mma_sparse;
    const bool is_bits = p.a == MatrixElement::kB1;
    if (IsLegal(p, shape) && is_bits == e.Has("popc") && IsRowByColumn(e)) return p;
  }
  e.Fail(ErrorCode::kSyntax, "there is no such product: the shape, types and layouts do not belong together");
  return std::nullopt;
}

ir::Rounding RoundingOfProduct(const Emitter& e) {
  if (e.Has("rz")) return ir::Rounding::kTowardZero;
  if (e.Has("rm")) return ir::Rounding::kDown;
  return e.Has("rp") ? ir::Rounding::kUp : ir::Rounding::kNearestEven;
}

std::optional<MatrixOperands> ReadFragments(Emitter& e, const Product& p) {
  if (!HasRegisters(e, 0, p.registers_of_c()) || !HasRegisters(e, 1, p.registers_of_a()) ||
      !HasRegisters(e, 2, p.registers_of_b()) || !HasRegisters(e, 3, p.registers_of_c()))
    return std::nullopt;
  const Type factor = RegisterType(p.a);
  return MatrixOperands{e.ReadVector(1, factor), e.ReadVector(2, factor), e.ReadVector(3, RegisterType(p.c))};
}

}  // namespace

void mma(Emitter& e) {
  const auto& types = e.mods().types;
  if (IsFp8(types[1])) return MultiplyBytes(e);
  if (types[1] == PtxType::kF16 && e.mods().At("shape") == Word("m8n8k4")) return MultiplyQuads(e);
  const std::optional<Product> form = FormOf(e);
  if (!form) return;
  const std::optional<MatrixOperands> operands = ReadFragments(e, *form);
  if (!operands) return;
  const ir::Rounding rounding = RoundingOfProduct(e);
  e.WriteVector(0,
                rounding == ir::Rounding::kNearestEven ? MultiplyMatrices(e, *form, *operands)
                                                       : MultiplyRounded(e, *form, *operands, rounding),
                false);
}

void mma_sparse(Emitter& e) {
  if (IsFp8(e.mods().types[1])) return MultiplySparseBytes(e);
  std::optional<Product> form = FormOf(e);
  if (!form) return;
  // Lanes of four that hold metadata: all of them have one way to do so, pairs have two.
  const uint32_t chunk = ir::matrix::InfoOf(form->a).bits == 32  ? 2
                         : ir::matrix::InfoOf(form->a).bits == 4 ? 8
                                                                 : 4;
  const int64_t holders = std::max<int64_t>(form->depth / chunk * 4 / 16, 1), selector = *e.Immediate(5);
  if (selector < 0 || selector >= 4 / holders) {
    e.Fail(ErrorCode::kSyntax,
           fmt::format("the sparsity selector {} is not below {}", selector, 4 / holders));
    return;
  }
  form->selector = static_cast<uint32_t>(selector);
  std::optional<MatrixOperands> operands = ReadFragments(e, *form);
  if (!operands) return;
  operands->metadata = e.Read(4, Type::kI32);
  e.WriteVector(0, MultiplyMatrices(e, *form, *operands), false);
}

}  // namespace rows
}  // namespace ptx2cpu::ptx
