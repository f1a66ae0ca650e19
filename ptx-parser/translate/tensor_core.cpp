// 9.7.16.9, 9.7.16.10: copies from shared to tensor memory, and products of tcgen05. One thread does each of
// them at once.
#include "runtime/abi/tensor_core.h"

#include "ptx-parser/translate/rows.h"
#include "ptx-parser/translate/tensor_memory.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;
namespace core = tensor_core;

namespace {

ValueId Narrow(Emitter& e, ValueId address) { return e.b.Convert(Opcode::kTrunc, Type::kI32, address); }

struct CopyWord {
  ptx::Word word;
  core::CopyShape shape;
};
constexpr CopyWord kCopies[] = {
    {"128x256b", core::CopyShape::k128x256},
    {"4x256b", core::CopyShape::k4x256},
    {"128x128b", core::CopyShape::k128x128},
    {"warpx2::02_13", core::CopyShape::k64x128Pairs02},
    {"warpx2::01_23", core::CopyShape::k64x128Pairs01},
    {"warpx4", core::CopyShape::k32x128},
};

void Copy(Emitter& e, const core::CopyForm& form, ValueId descriptor) {
  e.b.Make(Opcode::kTensorCoreCopy, Type::kVoid,
           {TensorMemory(e), Narrow(e, e.Address(0, Space::kShared).address), descriptor},
           {.index = core::Encode(form)});
}

}  // namespace

void tcgen05_cp(Emitter& e) {
  core::CopyForm form{.pair = e.Has("cta_group::2")};
  for (const CopyWord& row : kCopies) {
    if (e.Has(row.word)) form.shape = row.shape;
  }
  if (e.Has("b6x16_p32")) form.unpacks = core::Unpacks::kSixBits;
  if (e.Has("b4x16_p64")) form.unpacks = core::Unpacks::kFourBits;
  Copy(e, form, e.Read(1, Type::kI64));
}

void tcgen05_shift(Emitter& e) {
  Copy(e, {.shape = core::CopyShape::kShift, .pair = e.Has("cta_group::2")}, e.Const(Type::kI64, 0));
}

namespace {

struct KindWord {
  ptx::Word word;
  core::Kind kind;
  uint32_t blocks;  // of k, each with a scale, where no word names their number
};
constexpr KindWord kKinds[] = {
    {"kind::f16", core::Kind::kF16, 0},           {"kind::tf32", core::Kind::kTF32, 0},
    {"kind::f8f6f4", core::Kind::kF8F6F4, 0},     {"kind::i8", core::Kind::kI8, 0},
    {"kind::mxf8f6f4", core::Kind::kMxF8F6F4, 1}, {"kind::mxf4", core::Kind::kMxF4, 2},
    {"kind::mxf4nvf4", core::Kind::kMxF4NvF4, 0},
};
// Table 57.
struct ScaleWord {
  ptx::Word word;
  core::Kind kind;
  uint32_t blocks;
};
constexpr ScaleWord kScales[] = {
    {"scale_vec::1X", core::Kind::kMxF8F6F4, 1}, {"block32", core::Kind::kMxF8F6F4, 1},
    {"scale_vec::2X", core::Kind::kMxF4, 2},     {"block32", core::Kind::kMxF4, 2},
    {"scale_vec::2X", core::Kind::kMxF4NvF4, 2}, {"block32", core::Kind::kMxF4NvF4, 2},
    {"scale_vec::4X", core::Kind::kMxF4NvF4, 4}, {"block16", core::Kind::kMxF4NvF4, 4},
};

// Operands by their position, which depends on the form: addresses in tensor memory are in brackets.
class Multiplication {
 public:
  explicit Multiplication(Emitter& e) : e_(e), operands_(e.ast.Operands(*e.instruction)) {}

  void Translate() {
    ReadWords();
    const ValueId zero = e_.Const(Type::kI32, 0), none = e_.Const(Type::kI64, 0);
    values_ = {TensorMemory(e_), zero, none, none, zero, e_.Const(Type::kI1, 0), zero, zero, zero, none};
    values_[core::kD] = Address();
    form_.a_in_memory = IsAddress();
    values_[core::kA] =
        form_.a_in_memory ? e_.b.Convert(Opcode::kZext, Type::kI64, Address()) : Value(Type::kI64);
    values_[core::kB] = Value(Type::kI64);
    if (form_.sparse) values_[core::kMetadata] = Address();
    values_[core::kDescriptor] = Value(Type::kI32);
    ReadMask();
    if (form_.blocks != 0) {
      values_[core::kScaleA] = Address();
      values_[core::kScaleB] = Address();
    }
    values_[core::kCountsD] = Value(Type::kI1);
    ReadLast();
    Check(next_ == operands_.size() && is_good_, "the operands do not belong to this form of product");
    if (e_.error) return;
    values_.insert(values_.end(), mask_.begin(), mask_.end());
    e_.b.Make(Opcode::kTensorCoreMultiply, Type::kVoid, values_, {.index = core::Encode(form_)});
  }

