#include "ptx-parser/translate/module_frame.h"

#include <algorithm>

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx {

namespace {

constexpr uint32_t kModuleFrameAlign = 16, kModuleRegisterBytes = 16;

uint32_t AlignedUp(uint32_t bytes, uint32_t align) { return (bytes + align - 1) / align * align; }

uint32_t BytesOf(const ast::Module& module, const ast::Variable& variable) {
  if (variable.space == ast::Space::kReg) return ast::RegisterCount(variable) * kModuleRegisterBytes;
  return static_cast<uint32_t>(ByteSize(module, variable));
}

bool IsPrivate(const ast::Variable& variable) {
  return variable.space == ast::Space::kReg || variable.space == ast::Space::kLocal;
}

// Calls `use` with each variable and its offset until it returns false. Returns the bytes of the variables
// before that one.
template <typename Use>
uint32_t Walk(const ast::Module& module, const Use& use) {
  uint32_t end = 0;
  for (uint32_t number : module.globals) {
    const ast::Variable& variable = module.variables[number];
    if (!IsPrivate(variable)) continue;
    const uint32_t align =
        variable.space == ast::Space::kReg ? kModuleRegisterBytes : std::max(Alignment(variable), 1u);
    const uint32_t offset = AlignedUp(end, align);
    if (!use(number, offset)) return end;
    end = offset + BytesOf(module, variable);
  }
  return end;
}

}  // namespace

bool SharesPrivate(const ast::Module& module) {
  return std::ranges::any_of(module.functions, [](const ast::Function& function) {
    return !function.is_entry && function.has_body && function.shared_private_use.line != 0;
  });
}

Status CheckModuleFrame(const ModuleContext& context, const ast::Function& function) {
  if (context.out.parts.empty() || !SharesPrivate(context.ast)) return {};
  return Fail(ast::ErrorAt(context.ast, function.position, ErrorCode::kUnsupported,
                           "registers or .local variables of the module that functions share are not "
                           "translated where several modules are linked",
                           "pass the values as parameters"));
}

void ReserveModuleFrame(const ast::Module& module, ir::Function& kernel) {
  if (!SharesPrivate(module)) return;
  kernel.local_bytes = AlignedUp(Walk(module, [](uint32_t, uint32_t) { return true; }), kModuleFrameAlign);
  kernel.locals.push_back({"module", kernel.local_bytes, kModuleFrameAlign, 0});
}

std::optional<uint32_t> OffsetInModuleFrame(const ast::Module& module, uint32_t variable) {
  if (module.variables[variable].function != ast::kNone || !SharesPrivate(module)) return std::nullopt;
  std::optional<uint32_t> found;
  Walk(module, [&](uint32_t number, uint32_t offset) {
    if (number == variable) found = offset;
    return !found;
  });
  return found;
}

namespace {

using ir::Type;
using ir::ValueId;

// Calls `use` with each register's number, its type in memory, and its address.
template <typename Use>
void ForModuleRegisters(Emitter& e, const Use& use) {
  for (const ast::RegisterRange& range : e.source.register_ranges) {
    const std::optional<uint32_t> offset = OffsetInModuleFrame(e.ast, range.variable);
    for (uint32_t n = 0; offset && n < range.count; ++n) {
      const Type type = e.ssa.TypeOf(range.first + n);
      use(range.first + n, type == Type::kI1 ? Type::kI8 : type,
          e.Const(Type::kI64, *offset + n * kModuleRegisterBytes));
    }
  }
}

}  // namespace

void LoadModuleRegisters(Emitter& e) {
  ForModuleRegisters(e, [&](uint32_t number, Type type, ValueId address) {
    ValueId value = e.b.LoadVector(type, ir::Space::kLocal, address, 1)[0];
    if (e.ssa.TypeOf(number) == Type::kI1) value = e.b.Icmp(ir::Compare::kNe, value, e.Const(Type::kI8, 0));
    e.WriteVariable(number, value);
  });
}

void StoreModuleRegisters(Emitter& e) {
  ForModuleRegisters(e, [&](uint32_t number, Type type, ValueId address) {
    ValueId value = e.ReadVariable(number);
    if (e.f.type_of(value) == Type::kI1) value = e.b.Convert(ir::Opcode::kZext, Type::kI8, value);
    e.b.Store(type, ir::Space::kLocal, address, {value});
  });
}

}  // namespace ptx2cpu::ptx
