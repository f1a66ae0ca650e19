#include "ptx-parser/translate/initializers.h"

#include <bit>
#include <cstring>

#include "ptx-parser/translate/image_operands.h"

namespace ptx2cpu::ptx {

namespace {

using ast::Operand;
using ast::OperandKind;
using ast::SymbolKind;

class InitializerFiller {
 public:
  InitializerFiller(ModuleContext& context, uint32_t number, bool used)
      : context_(context),
        ast_(context.ast),
        variable_(ast_.variables[number]),
        out_(context.out.variables[context.VariableIndex(number)]),
        used_(used) {
    context_.at = variable_.position;
    type_ = FindType(variable_.type);
    element_ = std::max<uint64_t>(1, static_cast<uint64_t>(Bits(type_)) / 8);
    for (uint64_t dimension : ast_.Dimensions(variable_)) shape_.push_back(dimension);
    if (variable_.vector > 1) shape_.push_back(variable_.vector);
  }

  Status Fill() {
    const Operand& root = ast_.operands[variable_.initializer];
    if (type_ == PtxType::kSamplerref) return Put(TRY(SamplerBits(ast_, variable_)), 0);
    if (Info(type_).kind == TypeKind::kOpaque) return Unsupported("a value");
    if (!shape_.empty() && shape_[0] == 0) {
      shape_[0] = root.kind == OperandKind::kVector ? root.children.count : 1;
      out_.size = element_;
      for (uint64_t dimension : shape_) out_.size *= dimension;
    }
    return FillLevel(root, 0, 0);
  }

 private:
  uint64_t StrideBelow(size_t level) const {
    uint64_t stride = element_;
    for (size_t i = level; i < shape_.size(); ++i) stride *= shape_[i];
    return stride;
  }

  Status FillLevel(const Operand& operand, size_t level, uint64_t offset) {
    if (operand.kind != OperandKind::kVector) return FillElement(operand, offset);
    // A brace list inside the innermost level lists elements as well: {{1}, {2}} of a vector type.
    uint64_t stride = level < shape_.size() ? StrideBelow(level + 1) : element_;
    for (const Operand& child : ast_.Children(operand)) {
      // Elements listed flat in an outer level follow each other.
      uint64_t step = child.kind == OperandKind::kVector ? stride : element_;
      TRY_STATUS(FillLevel(child, level + 1, offset));
      offset += step;
    }
    return {};
  }

  Status FillElement(const Operand& operand, uint64_t offset) {
    switch (operand.kind) {
      case OperandKind::kInteger:
        if (IsFloat(type_)) return PutFloat(static_cast<double>(operand.integer), offset);
        return Put(static_cast<uint64_t>(operand.integer), offset);
      case OperandKind::kFloat32:
        if (element_ == 4) return Put(operand.bits, offset);
        return PutFloat(std::bit_cast<float>(static_cast<uint32_t>(operand.bits)), offset);
      case OperandKind::kFloat64:
        if (element_ == 8) return Put(operand.bits, offset);
        return PutFloat(std::bit_cast<double>(operand.bits), offset);
      case OperandKind::kIdentifier:
        return PutAddress(operand, offset, static_cast<uint32_t>(element_), 0);
      case OperandKind::kMasked:
        return PutAddress(ast_.Children(operand)[0], offset, 1, operand.symbol * 8);
      case OperandKind::kSink:
      case OperandKind::kAddress:
      case OperandKind::kElement:
      case OperandKind::kVector:
      case OperandKind::kPair:
      case OperandKind::kArguments:
      case OperandKind::kBracket:
      case OperandKind::kField:
        break;
    }
    return Unsupported("an initializer of this shape");
  }

  Status Unsupported(const std::string& what) const {
    return Fail(ast::ErrorAt(
        ast_, variable_.position, ErrorCode::kUnsupported,
        what + " in the initializer of `" + std::string(variable_.name) + "` is not translated"));
  }

  Status Put(uint64_t bits, uint64_t offset) {
    if (offset + element_ > out_.size) {
      return Fail(ast::ErrorAt(ast_, variable_.position, ErrorCode::kSyntax,
                               "more initializers than `" + std::string(variable_.name) + "` has elements"));
    }
    if (out_.initial.size() < offset + element_) out_.initial.resize(offset + element_);
    std::memcpy(out_.initial.data() + offset, &bits, std::min<uint64_t>(element_, 8));
    return {};
  }

  Status PutFloat(double value, uint64_t offset) {
    if (element_ == 8) return Put(std::bit_cast<uint64_t>(value), offset);
    if (element_ == 4) return Put(std::bit_cast<uint32_t>(static_cast<float>(value)), offset);
    if (type_ == PtxType::kF16) return Put(std::bit_cast<uint16_t>(static_cast<_Float16>(value)), offset);
    return Unsupported("a floating-point constant of this width");
  }

  Status PutAddress(const Operand& operand, uint64_t offset, uint32_t size, uint32_t shift) {
    ir::Variable::Relocation relocation;
    relocation.offset = static_cast<uint32_t>(offset);
    relocation.size = size;
    relocation.shift = shift;
    relocation.addend = operand.integer;
    if (operand.symbol_kind == SymbolKind::kFunction) {
      relocation.is_function = true;
      relocation.index = context_.RequireFunction(operand.symbol);
    } else if (operand.symbol_kind == SymbolKind::kVariable &&
               context_.VariableIndex(operand.symbol) != ast::kNone) {
      if (used_ && IsImageReference(ast_.variables[operand.symbol]))
        return Unsupported("the address of a texture or surface");
      if (used_) context_.RequireVariable(operand.symbol);
      relocation.index = context_.VariableIndex(operand.symbol);
    } else {
      return Unsupported("`" + std::string(operand.text) + "`");
    }
    if (offset + size > out_.size) return Unsupported("an address beyond the end");
    out_.relocations.push_back(relocation);
    return {};
  }

  ModuleContext& context_;
  const ast::Module& ast_;
  const ast::Variable& variable_;
  ir::Variable& out_;
  bool used_;
  PtxType type_;
  uint64_t element_ = 1;
  std::vector<uint64_t> shape_;
};

}  // namespace

Status FillInitializer(Translation& translation, uint32_t ir_variable) {
  const SymbolTable::Place place = translation.symbols.variables()[ir_variable].place;
  if (translation.symbols.Ast(place).variables[place.index].initializer == ast::kNone) return {};
  return InitializerFiller(translation.context(place), place.index, translation.IsUsed(ir_variable)).Fill();
}

}  // namespace ptx2cpu::ptx