 private:
  void ReadWords() {
    form_.pair = e_.Has("cta_group::2");
    form_.stationary = e_.Has("ws");
    form_.sparse = e_.Has("sp");
    form_.shifts_a = e_.Has("ashift");
    for (const KindWord& row : kKinds) {
      if (!e_.Has(row.word)) continue;
      form_.kind = row.kind;
      form_.blocks = row.blocks;
    }
    const ptx::Word scale = e_.mods().At("tscale");
    if (scale) form_.blocks = 0;
    for (const ScaleWord& row : kScales) {
      if (scale == row.word && form_.kind == row.kind) form_.blocks = row.blocks;
    }
    const bool scales = form_.kind >= core::Kind::kMxF8F6F4;
    Check(scales == (form_.blocks != 0) && scales == e_.Has("block_scale") && (scales || !scale),
          "this kind of product takes other scales");
    Check(!(form_.stationary && scales), "products with .ws have no scales");
  }
  // .cta_group::1 has 128 lanes, .cta_group::2 twice as many.
  void ReadMask() {
    if (next_ >= operands_.size() || operands_[next_].kind != ast::OperandKind::kVector) return;
    for (const ast::Operand& word : e_.ast.Children(operands_[next_++]))
      mask_.push_back(e_.ReadOperand(word, Type::kI32));
    form_.mask_words = static_cast<uint32_t>(mask_.size());
    Check(form_.mask_words == (form_.pair ? 8u : 4u) && !form_.stationary && form_.blocks == 0,
          "a mask of lanes has 4 words, or 8 for two blocks");
  }
  // The mask of columns, or how often D is halved.
  void ReadLast() {
    if (next_ >= operands_.size()) return;
    if (form_.stationary) {
      form_.masks_columns = true;
      values_[core::kColumnMask] = Value(Type::kI64);
      return;
    }
    const ast::Operand& scale = operands_[next_++];
    const bool takes = form_.kind == core::Kind::kF16 || form_.kind == core::Kind::kTF32;
    Check(takes && scale.kind == ast::OperandKind::kInteger && scale.integer >= 0 && scale.integer <= 15,
          "the scale of D is a number from 0 to 15, for kinds f16 and tf32");
    form_.scales_d = static_cast<uint32_t>(scale.integer) & 15;
  }

  bool IsAddress() const {
    return next_ < operands_.size() && operands_[next_].kind == ast::OperandKind::kAddress;
  }
  ValueId Address() {
    if (!IsAddress() || operands_[next_].symbol_kind != ast::SymbolKind::kRegister) {
      is_good_ = false;
      return e_.Const(Type::kI32, 0);
    }
    const ast::Operand& operand = operands_[next_++];
    const ValueId value = e_.ReadVariable(operand.symbol);
    if (e_.f.type_of(value) != Type::kI32) {
      is_good_ = false;
      return e_.Const(Type::kI32, 0);
    }
    return e_.b.Binary(Opcode::kAdd, Type::kI32, value,
                       e_.Const(Type::kI32, static_cast<uint64_t>(operand.integer)));
  }
  ValueId Value(Type type) {
    if (next_ >= operands_.size() || operands_[next_].HasChildren() || IsAddress()) {
      is_good_ = false;
      return e_.Const(type, 0);
    }
    return e_.ReadOperand(operands_[next_++], type);
  }
  void Check(bool good, const char* message) {
    if (!good && !e_.error) e_.Fail(ErrorCode::kSyntax, message);
  }

  Emitter& e_;
  std::span<const ast::Operand> operands_;
  size_t next_ = 0;
  bool is_good_ = true;
  core::Form form_;
  std::vector<ValueId> values_, mask_;
};

}  // namespace

void tcgen05_mma(Emitter& e) { Multiplication(e).Translate(); }
void tcgen05_mma_sparse(Emitter& e) { Multiplication(e).Translate(); }
void tcgen05_mma_ws(Emitter& e) { Multiplication(e).Translate(); }

}  // namespace ptx2cpu::ptx::rows
