// 9.7.9.25.5, 9.7.9.28, 9.7.13.16: copies of tensors, and changes of tensor maps. Like other asynchronous
// copies they are done at once.
#include "ir/tensor.h"

#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/mbarrier.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;
namespace tensor = ir::tensor;

namespace {

// [map, {coordinates}]: the address in a register, or of a variable or parameter that is named.
struct TensorPlace {
  ValueId map;
  std::vector<ValueId> coordinates;
};
std::optional<TensorPlace> ReadPlace(Emitter& e, size_t operand) {
  const ast::Operand& whole = e.Operand(operand);
  if (whole.kind != ast::OperandKind::kBracket || e.ast.Children(whole).size() != 2 ||
      e.ast.Children(whole)[1].kind != ast::OperandKind::kVector) {
    e.Fail(ErrorCode::kSyntax, "expected [tensor map, {coordinates}]");
    return std::nullopt;
  }
  const ast::Operand& map = e.ast.Children(whole)[0];
  TensorPlace place;
  if (map.symbol_kind == ast::SymbolKind::kRegister) {
    place.map = e.Offset(e.ReadVariable(map.symbol), map.integer);
  } else {
    place.map = e.SymbolAddress(map);
  }
  place.coordinates = ReadList(e, e.ast.Children(whole)[1], Type::kI32);
  return place;
}

constexpr std::pair<Word, uint32_t> kDimensions[] = {{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}};
constexpr std::pair<Word, tensor::Mode> kModes[] = {
    {"tile::gather4", tensor::Mode::kGather}, {"tile::scatter4", tensor::Mode::kGather},
    {"im2col", tensor::Mode::kIm2col},        {"im2col_no_offs", tensor::Mode::kIm2col},
    {"im2col::w", tensor::Mode::kIm2colWide}, {"im2col::w::128", tensor::Mode::kIm2colWide128}};
constexpr std::pair<Word, tensor::Reduction> kReductions[] = {
    {"add", tensor::Reduction::kAdd}, {"min", tensor::Reduction::kMin}, {"max", tensor::Reduction::kMax},
    {"inc", tensor::Reduction::kInc}, {"dec", tensor::Reduction::kDec}, {"and", tensor::Reduction::kAnd},
    {"or", tensor::Reduction::kOr},   {"xor", tensor::Reduction::kXor}};

// Without the offsets. The 128 columns and halos of im2col::w are not defined well enough to be copied.
std::optional<tensor::Form> TensorFormOf(Emitter& e, const TensorPlace& place) {
  tensor::Form form;
  for (auto [word, dimensions] : kDimensions) {
    if (e.mods().At("dim") == word) form.dimensions = dimensions;
  }
  for (auto [word, mode] : kModes) {
    if (e.Has(word)) form.mode = mode;
  }
  for (auto [word, reduction] : kReductions) {
    if (e.mods().At("op") == word) form.reduction = reduction;
  }
  form.to_tensor = e.Has("bulk_group");
  const bool is_image = form.mode >= tensor::Mode::kIm2col;
  if (form.mode >= tensor::Mode::kIm2colWide) {
    static_cast<void>(e.Unsupported("im2col::w, whose halo no GPU has shown,"));
    return std::nullopt;
  }
  if (place.coordinates.size() != form.coordinates() ||
      (form.mode == tensor::Mode::kGather && form.dimensions != 2) || (is_image && form.dimensions < 3)) {
    e.Fail(ErrorCode::kSyntax, "the coordinates do not belong to the dimensions");
    return std::nullopt;
  }
  return form;
}

// The offsets of im2col: one for each dimension between the first and the last.
std::optional<std::vector<ValueId>> ReadOffsets(Emitter& e, size_t operand, uint32_t wanted) {
  if (!e.Present(operand)) {
    e.Fail(ErrorCode::kSyntax, "im2col takes offsets");
    return std::nullopt;
  }
  std::vector<ValueId> offsets = ReadList(e, e.Operand(operand), Type::kI16);
  if (offsets.size() == wanted) return offsets;
  e.Fail(ErrorCode::kSyntax, "im2col takes an offset for each dimension between the first and the last");
  return std::nullopt;
}

void Load(Emitter& e) {
  const std::optional<TensorPlace> place = ReadPlace(e, 1);
  if (!place) return;
  std::optional<tensor::Form> form = TensorFormOf(e, *place);
  if (!form) return;
  // After the mbarrier object: offsets, mask, cache policy, as far as the opcode has them.
  size_t next = 3;
  std::vector<ValueId> words = place->coordinates;
  if (form->mode == tensor::Mode::kIm2col) {
    const auto offsets = ReadOffsets(e, next++, form->dimensions - 2);
    if (!offsets) return;
    for (ValueId offset : *offsets) words.push_back(e.b.Convert(Opcode::kZext, Type::kI32, offset));
    form->offsets = form->dimensions - 2;
  }
  const ir::Attrs attrs{.index = tensor::Encode(*form)};
  const Space space = e.Has("shared::cluster") ? Space::kSharedCluster : Space::kShared;
  if (e.Has("multicast::cluster")) {
    if (!e.Present(next)) return e.Fail(ErrorCode::kSyntax, "multicast takes a mask");
    const ValueId mask = e.b.Convert(Opcode::kZext, Type::kI32, e.ReadOperand(e.Operand(next), Type::kI16));
    std::vector<ValueId> operands{place->map, OffsetInWindow(e, 0), OffsetInWindow(e, 2), mask};
    operands.insert(operands.end(), words.begin(), words.end());
    e.b.Make(Opcode::kCopyTensorMulticast, Type::kVoid, std::move(operands), attrs);
    return;
  }
  std::vector<ValueId> operands{place->map, RealAddress(e, e.WritableAddress(0, space))};
  operands.insert(operands.end(), words.begin(), words.end());
  const ValueId bytes = e.b.Inst1(Opcode::kCopyTensor, Type::kVoid, std::move(operands), attrs);
  NoteSync(e, PTX2CPU_SYNC_COPY_ARRIVE, PTX2CPU_COPY_BULK);
  CompleteBytes(e, e.WritableAddress(2, space), bytes);
}

void Store(Emitter& e) {
  const std::optional<TensorPlace> place = ReadPlace(e, 0);
  if (!place) return;
  const std::optional<tensor::Form> form = TensorFormOf(e, *place);
  if (!form) return;
  std::vector<ValueId> operands{place->map, RealAddress(e, e.Address(1, Space::kShared))};
  operands.insert(operands.end(), place->coordinates.begin(), place->coordinates.end());
  e.b.Make(Opcode::kCopyTensor, Type::kVoid, std::move(operands), {.index = tensor::Encode(*form)});
}

}  // namespace

