#include "tools/harness/kernel_call.h"

#include <fmt/format.h>

#include <cstring>

namespace ptx2cpu::harness {

Result<std::vector<std::byte>> PackParameters(const std::vector<ir::Param>& params, uint32_t param_bytes, KernelCall& call) {
  if (params.size() != call.arguments.size()) {
    Error error{ErrorCode::kUsage, fmt::format("the kernel takes {} arguments, got {}", params.size(), call.arguments.size())};
    for (const ir::Param& param : params) error.hint += fmt::format("{}{} ({} bytes)", error.hint.empty() ? "parameters: " : ", ", param.name, param.size);
    return Fail(std::move(error));
  }
  std::vector<std::byte> buffer(param_bytes);
  for (size_t i = 0; i < params.size(); ++i) {
    const ir::Param& param = params[i];
    rt::Argument& argument = call.arguments[i];
    const size_t size = argument.IsBuffer() ? sizeof(void*) : argument.data.size();
    if (size != param.size) {
      return Fail(ErrorCode::kUsage, fmt::format("argument {} is {} bytes, parameter '{}' takes {}", i, size, param.name, param.size));
    }
    if (argument.IsBuffer()) {
      void* address = argument.data.data();
      std::memcpy(&buffer[param.offset], &address, sizeof address);
    } else if (size != 0) {
      std::memcpy(&buffer[param.offset], argument.data.data(), size);
    }
  }
  return buffer;
}

namespace {

Status SetVariables(const ir::Module& module, const KernelCall& call, const ir::ModuleStorage& storage) {
  for (const auto& [name, data] : call.variables) {
    bool found = false;
    for (uint32_t i = 0; i < module.variables.size(); ++i) {
      if (module.variables[i].name != name) continue;
      if (module.variables[i].size != data.size()) return Fail(ErrorCode::kUsage, fmt::format("variable '{}' has {} bytes, got {}", name, module.variables[i].size, data.size()));
      std::memcpy(storage.Address(i), data.data(), data.size());
      found = true;
    }
    if (!found) return Fail(ErrorCode::kNotFound, fmt::format("no module variable '{}'", name));
  }
  return {};
}

}  // namespace

Status RunInterpreter(const ir::Module& module, KernelCall& call, Turns turns) {
  const ir::Function& kernel = module.functions[0];
  ir::ModuleStorage storage(module);
  TRY_STATUS(SetVariables(module, call, storage));
  const std::vector<std::byte> params = TRY(PackParameters(kernel.params, kernel.param_bytes, call));
  ir::InterpretOptions options;
  options.grid = call.grid;
  options.block = call.block;
  options.cluster = call.cluster;
  options.cooperative = call.cooperative;
  options.dynamic_shared_bytes = call.shared_bytes;
  options.slice = turns.slice;
  options.backwards = turns.backwards;
  options.print = [&](std::string_view text) { call.printed += text; };
  options.allowed.emplace_back();  // never empty: a wild address is a fault, not a crash
  for (rt::Argument& argument : call.arguments) {
    if (argument.IsBuffer()) options.allowed.emplace_back(argument.data.data(), argument.data.size());
  }
  return ir::Interpret(module, kernel, storage, params, options);
}

}  // namespace ptx2cpu::harness
