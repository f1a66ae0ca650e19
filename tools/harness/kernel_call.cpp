#include "tools/harness/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/abi/abi.h"
#include "tools/harness/image_services.h"

namespace ptx2cpu::harness {

Result<std::vector<std::byte>> PackParameters(const std::vector<ir::Param>& params, uint32_t param_bytes,
                                              KernelCall& call, std::span<std::byte* const> copies) {
  const auto count = static_cast<size_t>(std::count_if(
      call.arguments.begin(), call.arguments.end(), [](const rt::Argument& a) { return a.IsParameter(); }));
  if (params.size() != count) {
    Error error{ErrorCode::kUsage,
                fmt::format("the kernel takes {} arguments, got {}", params.size(), count)};
    for (const ir::Param& param : params)
      error.hint +=
          fmt::format("{}{} ({} bytes)", error.hint.empty() ? "parameters: " : ", ", param.name, param.size);
    return Fail(std::move(error));
  }
  std::vector<std::byte> buffer(param_bytes);
  for (size_t i = 0; i < params.size(); ++i) {
    const ir::Param& param = params[i];
    rt::Argument& argument = call.arguments[i];
    const bool is_address = argument.IsBuffer() || argument.IsImage();
    const size_t size = is_address ? sizeof(void*) : argument.data.size();
    if (size != param.size) {
      return Fail(ErrorCode::kUsage, fmt::format("argument {} is {} bytes, parameter '{}' takes {}", i, size,
                                                 param.name, param.size));
    }
    if (argument.IsImage()) {
      CHECK(call.images != nullptr, "images are made before the parameters");
      const uint64_t handle = call.images->handle(i);
      std::memcpy(&buffer[param.offset], &handle, sizeof handle);
    } else if (argument.IsBuffer()) {
      void* address = copies.empty() ? argument.data.data() : copies[i];
      std::memcpy(&buffer[param.offset], &address, sizeof address);
    } else if (size != 0) {
      std::memcpy(&buffer[param.offset], argument.data.data(), size);
    }
  }
  return buffer;
}

ImageScope::ImageScope(KernelCall& call) : call_(call) {
  call_.images = std::make_shared<Images>(call_.arguments);
}

ImageScope::~ImageScope() {
  for (std::byte* address : bound_) std::memset(address, 0, sizeof(uint64_t));
  call_.images->Leave(call_.arguments);
  call_.images.reset();
}

Status ImageScope::Bind(const std::function<std::byte*(const std::string& name)>& find) {
  for (size_t i = 0; i < call_.arguments.size(); ++i) {
    if (call_.arguments[i].IsParameter()) continue;
    const std::string& name = call_.arguments[i].image->name;
    std::byte* address = find(name);
    if (address == nullptr) return Fail(ErrorCode::kNotFound, fmt::format("no module variable '{}'", name));
    const uint64_t handle = call_.images->handle(i);
    std::memcpy(address, &handle, sizeof handle);
    bound_.push_back(address);
  }
  return {};
}

namespace {

const ir::ImageServices kImageServices = {
    .texture_bytes = sizeof(ptx2cpu_texture),
    .surface_bytes = sizeof(ptx2cpu_surface),
    .fetch =
        [](uint64_t texture, uint64_t sampler, uint32_t fetch, const uint32_t* words, uint32_t* result) {
          ptx2cpu_texture_fetch(reinterpret_cast<const ptx2cpu_texture*>(texture), sampler, fetch, words,
                                result);
        },
    .query = ptx2cpu_image_query,
    .address =
        [](uint64_t surface, uint32_t x, uint32_t y, uint32_t z, uint32_t access) {
          return ptx2cpu_surface_address(reinterpret_cast<const ptx2cpu_surface*>(surface), x, y, z, access);
        },
    .store =
        [](uint64_t surface, uint64_t address, const uint32_t* c) {
          ptx2cpu_surface_store(reinterpret_cast<const ptx2cpu_surface*>(surface), address, c[0], c[1], c[2],
                                c[3]);
        },
};

Status SetVariables(const ir::Module& module, const KernelCall& call, const ir::ModuleStorage& storage) {
  for (const auto& [name, data] : call.variables) {
    bool found = false;
    for (uint32_t i = 0; i < module.variables.size(); ++i) {
      if (module.variables[i].name != name) continue;
      if (module.variables[i].size != data.size())
        return Fail(ErrorCode::kUsage, fmt::format("variable '{}' has {} bytes, got {}", name,
                                                   module.variables[i].size, data.size()));
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
  ImageScope images(call);
  TRY_STATUS(images.Bind([&](const std::string& name) -> std::byte* {
    for (uint32_t i = 0; i < module.variables.size(); ++i)
      if (module.variables[i].name == name) return storage.Address(i);
    return nullptr;
  }));
  const std::vector<std::byte> params = TRY(PackParameters(kernel.params, kernel.param_bytes, call));
  ir::InterpretOptions options;
  options.grid = call.grid;
  options.block = call.block;
  options.cluster = call.cluster;
  options.cooperative = call.cooperative;
  options.dynamic_shared_bytes = call.shared_bytes;
  options.slice = turns.slice;
  options.backwards = turns.backwards;
  options.instruction_limit = turns.instruction_limit;
  options.fill = turns.fill;
  options.print = [&](std::string_view text) { call.printed += text; };
  options.images = &kImageServices;
  options.allowed = call.images->Memory();
  options.allowed.emplace_back();  // never empty: a wild address is a fault, not a crash
  for (rt::Argument& argument : call.arguments) {
    if (argument.IsBuffer()) options.allowed.emplace_back(argument.data.data(), argument.data.size());
  }
  return ir::Interpret(module, kernel, storage, params, options);
}

const ir::ImageServices& InterpreterImages() { return kImageServices; }

}  // namespace ptx2cpu::harness
