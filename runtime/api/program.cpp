#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>

#include "lowering/compile.h"
#include "lowering/llvm/jit.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/api/ptx2cpu.h"
#include "runtime/launch.h"

namespace ptx2cpu {

namespace {

std::vector<lowering::EntryPoint> EntryPoints() {
  return {
#define ENTRY(result, name, parameters, meaning) {#name, reinterpret_cast<void*>(&name)},
#include "runtime/abi/entry_points.def"
#undef ENTRY
  };
}

constexpr std::pair<std::string_view, lowering::Tier> kTiers[] = {{"auto", lowering::Tier::kAuto},
                                                                  {"flat", lowering::Tier::kFlat},
                                                                  {"warp", lowering::Tier::kWarp},
                                                                  {"resumable", lowering::Tier::kResumable},
                                                                  {"lanes", lowering::Tier::kLanes}};

// One PTX module of the file: parsed and given a JIT when its first kernel is asked for.
class LoadedModule {
 public:
  LoadedModule(std::string name, std::string text, bool contract, std::vector<std::string> kernels)
      : name_(std::move(name)), text_(std::move(text)), contract_(contract), kernels_(std::move(kernels)) {}

  const std::vector<std::string>& kernels() const { return kernels_; }
  const std::string& name() const { return name_; }
  lowering::Jit& jit() { return *jit_; }

  // Parses and creates the JIT; once.
  Status Prepare(const LoadOptions& options) {
    std::lock_guard lock(mutex_);
    if (jit_ != nullptr) return {};
    ptx_ = std::make_unique<lowering::PtxModule>(TRY(lowering::PtxModule::Parse(text_, name_)));
    lowering::JitOptions jit;
    jit.entry_points = EntryPoints();
    jit.optimisation = static_cast<int>(options.opt_level);
    jit_ = TRY(lowering::Jit::Create(std::move(jit)));
    return {};
  }

  struct Built {
    ir::Module module;
    lowering::CompiledKernel code;
  };
  Result<Built> Compile(const std::string& kernel, const LoadOptions& options) { return Compile(kernel, OptionsOf(options)); }
  Result<Built> Compile(const std::string& kernel, const lowering::BuildOptions& build) {
    Built built;
    built.module = TRY(ptx_->Build(kernel, build));
    built.code = TRY(jit_->Add(built.module, kernel));
    return built;
  }

  // Code for blocks of one shape, where that is better than the code for any; else nothing.
  Result<std::optional<lowering::CompiledKernel>> Specialise(const std::string& kernel, const LoadOptions& options, Extent block) {
    const lowering::BuildOptions build = TRY(ptx_->ForShape(kernel, OptionsOf(options), {block.x, block.y, block.z}));
    if (!build.pipeline.passes.launch) return std::nullopt;
    return TRY(Compile(kernel, build)).code;
  }

  lowering::BuildOptions OptionsOf(const LoadOptions& options) const {
    lowering::BuildOptions build;
    build.contract = contract_;
    build.pipeline.verify_each = false;
    if (options.collapse == "flat") build.pipeline.passes.collapse = lowering::CollapseForm::kFlat;
    if (options.collapse == "hierarchical") build.pipeline.passes.collapse = lowering::CollapseForm::kHierarchical;
    for (const auto& [name, tier] : kTiers) {
      if (options.exec == name) build.pipeline.passes.tier = tier;
    }
    return build;
  }

  // Storage exists once a kernel of the module has been compiled: a module has it whole, so any kernel will do.
  Result<std::optional<std::span<std::byte>>> VariableStorage(std::string_view name, const LoadOptions& options) {
    if (kernels_.empty()) return std::nullopt;
    if (variable_sizes_.empty()) {
      const Built built = TRY(Compile(kernels_[0], options));
      for (const ir::Variable& variable : built.module.variables) variable_sizes_[variable.name] = variable.size;
    }
    const auto found = variable_sizes_.find(std::string(name));
    std::byte* address = found == variable_sizes_.end() ? nullptr : jit_->Variable(name);
    if (address == nullptr) return std::nullopt;
    return std::span(address, found->second);
  }

