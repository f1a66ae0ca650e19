// Calls of functions with a body, and of the device runtime's functions that PTX only declares.
#include <fmt/format.h>

#include <cstdio>

#include "ir/external_functions.h"
#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

// A declaration may have its definition elsewhere in the module.
const Function* FindDefinition(const Module& module, const Function& declared) {
  if (!declared.is_declaration) return &declared;
  for (const Function& function : module.functions) {
    if (!function.is_declaration && function.name == declared.name) return &function;
  }
  return nullptr;
}

Status Enter(Step& s, const Function& callee, size_t first_operand) {
  const Function* body = FindDefinition(s.machine.module, callee);
  if (body == nullptr) return CallExternal(s, callee, first_operand);
  const std::vector<ValueId>& params = body->at_block(body->entry).params;
  size_t count = s.inst.operands.size() - first_operand;
  if (params.size() != count) {
    return s.Fault(
        fmt::format("call of {} passes {} arguments, it takes {}", body->name, count, params.size()));
  }
  TRY_STATUS(s.machine.PushFrame(s, *body));
  for (size_t i = 0; i < count; ++i) Write(s.thread.frame(), params[i], s.Operand(first_operand + i));
  return {};
}

}  // namespace

Status ExecuteCall(Step& s) { return Enter(s, s.machine.module.functions[s.inst.attrs.index], 0); }

Status ExecuteCallIndirect(Step& s) {
  uint64_t address = s.Operand64(0);
  for (const Function& function : s.machine.module.functions) {
    if (!function.is_kernel && AddressOfFunction(function.name) == address) return Enter(s, function, 1);
  }
  return s.Fault(fmt::format("indirect call of address {:#x}, which is not a function", address));
}

Status ExecuteNanosleep(Step& s) {
  s.thread.budget = 0;
  return {};
}

namespace {

Status CallVprintf(Step& s, size_t first) {
  uint64_t format = s.Operand64(first), arguments = s.Operand64(first + 1);
  int count = -1;
  if (format != 0) {
    std::string text = TRY(FormatPrintf(s, format, arguments, &count));
    if (s.machine.options.print) {
      s.machine.options.print(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  }
  if (!s.inst.results.empty()) s.Return(static_cast<Bits128>(Signed128{count}));
  return {};
}

Status CallMalloc(Step& s, size_t first) {
  std::byte* memory = s.machine.storage.Allocate(s.Operand64(first));
  s.Return(reinterpret_cast<uint64_t>(memory));
  return {};
}

Status CallAlignedMalloc(Step& s, size_t first) {
  const uint64_t align = s.Operand64(first + 1);
  if (align > 4096 || (align & (align - 1)) != 0) {
    s.Return(0);
    return {};
  }
  s.Return(reinterpret_cast<uint64_t>(s.machine.storage.Allocate(s.Operand64(first), align)));
  return {};
}

Status CallFree(Step& s, size_t first) {
  auto* address = reinterpret_cast<std::byte*>(s.Operand64(first));
  if (address != nullptr && !s.machine.storage.Free(address)) {
    return s.Fault(fmt::format("free of {:#x}, which malloc did not return", s.Operand64(first)));
  }
  return {};
}

// Parameters: message, file, line, function, bytes per character.
Status CallAssertFail(Step& s, size_t first) {
  std::string message = TRY(ReadText(s, s.Operand64(first)));
  std::string file = TRY(ReadText(s, s.Operand64(first + 1)));
  std::string function = TRY(ReadText(s, s.Operand64(first + 3)));
  return s.Fault(
      fmt::format("{}:{}: {}: assertion `{}` failed", file, s.Operand32(first + 2), function, message));
}

struct External {
  std::string_view name;
  size_t arguments, results;
  Status (*call)(Step&, size_t first);
};

constexpr External kExternals[] = {
#define EXTERNAL(name, function, arguments, results, meaning) {#name, arguments, results, Call##function},
#include "ir/external_functions.def"
#undef EXTERNAL
};

}  // namespace

Status CallExternal(Step& s, const Function& callee, size_t first_operand) {
  size_t arguments = s.inst.operands.size() - first_operand;
  for (const External& external : kExternals) {
    if (external.name != callee.name) continue;
    if (arguments < external.arguments || s.inst.results.size() > external.results) {
      return s.Fault(fmt::format("call of {} with {} arguments and {} results", callee.name, arguments,
                                 s.inst.results.size()));
    }
    return external.call(s, first_operand);
  }
  Error error = s.Fault(fmt::format("call of {}, which is declared but not defined", callee.name)).error();
  error.code = ErrorCode::kUnsupported;
  error.hint = "known without a definition are " + ExternalFunctionNames();
  return Fail(std::move(error));
}

}  // namespace ptx2cpu::ir::interpret
