#include "ptx-parser/translate/parameters.h"

#include "runtime/abi/limits.h"

namespace ptx2cpu::ptx {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Type;
using ir::ValueId;

ParamStorage::ParamStorage(Emitter& e, ir::BlockId entry) : ast_(e.ast) {
  FindUses(e);
  if (e.source.is_entry) {
    ReadKernelHeader(e);
  } else {
    ReadFunctionHeader(e, entry);
  }
}

// A use other than a load or store of the complete value needs memory.
void ParamStorage::NoteUse(const Emitter& e, const ast::Instruction& instruction,
                           const ast::Operand& operand) {
  if (operand.HasChildren()) {
    bool arguments = operand.kind == OperandKind::kArguments;
    for (const ast::Operand& child : ast_.Children(operand)) {
      if (!arguments) NoteUse(e, instruction, child);
    }
    return;
  }
  if (operand.symbol_kind != SymbolKind::kVariable) return;
  const ast::Variable& variable = ast_.variables[operand.symbol];
  if (variable.space != ast::Space::kParam) return;
  const ast::Opcode& opcode = ast_.OpcodeOf(instruction);
  std::span<const std::string_view> words = ast_.Modifiers(opcode);
  bool whole = operand.kind == OperandKind::kAddress && operand.integer == 0 && !words.empty() &&
               (opcode.base == "ld" || opcode.base == "st");
  for (std::string_view word : words) whole &= word != "v2" && word != "v4" && word != "v8";
  if (whole) whole = static_cast<uint64_t>(Bits(FindType(words.back()))) == ByteSize(ast_, variable) * 8;
  if (!whole) needs_memory_[operand.symbol] = true;
}

void ParamStorage::FindUses(Emitter& e) {
  for (const ast::Instruction& instruction : ast_.Instructions(e.source)) {
    for (const ast::Operand& operand : ast_.Operands(instruction)) NoteUse(e, instruction, operand);
  }
}

void ParamStorage::ReadKernelHeader(Emitter& e) {
  uint64_t offset = 0;
  for (uint32_t i = 0; i < e.source.parameters.count; ++i) {
    uint32_t number = e.source.parameters.first + i;
    ir::Param param = MakeParam(ast_, ast_.variables[number]);
    offset = (offset + param.align - 1) / param.align * param.align;
    if (offset + param.size > kMaxParameterBytes) {
      return e.Fail(ErrorCode::kSyntax, "the parameters of `" + e.f.name + "` have more than " +
                                            std::to_string(kMaxParameterBytes) + " bytes together");
    }
    param.offset = static_cast<uint32_t>(offset);
    storage_[number] = {.home = Home::kKernelBuffer, .offset = param.offset, .value = {}};
    offset += param.size;
    e.f.params.push_back(std::move(param));
  }
  e.f.param_bytes = static_cast<uint32_t>(offset);
}

void ParamStorage::ReadFunctionHeader(Emitter& e, ir::BlockId entry) {
  for (uint32_t i = 0; i < e.source.returns.count; ++i) {
    uint32_t number = e.source.returns.first + i;
    const ast::Variable& variable = ast_.variables[number];
    AppendParams(ast_, variable, e.f.returns);
    if (variable.space == ast::Space::kReg || !IsAggregate(ast_, variable)) continue;
    storage_[number] = {.home = Home::kCaller, .offset = 0, .value = ir::AddParam(e.f, entry, Type::kI64)};
  }
  for (uint32_t i = 0; i < e.source.parameters.count; ++i) {
    uint32_t number = e.source.parameters.first + i;
    const ast::Variable& variable = ast_.variables[number];
    if (IsVectorRegister(variable)) {
      const size_t first = e.f.params.size();
      AppendParams(ast_, variable, e.f.params);
      for (uint32_t n = 0; n < variable.vector; ++n)
        elements_[variable.first_register + n] = ir::AddParam(e.f, entry, e.f.params[first + n].type);
      continue;
    }
    ir::Param param = MakeParam(ast_, variable);
    bool aggregate = param.type == Type::kVoid;
    ValueId value = ir::AddParam(e.f, entry, aggregate ? Type::kI64 : param.type);
    e.f.params.push_back(std::move(param));
    if (aggregate) {
      storage_[number] = {.home = Home::kCaller, .offset = 0, .value = value};
    } else {
      Get(e, number).value = value;
    }
  }
}

ParamStorage::Storage& ParamStorage::Get(Emitter& e, uint32_t variable) {
  auto [it, fresh] = storage_.emplace(variable, Storage{});
  if (!fresh) return it->second;
  const ast::Variable& v = ast_.variables[variable];
  if (v.space == ast::Space::kReg) {
    it->second.variable = v.first_register;
  } else if (IsAggregate(ast_, v) || needs_memory_.contains(variable)) {
    it->second.home = Home::kLocal;
  } else {
    it->second.variable = e.ssa.Declare(WholeType(FindType(v.type)));
  }
  return it->second;
}

void ParamStorage::EmitEntry(Emitter& e) {
  if (e.source.is_entry) return;
  for (const auto& [element, value] : elements_) e.WriteVariable(element, value);
  for (uint32_t i = 0; i < e.source.parameters.count; ++i) {
    uint32_t number = e.source.parameters.first + i;
    if (IsVectorRegister(ast_.variables[number])) continue;
    const Storage storage = Get(e, number);
    if (storage.home != Home::kCaller) WriteScalar(e, number, storage.value);
  }
}

std::optional<Ssa::Variable> ParamStorage::InSsa(Emitter& e, uint32_t variable) {
  const Storage& storage = Get(e, variable);
  return storage.home == Home::kSsa ? std::optional(storage.variable) : std::nullopt;
}

ir::Space ParamStorage::SpaceOf(uint32_t variable) const {
  auto it = storage_.find(variable);
  bool kernel = it != storage_.end() && it->second.home == Home::kKernelBuffer;
  return kernel ? ir::Space::kParam : ir::Space::kLocal;
}

ValueId ParamStorage::Address(Emitter& e, uint32_t variable) {
  const Storage storage = Get(e, variable);
  switch (storage.home) {
    case Home::kKernelBuffer:
      return e.Offset(e.b.ParamBase(), storage.offset);
    case Home::kCaller:
      return storage.value;
    case Home::kSsa:
    case Home::kLocal:
      break;
  }
  return e.b.Symbol(ir::Space::kLocal, e.LocalIndex(variable));
}

ValueId ParamStorage::ReadScalar(Emitter& e, uint32_t variable) {
  const Storage storage = Get(e, variable);
  Type type = WholeType(FindType(ast_.variables[variable].type));
  if (storage.home != Home::kSsa) return e.b.Load(type, SpaceOf(variable), Address(e, variable));
  ValueId value = e.ReadVariable(storage.variable);
  return e.b.Bitcast(type, value);
}

void ParamStorage::WriteScalar(Emitter& e, uint32_t variable, ValueId value) {
  const Storage storage = Get(e, variable);
  if (storage.home == Home::kSsa) {
    e.WriteVariable(storage.variable, value);
  } else {
    e.b.Store(e.f.type_of(value), SpaceOf(variable), Address(e, variable), {value});
  }
}

std::vector<ValueId> ParamStorage::ReturnValues(Emitter& e) {
  std::vector<ValueId> values;
  for (uint32_t i = 0; i < e.source.returns.count; ++i) {
    uint32_t number = e.source.returns.first + i;
    const ast::Variable& variable = ast_.variables[number];
    if (IsVectorRegister(variable)) {
      const Type type = WholeType(FindType(variable.type));
      for (uint32_t n = 0; n < variable.vector; ++n)
        values.push_back(e.b.Bitcast(type, e.ReadVariable(variable.first_register + n)));
      continue;
    }
    if (Get(e, number).home != Home::kCaller) values.push_back(ReadScalar(e, number));
  }
  return values;
}

}  // namespace ptx2cpu::ptx