  // Fills in the PTX line of a fault and the line itself.
  void Locate(const rt::LaunchError& fault, Error& error) const {
    uint32_t line = fault.ptx_line;
    if (line == 0 && fault.pc != 0) {
      if (const auto position = jit_->LineOf(fault.pc)) line = position->ptx_line;
    }
    if (line == 0) return;
    error.at = {name_, line, 0};
    size_t begin = 0;
    for (uint32_t i = 1; i < line && begin != std::string::npos; ++i) begin = text_.find('\n', begin) == std::string::npos ? std::string::npos : text_.find('\n', begin) + 1;
    if (begin != std::string::npos) error.excerpt = text_.substr(begin, text_.find('\n', begin) - begin);
  }

 private:
  const std::string name_, text_;
  const bool contract_;
  const std::vector<std::string> kernels_;
  std::mutex mutex_;
  std::unique_ptr<lowering::PtxModule> ptx_;
  std::unique_ptr<lowering::Jit> jit_;
  std::map<std::string, uint64_t> variable_sizes_;
};

Status CheckOptions(const LoadOptions& options) {
  const auto named = [&](const auto& tier) { return tier.first == options.exec; };
  if (std::none_of(std::begin(kTiers), std::end(kTiers), named)) {
    return Fail(ErrorCode::kUsage, "LoadOptions::exec is auto, flat, warp, resumable or lanes, not '" + options.exec + "'");
  }
  if (options.collapse != "auto" && options.collapse != "flat" && options.collapse != "hierarchical") {
    return Fail(ErrorCode::kUsage, "LoadOptions::collapse is auto, flat or hierarchical, not '" + options.collapse + "'");
  }
  if (options.opt_level > 3) return Fail(ErrorCode::kUsage, "LoadOptions::opt_level is 0 to 3");
  return {};
}

}  // namespace

struct Kernel::State {
  std::shared_ptr<LoadedModule> module;
  lowering::CompiledKernel code;
  std::string name;
  std::vector<Parameter> parameters;
  double compile_milliseconds = 0;
  LoadOptions options;

  // The code for blocks of this shape. Resumable code may have a better form when the shape is known.
  Result<const ptx2cpu_kernel*> CodeFor(Extent block) const {
    if (code.kernel->run_step == nullptr) return code.kernel;
    std::lock_guard lock(mutex);
    const std::array<uint32_t, 3> key{block.x, block.y, block.z};
    if (const auto found = shapes.find(key); found != shapes.end()) return found->second;
    if (shapes.size() == kMostShapes) return code.kernel;
    const auto special = TRY(module->Specialise(name, options, block));
    return shapes[key] = special ? special->kernel : code.kernel;
  }

