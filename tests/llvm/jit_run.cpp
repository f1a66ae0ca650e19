#include "tests/llvm/jit_run.h"

#include <catch2/catch.hpp>

#include "ir/function.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::llvm_test {

Result<std::shared_ptr<JitKernel>> JitKernel::Create(const BuiltKernel& module,
                                                     lowering::JitOptions options) {
  auto self = std::make_shared<JitKernel>();
  self->module_ = module;
  if (options.entry_points.empty()) options.entry_points = EntryPoints();
  self->jit_ = TRY(lowering::Jit::Create(std::move(options)));
  self->kernel_ = TRY(self->jit_->Add(self->module()));
  for (const ir::Variable& variable : self->module().variables) {
    const std::byte* at = self->jit_->Variable(variable.name);
    if (at != nullptr)
      self->initial_.push_back({at, at + variable.size});
    else
      self->initial_.emplace_back();
  }
  return self;
}

JitKernel::~JitKernel() = default;

Status JitKernel::Run(harness::KernelCall& call, unsigned workers) {
  for (size_t i = 0; i < initial_.size(); ++i) {
    if (!initial_[i].empty())
      std::memcpy(jit_->Variable(module().variables[i].name), initial_[i].data(), initial_[i].size());
  }
  for (const auto& [name, data] : call.variables) {
    std::byte* at = jit_->Variable(name);
    if (at == nullptr) return Fail(ErrorCode::kNotFound, "no module variable " + name);
    std::memcpy(at, data.data(), data.size());
  }
  const ir::Function& kernel = *module().FindFunction(kernel_.kernel->name);
  std::vector<std::byte> params = TRY(harness::PackParameters(kernel.params, kernel.param_bytes, call));
  rt::LaunchOptions options;
  options.max_workers = workers;
  options.print = [&](std::string_view text) { call.printed += text; };
  rt::LaunchShape shape{
      {call.grid.x, call.grid.y, call.grid.z}, {call.block.x, call.block.y, call.block.z}, call.shared_bytes};
  auto error = rt::Launch(*kernel_.kernel, shape, params, options);
  if (!error) return {};
  Error failure{error->kind == rt::LaunchError::Kind::kFault ? ErrorCode::kFault : ErrorCode::kLaunch,
                error->message};
  failure.at.line = error->ptx_line;
  if (auto position = error->pc != 0 ? jit_->LineOf(error->pc) : std::nullopt)
    failure.at.line = position->ptx_line;
  return Fail(std::move(failure));
}

SharedKernel CompileText(const std::string& text, const lowering::JitOptions& options) {
  auto kernel = JitKernel::Create(BuildKernel(text, "k"), options);
  if (!kernel) FAIL(text << kernel.error().Render());
  return *kernel;
}

void RunOrFail(JitKernel& kernel, harness::KernelCall& call, unsigned workers) {
  const Status status = kernel.Run(call, workers);
  if (!status) FAIL(status.error().Render());
}

rt::Argument MixedWords(size_t count, size_t first) {
  auto argument = rt::ParseSpec("inout:u32:[0]");
  REQUIRE(argument);
  argument->data.resize(4 * count);
  for (size_t i = 0; i < count; ++i) {
    const auto word = static_cast<uint32_t>((first + i) * 2654435761u);
    std::memcpy(&argument->data[4 * i], &word, 4);
  }
  return std::move(*argument);
}

}  // namespace ptx2cpu::llvm_test
