#include "tools/harness/compiled_call.h"

#include <cstring>
#include <optional>

#include "ir/function.h"
#include "runtime/entry/entry_point_list.h"
#include "runtime/launch/launch.h"
#include "tools/harness/guarded_copies.h"

namespace ptx2cpu::harness {

Result<CompiledCall> CompiledCall::Make(std::shared_ptr<const ir::Module> module,
                                        lowering::JitOptions options) {
  CompiledCall call;
  call.module_ = std::move(module);
  call.options_ = std::move(options);
  call.options_.entry_points = rt::EntryPoints();
  for (const ir::Variable& variable : call.module_->variables)
    call.has_variables_ |= variable.space == ir::Space::kGlobal || variable.space == ir::Space::kConst;
  TRY_STATUS(call.Compile());
  return call;
}

Result<lowering::JitOptions> OptionsFor(const VectorForm& form, int optimisation) {
  lowering::JitOptions jit;
  jit.optimisation = optimisation;
  jit.lane_width = form.width;
  const std::string_view target = form.target;
  const lowering::Target native = TRY(lowering::ResolveTarget("native"));
  const bool runs = target == "x86-64-v3"   ? native.features.find("+avx2,") != std::string::npos
                    : target == "x86-64-v2" ? native.features.find("+sse4.2,") != std::string::npos
                                            : false;
  if (runs) jit.target = TRY(lowering::ResolveTarget(target));
  return jit;
}

std::string NameOf(const VectorForm& form) {
  return (form.width == 0 ? "chosen width" : "width " + std::to_string(form.width)) +
         (*form.target == 0 ? std::string() : std::string(", ") + form.target);
}

Status CompiledCall::Compile() {
  jit_ = TRY(lowering::Jit::Create(options_));
  code_ = TRY(jit_->Add(*module_));
  return {};
}

Status CompiledCall::Run(KernelCall& call, unsigned max_workers) {
  if (used_ && has_variables_) TRY_STATUS(Compile());  // variables as at load
  used_ = true;
  for (const auto& [name, data] : call.variables) {
    std::byte* address = jit_->Variable(name);
    if (address == nullptr) return Fail(ErrorCode::kNotFound, "no module variable '" + name + "'");
    std::memcpy(address, data.data(), data.size());
  }
  ImageScope images(call);
  TRY_STATUS(images.Bind([&](const std::string& name) { return jit_->Variable(name); }));
  return RunDescriptor(*code_.kernel, module_->functions[0].params, call, max_workers);
}

Status RunDescriptor(const ptx2cpu_kernel& kernel, const std::vector<ir::Param>& params, KernelCall& call,
                     unsigned max_workers) {
  std::optional<ImageScope> images;
  if (call.images == nullptr) images.emplace(call);
  const GuardedCopies copies(call);
  const std::vector<std::byte> buffer =
      TRY(PackParameters(params, kernel.parameter_bytes, call, copies.addresses()));
  rt::LaunchShape shape{
      {call.grid.x, call.grid.y, call.grid.z}, {call.block.x, call.block.y, call.block.z}, call.shared_bytes};
  if (call.cluster.x != 0) shape.cluster = {call.cluster.x, call.cluster.y, call.cluster.z};
  const auto fault =
      rt::Launch(kernel, shape, buffer,
                 {max_workers, [&](std::string_view text) { call.printed += text; }, call.cooperative});
  if (!fault) return {};
  return Fail(fault->kind == rt::LaunchError::Kind::kFault ? ErrorCode::kFault : ErrorCode::kLaunch,
              fault->message);
}

}  // namespace ptx2cpu::harness