void cp_async_bulk_tensor(Emitter& e) {
  if (e.Has("bulk_group")) return Store(e);
  Load(e);
}

void cp_reduce_async_bulk_tensor(Emitter& e) { Store(e); }

// A hint: its operands are checked, no more.
void cp_async_bulk_prefetch_tensor(Emitter& e) {
  const std::optional<TensorPlace> place = ReadPlace(e, 0);
  if (!place) return;
  const bool is_wide = e.Has("im2col::w") || e.Has("im2col::w::128");
  size_t next = 1;
  if (!is_wide) {
    const std::optional<tensor::Form> form = TensorFormOf(e, *place);
    if (!form || (form->mode == tensor::Mode::kIm2col && !ReadOffsets(e, next++, form->dimensions - 2)))
      return;
  } else if (e.Present(next) && e.Operand(next).kind == ast::OperandKind::kVector) {
    ReadList(e, e.Operand(next++), Type::kI16);
  }
  constexpr size_t kLast = 2;
  if (e.Has("L2::cache_hint") != e.Present(next) || (next < kLast && e.Present(kLast)))
    return e.Fail(ErrorCode::kSyntax, "L2::cache_hint and its policy come together");
  if (e.Present(next)) e.ReadOperand(e.Operand(next), Type::kI64);
}

namespace {

struct MapField {
  Word word;
  size_t at;
  Type type;
};
constexpr MapField kFields[] = {
    {"global_address", tensor::kAddressAt, Type::kI64},
    {"global_stride", tensor::kStridesAt, Type::kI64},
    {"global_dim", tensor::kSizesAt, Type::kI32},
    {"box_dim", tensor::kBoxAt, Type::kI16},
    {"element_stride", tensor::kElementStridesAt, Type::kI8},
    {"rank", tensor::kRankAt, Type::kI8},
    {"elemtype", tensor::kElementAt, Type::kI8},
    {"interleave_layout", tensor::kInterleaveAt, Type::kI8},
    {"swizzle_mode", tensor::kSwizzleAt, Type::kI8},
    {"swizzle_atomicity", tensor::kAtomicityAt, Type::kI8},
    {"fill_mode", tensor::kFillAt, Type::kI8},
};

}  // namespace

void tensormap_replace(Emitter& e) {
  const Place map = e.WritableAddress(0, SpaceOfWords(e));
  const size_t value = e.match.form->operands.size() - 1;
  const int64_t number = value == 2 ? *e.Immediate(1) : 0;
  for (const MapField& field : kFields) {
    if (!e.Has(field.word)) continue;
    const int64_t bytes = ir::Bits(field.type) / 8;
    ValueId bits = e.Read(value, bytes == 8 ? Type::kI64 : Type::kI32);
    if (bytes < 4) bits = e.b.Convert(Opcode::kTrunc, field.type, bits);
    const uint32_t most = field.word == Word("global_stride") ? 4 : tensor::kMaxDimensions;
    if (number < 0 || number >= most) return e.Fail(ErrorCode::kSyntax, "a tensor has no such dimension");
    e.b.Store(field.type, map.space, e.Offset(map.address, static_cast<int64_t>(field.at) + number * bytes),
              {bits});
  }
}

// All lanes of the warp copy the same 128 bytes.
void tensormap_copy(Emitter& e) {
  if (e.Immediate(2) != tensor::kMapBytes) return e.Fail(ErrorCode::kSyntax, "a tensor map has 128 bytes");
  const Place to = e.WritableAddress(0, Space::kGlobal), from = e.Address(1, Space::kShared);
  const ValueId bytes = e.Const(Type::kI32, tensor::kMapBytes);
  e.b.Make(Opcode::kCopyBulk, Type::kVoid, {to.address, RealAddress(e, from), bytes, bytes}, {.align = 16});
}

}  // namespace ptx2cpu::ptx::rows
