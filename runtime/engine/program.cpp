#include <algorithm>
#include <atomic>
#include <chrono>

#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/images.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/engine/ptx2cpu.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu {

namespace {

constexpr std::pair<std::string_view, lowering::Tier> kTiers[] = {{"auto", lowering::Tier::kAuto},
                                                                  {"flat", lowering::Tier::kFlat},
                                                                  {"warp", lowering::Tier::kWarp},
                                                                  {"resumable", lowering::Tier::kResumable},
                                                                  {"lanes", lowering::Tier::kLanes}};

Status CheckOptions(const LoadOptions& options) {
  const auto named = [&](const auto& tier) { return tier.first == options.exec; };
  if (std::none_of(std::begin(kTiers), std::end(kTiers), named)) {
    return Fail(ErrorCode::kUsage,
                "LoadOptions::exec is auto, flat, warp, resumable or lanes, not '" + options.exec + "'");
  }
  if (options.collapse != "auto" && options.collapse != "flat" && options.collapse != "hierarchical") {
    return Fail(ErrorCode::kUsage,
                "LoadOptions::collapse is auto, flat or hierarchical, not '" + options.collapse + "'");
  }
  if (options.opt_level > 3) return Fail(ErrorCode::kUsage, "LoadOptions::opt_level is 0 to 3");
  if (!options.matrix_sums.empty() && options.matrix_sums != "recorded" && options.matrix_sums != "chained")
    return Fail(ErrorCode::kUsage,
                "LoadOptions::matrix_sums is recorded, chained or empty, not '" + options.matrix_sums + "'");
  if (!lowering::IsLaneWidth(options.width))
    return Fail(ErrorCode::kUsage, "LoadOptions::width is 1, 4, 8, 16, 32, 64, or 0 for what suits a loop");
  return {};
}

}  // namespace

struct Kernel::State {
  std::shared_ptr<const rt::KernelCode> code;
  std::vector<Parameter> parameters;
  bool any_order = false;

  Result<const ptx2cpu_kernel*> CodeFor(Extent block, uint64_t blocks = 1) const {
    return code->ForBlock({block.x, block.y, block.z}, blocks);
  }
};

struct Program::State {
  LoadOptions options;
  std::vector<std::shared_ptr<rt::KernelModule>> modules;

  void Add(rt::ModuleSource source);
};

void Program::State::Add(rt::ModuleSource source) {
  source.options.optimisation = static_cast<int>(options.opt_level);
  source.options.lane_width = options.width;
  if (!options.checks) source.options.checks = 0;
  if (!options.omit.empty()) source.options.omit = options.omit;
  if (options.matrix_sums == "recorded") source.options.matrix_sums = lowering::MatrixSums::kRecorded;
  if (options.matrix_sums == "chained") source.options.matrix_sums = lowering::MatrixSums::kChained;
  if (options.check_alignment) source.options.alignment = lowering::AlignmentChecks::kAtAccess;
  if (options.collapse == "flat") source.options.collapse = lowering::CollapseForm::kFlat;
  if (options.collapse == "hierarchical") source.options.collapse = lowering::CollapseForm::kHierarchical;
  for (const auto& [name, tier] : kTiers) {
    if (options.exec == name) source.options.tier = tier;
  }
  if (options.any_order) source.options.RunInAnyOrder();
  modules.push_back(rt::KernelModule::Make(std::move(source.texts), source.options));
}

const std::string& Kernel::name() const { return state_->code->name(); }
std::span<const Parameter> Kernel::parameters() const { return state_->parameters; }
uint32_t Kernel::parameter_bytes() const { return state_->code->kernel().parameter_bytes; }
uint32_t Kernel::static_shared_bytes() const { return state_->code->kernel().static_shared_bytes; }
double Kernel::compile_milliseconds() const { return state_->code->compile_milliseconds(); }

Result<size_t> Kernel::Place(size_t index, size_t size) const {
  const Parameter& parameter = state_->parameters[index];
  if (parameter.size == size) return parameter.offset;
  return Fail(ErrorCode::kUsage, "kernel '" + name() + "': argument " + std::to_string(index) + " is " +
                                     std::to_string(size) + " bytes, parameter '" + parameter.name +
                                     "' takes " + std::to_string(parameter.size));
}

namespace {
rt::LaunchShape ShapeOf(const Shape& shape) {
  return {{shape.grid.x, shape.grid.y, shape.grid.z},
          {shape.block.x, shape.block.y, shape.block.z},
          shape.shared_bytes,
          {shape.cluster.x, shape.cluster.y, shape.cluster.z}};
}
}  // namespace