 private:
  static constexpr size_t kMostShapes = 16;  // beyond: the code for any shape
  mutable std::mutex mutex;
  mutable std::map<std::array<uint32_t, 3>, const ptx2cpu_kernel*> shapes;
};

struct Program::State {
  LoadOptions options;
  std::vector<std::shared_ptr<LoadedModule>> modules;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Kernel::State>> kernels;  // compiled, by PTX name
};

const std::string& Kernel::name() const { return state_->name; }
std::span<const Parameter> Kernel::parameters() const { return state_->parameters; }
uint32_t Kernel::parameter_bytes() const { return state_->code.kernel->parameter_bytes; }
uint32_t Kernel::static_shared_bytes() const { return state_->code.kernel->static_shared_bytes; }
double Kernel::compile_milliseconds() const { return state_->compile_milliseconds; }

Result<size_t> Kernel::Place(size_t index, size_t size) const {
  const Parameter& parameter = state_->parameters[index];
  if (parameter.size == size) return parameter.offset;
  return Fail(ErrorCode::kUsage, "kernel '" + name() + "': argument " + std::to_string(index) + " is " + std::to_string(size) +
                                     " bytes, parameter '" + parameter.name + "' takes " + std::to_string(parameter.size));
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
  if (auto error = rt::CheckShape(*code, launch, code->parameter_bytes)) return Fail(ErrorCode::kLaunch, error->message);
  return rt::MaxCooperativeBlocks(*code, launch);
}

Status Kernel::LaunchPacked(const Shape& shape, std::span<const std::byte> buffer) const {
  const ptx2cpu_kernel* code = TRY(state_->CodeFor(shape.block));
  const auto fault = rt::Launch(*code, ShapeOf(shape), buffer, {shape.max_workers, shape.print, shape.cooperative});
  if (!fault) return {};
  Error error{fault->kind == rt::LaunchError::Kind::kFault ? ErrorCode::kFault : ErrorCode::kLaunch, fault->message};
  if (fault->kind == rt::LaunchError::Kind::kFault) state_->module->Locate(*fault, error);
  return Fail(std::move(error));
}

Result<Program> Program::Load(const std::filesystem::path& file, const LoadOptions& options) {
  TRY_STATUS(CheckOptions(options));
  const ptx::Extraction extraction = TRY(ptx::ExtractFile(file));
  std::vector<ptx::PtxImage> images = TRY(ptx::PtxImages(extraction, std::nullopt, {.sm = options.sm}));
  Program program;
  program.state_ = std::make_shared<State>();
  program.state_->options = options;
  for (ptx::PtxImage& image : images) {
    std::string name = file.string();
    if (extraction.file_kind != ptx::Extraction::FileKind::kPtx) name += "(" + extraction.containers[image.image->container_index].Where() + "," + image.image->Target() + ")";
    program.state_->modules.push_back(std::make_shared<LoadedModule>(std::move(name), std::move(image.text), image.options.fmad, std::move(image.kernels)));
  }
  return program;
}

Result<Program> Program::FromPtx(std::string text, std::string name, const LoadOptions& options) {
  TRY_STATUS(CheckOptions(options));
  Program program;
  program.state_ = std::make_shared<State>();
  program.state_->options = options;
  std::vector<std::string> kernels = ptx::EntryNames(text);
  program.state_->modules.push_back(std::make_shared<LoadedModule>(std::move(name), std::move(text), true, std::move(kernels)));
  return program;
}

std::vector<std::string> Program::KernelNames() const {
  std::vector<std::string> names;
  for (const auto& module : state_->modules) names.insert(names.end(), module->kernels().begin(), module->kernels().end());
  return names;
}

Result<Kernel> Program::Get(std::string_view wanted) const {
  const std::vector<std::string> names = KernelNames();
  const std::optional<std::string> name = ptx::MatchKernel(names, wanted);
  if (!name) {
    Error error{ErrorCode::kNotFound, "no kernel '" + std::string(wanted) + "'"};
    for (size_t i = 0; i < names.size() && i < 20; ++i) error.hint += (i == 0 ? "kernels: " : ", ") + names[i];
    return Fail(std::move(error));
  }
  std::lock_guard lock(state_->mutex);
  if (const auto found = state_->kernels.find(*name); found != state_->kernels.end()) return Kernel(found->second);
  const auto start = std::chrono::steady_clock::now();
  for (const auto& module : state_->modules) {
    if (std::find(module->kernels().begin(), module->kernels().end(), *name) == module->kernels().end()) continue;
    TRY_STATUS(module->Prepare(state_->options));
    LoadedModule::Built built = TRY(module->Compile(*name, state_->options));
    auto kernel = std::make_shared<Kernel::State>();
    kernel->module = module;
    kernel->code = built.code;
    kernel->name = *name;
    kernel->options = state_->options;
    for (const ir::Param& param : built.module.functions[0].params) kernel->parameters.push_back({param.name, param.offset, param.size, param.align});
    kernel->compile_milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    state_->kernels[*name] = kernel;
    return Kernel(std::move(kernel));
  }
  return Fail(ErrorCode::kNotFound, "no kernel '" + *name + "'");
}

Result<std::span<std::byte>> Program::Variable(std::string_view name) const {
  std::lock_guard lock(state_->mutex);
  for (const auto& module : state_->modules) {
    TRY_STATUS(module->Prepare(state_->options));
    if (const auto storage = TRY(module->VariableStorage(name, state_->options))) return *storage;
  }
  return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
}

}  // namespace ptx2cpu
