// 9.7.15: wgmma. The four warps of a warpgroup compute 16 rows each; a product is complete when its
// instruction is, so that fences and groups have nothing to wait for.
#include <fmt/format.h>

#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/matrix.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::SharedProduct;

namespace {

constexpr uint32_t kRowsOfWarp = 16, kColumnsOfTile = 8, kMaxColumns = 256, kDepthBytes = 32;

// m64nNkK
struct Shape {
  uint32_t n = 0, k = 0;
};
Shape WideShapeOf(const Emitter& e) {
  const Word word = e.mods().At("wshape");
  for (uint32_t n = kColumnsOfTile; n <= kMaxColumns; n += kColumnsOfTile) {
    for (uint32_t k = 8; k <= 512; k *= 2) {
      if (word == Word(std::string_view(fmt::format("m64n{}k{}", n, k)))) return {n, k};
    }
  }
  return {};
}

bool IsLegalInGroup(const ir::matrix::Product& p) {
  const auto &a = ir::matrix::InfoOf(p.a), &b = ir::matrix::InfoOf(p.b);
  const bool is_integer = a.exponent_bits == 0, is_byte = a.bits == 8;
  if (p.a == MatrixElement::kF64 || p.b == MatrixElement::kF64 || a.bits != b.bits || a.bits == 4)
    return false;
  if ((b.exponent_bits == 0) != is_integer || (!is_byte && p.a != p.b)) return false;
  if (is_integer) return p.c == MatrixElement::kS32;
  return p.c == MatrixElement::kF32 ||
         (p.c == MatrixElement::kF16 && (is_byte || p.a == MatrixElement::kF16));
}

using Operands = std::span<const ast::Operand>;

size_t RegistersIn(const Emitter& e, const ast::Operand& o) {
  return o.kind == ast::OperandKind::kVector ? e.ast.Children(o).size() : 0;
}

std::optional<SharedProduct> SharedProductOf(Emitter& e, Operands operands, bool is_sparse) {
  const Shape shape = WideShapeOf(e);
  const auto& types = e.mods().types;
  const auto a = ElementOfType(types[1]), b = ElementOfType(types[2]), c = ElementOfType(types[0]);
  if (a && b && c) {
    SharedProduct form;
    form.product = {
        .rows = kRowsOfWarp, .depth = shape.k, .a = *a, .b = *b, .c = *c, .saturates = e.Has("satfinite")};
    if (e.Has("popc")) form.product.combine = ir::matrix::Combine::kAnd;
    form.product.sparse = is_sparse;
    form.column_tiles = shape.n / kColumnsOfTile;
    form.a_in_shared = RegistersIn(e, operands[1]) == 0;
    const uint32_t depth = kDepthBytes * 8 / ir::matrix::InfoOf(*a).bits * (is_sparse ? 2 : 1);
    const bool fits = RegistersIn(e, operands[0]) == form.registers_of_c() &&
                      (form.a_in_shared || RegistersIn(e, operands[1]) == form.product.registers_of_a());
    if (IsLegalInGroup(form.product) && shape.k == depth && fits &&
        (*a == MatrixElement::kB1) == e.Has("popc"))
      return form;
  }
  e.Fail(ErrorCode::kSyntax,
         "there is no such product: the shape, types and registers do not belong together");
  return std::nullopt;
}

// Signs of A and B, then for 16-bit elements their transpositions; A in registers has none. As far as they
// are written.
bool ReadImmediates(Emitter& e, Operands written, SharedProduct& form) {
  std::vector<int64_t> numbers;
  for (const ast::Operand& operand : written) {
    if (operand.kind == ast::OperandKind::kInteger) numbers.push_back(operand.integer);
  }
  const bool is_integer = form.product.c == MatrixElement::kS32,
             is_half = ir::matrix::InfoOf(form.product.a).bits == 16;
  const size_t wanted = is_integer ? 0 : 2 + (is_half ? (form.a_in_shared ? 2 : 1) : 0);
  bool good = numbers.size() == wanted && written.size() == wanted;
  for (size_t n = 0; good && n < numbers.size(); ++n)
    good = n < 2 ? numbers[n] == 1 || numbers[n] == -1 : numbers[n] == 0 || numbers[n] == 1;
  if (!good) {
    e.Fail(ErrorCode::kSyntax,
           "the product takes other immediates: signs of 1 or -1, transpositions of 0 or 1");
    return false;
  }
  if (wanted >= 2) form.negates = numbers[0] != numbers[1];
  if (wanted >= 3) form.transposes_b = numbers.back() == 1;
  if (wanted == 4) form.transposes_a = numbers[2] == 1;
  return true;
}

// The number of the warp in the block. Blocks have their warps in the order of their threads.
ValueId WarpNumber(Emitter& e) {
  auto special = [&](ir::Special which) { return e.b.SpecialRegister(which); };
  auto plus_times = [&](ValueId a, ValueId b, ValueId c) {
    return e.b.Binary(Opcode::kAdd, Type::kI32, e.b.Binary(Opcode::kMul, Type::kI32, a, b), c);
  };
  const ValueId row =
      plus_times(special(ir::Special::kTidZ), special(ir::Special::kNtidY), special(ir::Special::kTidY));
  const ValueId thread = plus_times(row, special(ir::Special::kNtidX), special(ir::Special::kTidX));
  return e.b.Binary(Opcode::kShrU, Type::kI32, thread, e.Const(Type::kI32, 5));
}

// Operands: D, A, descriptor of B, for a sparse A its metadata and selector, whether D counts, immediates.
void Multiply(Emitter& e, bool is_sparse) {
  const Operands operands = e.ast.Operands(*e.instruction);
  const size_t scale = is_sparse ? 5 : 3;
  if (operands.size() <= scale) return e.Fail(ErrorCode::kSyntax, "the product has too few operands");
  std::optional<SharedProduct> form = SharedProductOf(e, operands, is_sparse);
  if (!form || !ReadImmediates(e, operands.subspan(scale + 1), *form)) return;
  if (is_sparse) {
    const int64_t most = ir::matrix::InfoOf(form->product.a).bits == 8 ? 0 : 1,
                  selector = operands[4].integer;
    if (operands[4].kind != ast::OperandKind::kInteger || selector < 0 || selector > most)
      return e.Fail(ErrorCode::kSyntax, "there is no such sparsity selector");
    form->product.selector = static_cast<uint32_t>(selector);
  }
  const Type type = RegisterType(form->product.c);
  std::vector<ValueId> values = ReadList(e, operands[1], form->a_in_shared ? Type::kI64 : Type::kI32);
  values.push_back(e.ReadOperand(operands[2], Type::kI64));
  values.push_back(WarpNumber(e));
  values.push_back(e.ReadOperand(operands[scale], Type::kI1));
  for (ValueId value : ReadList(e, operands[0], type)) values.push_back(value);
  if (is_sparse) values.push_back(e.ReadOperand(operands[3], Type::kI32));
  values.push_back(e.Const(Type::kI32, kAllLanes));
  const ir::InstId id = e.b.Make(Opcode::kMatrixMultiplyShared, type, std::move(values),
                                 {.index = ir::matrix::Encode(*form)}, Type::kVoid, form->registers_of_c());
  const std::vector<ValueId> results = e.f.at_inst(id).results;
  for (size_t n = 0; n < results.size(); ++n)
    e.WriteOperand(e.ast.Children(operands[0])[n], results[n], false);
}

}  // namespace

void wgmma(Emitter& e) { Multiply(e, false); }
void wgmma_sparse(Emitter& e) { Multiply(e, true); }
void wgmma_order(Emitter&) {}

}  // namespace ptx2cpu::ptx::rows