Result<uint64_t> Kernel::MaxCooperativeBlocks(const Shape& shape) const {
  const ptx2cpu_kernel* code = TRY(state_->CodeFor(shape.block));
  rt::LaunchShape launch = ShapeOf(shape);
  launch.grid = rt::WithCluster(*code, launch).cluster;
  if (auto error = rt::CheckShape(*code, launch, code->parameter_bytes))
    return Fail(ErrorCode::kLaunch, error->message);
  return rt::MaxCooperativeBlocks(*code, launch);
}

Status Kernel::LaunchPacked(const Shape& shape, std::span<const std::byte> buffer) const {
  const uint64_t blocks = uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  const ptx2cpu_kernel* code = TRY(state_->CodeFor(shape.block, blocks));
  if (buffer.size() == code->parameter_bytes) {
    code =
        TRY(state_->code->ForParameters(code, {shape.block.x, shape.block.y, shape.block.z}, buffer.data()));
  }
  rt::LaterCode* const later =
      state_->code->LaterThan(code, Dim3{shape.block.x, shape.block.y, shape.block.z});
  const auto begin = std::chrono::steady_clock::now();
  auto fault = rt::Launch(
      *code, ShapeOf(shape), buffer,
      {shape.max_workers, shape.print, shape.cooperative, nullptr, later, shape.order, state_->any_order});
  if (later != nullptr)
    later->AddTime(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  if (!fault) return {};
  state_->code->FindThread(ShapeOf(shape), buffer, *fault);
  using Kind = rt::LaunchError::Kind;
  Error error{fault->kind == Kind::kFault      ? ErrorCode::kFault
              : fault->kind == Kind::kInternal ? ErrorCode::kInternal
                                               : ErrorCode::kLaunch,
              fault->message};
  if (fault->kind == rt::LaunchError::Kind::kFault) {
    rt::FaultPlace place = state_->code->module().Locate(*fault);
    error.at = {std::move(place.file), place.line, 0};
    error.excerpt = std::move(place.excerpt);
    if (place.source_line != 0)
      error.message += " (" + place.source_file + ":" + std::to_string(place.source_line) + ")";
  }
  return Fail(std::move(error));
}

Result<Program> Program::Load(const std::filesystem::path& file, const LoadOptions& options) {
  TRY_STATUS(CheckOptions(options));
  Program program;
  program.state_ = std::make_shared<State>();
  program.state_->options = options;
  for (rt::ModuleSource& source : TRY(rt::SourcesInFile(file, options.sm)))
    program.state_->Add(std::move(source));
  return program;
}

Result<Program> Program::FromPtx(std::string text, std::string name, const LoadOptions& options) {
  TRY_STATUS(CheckOptions(options));
  Program program;
  program.state_ = std::make_shared<State>();
  program.state_->options = options;
  program.state_->Add({{{std::move(text), std::move(name)}}, {}});
  return program;
}

Result<Program> Program::Link(std::vector<PtxText> modules, const LoadOptions& options) {
  TRY_STATUS(CheckOptions(options));
  if (modules.empty()) return Fail(ErrorCode::kUsage, "no PTX module to link; pass at least one");
  rt::ModuleSource source;
  for (PtxText& module : modules) source.texts.push_back({std::move(module.text), std::move(module.name)});
  Program program;
  program.state_ = std::make_shared<State>();
  program.state_->options = options;
  program.state_->Add(std::move(source));
  return program;
}

std::vector<std::string> Program::KernelNames() const {
  std::vector<std::string> names;
  for (const auto& module : state_->modules)
    names.insert(names.end(), module->Kernels().begin(), module->Kernels().end());
  return names;
}

Result<Kernel> Program::Get(std::string_view wanted) const {
  const std::vector<std::string> names = KernelNames();
  const std::optional<std::string> name = ptx::MatchKernel(names, wanted);
  if (!name) {
    Error error{ErrorCode::kNotFound, "no kernel '" + std::string(wanted) + "'"};
    for (size_t i = 0; i < names.size() && i < 20; ++i)
      error.hint += (i == 0 ? "kernels: " : ", ") + names[i];
    return Fail(std::move(error));
  }
  for (const auto& module : state_->modules) {
    if (!module->Defines(*name)) continue;
    auto kernel = std::make_shared<Kernel::State>();
    kernel->any_order = state_->options.any_order;
    kernel->code = TRY(module->Compile(*name));
    const ptx2cpu_kernel& code = kernel->code->kernel();
    for (const ptx2cpu_parameter& parameter : std::span(code.parameters, code.parameter_count)) {
      kernel->parameters.push_back({parameter.name, parameter.offset, parameter.size, parameter.align});
    }
    return Kernel(std::move(kernel));
  }
  return Fail(ErrorCode::kNotFound, "no kernel '" + *name + "'");
}

Result<std::span<std::byte>> Program::Variable(std::string_view name) const {
  for (const auto& module : state_->modules) {
    auto storage = module->Variable(name);
    if (storage || storage.error().code != ErrorCode::kNotFound) return storage;
  }
  return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
}

}  // namespace ptx2cpu
