#include "runtime/engine/kernel_module.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "lowering/llvm/output/jit.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/compile_in_background.h"
#include "runtime/engine/compiler.h"
#include "runtime/engine/contained.h"
#include "runtime/engine/text_lines.h"
#include "runtime/launch/device_kernels.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// What good code takes to compile, of what the quick code took: 2 to 5 times as measured. Kept code's time is
// not known.
constexpr double kTimesQuick = 4, kKeptQuickMilliseconds = 75;

struct DeclaredVariables {
  std::vector<ModuleVariable> list;
  std::vector<lowering::VariableImage> images;
};

}  // namespace

struct KernelModule::State {
  State(std::vector<PtxText> texts, ModuleOptions given)
      : source(std::move(texts)), options(given), compiler(source, options) {}

  KernelSource source;
  const ModuleOptions options;
  KernelCompiler compiler;
  std::string name;
  std::vector<std::string> kernels;

  Once<std::unique_ptr<lowering::Jit>> jit;
  Once<DeclaredVariables> variables;
  Once<bool> declared;
  std::atomic<lowering::Jit*> made_jit = nullptr;  // for Locate, which makes none

  std::mutex mutex;  // of the map; each kernel has a lock of its own
  std::map<std::string, std::unique_ptr<Once<std::unique_ptr<KernelCode>>>, std::less<>> codes;

  std::map<std::string, const std::byte*> launchable;  // kernels that kernels name, by what they are named by

  Result<lowering::Jit*> TheJit();
  Result<const DeclaredVariables*> TheVariables();
  Status Declare();
};

Result<lowering::Jit*> KernelModule::State::TheJit() {
  const auto& result = jit.Get([&] {
    auto made = Contained([&] { return MakeJit(options); });
    if (made) made_jit.store(made->get(), std::memory_order_release);
    return made;
  });
  if (!result) return Fail(result.error());
  return result->get();
}

Result<const DeclaredVariables*> KernelModule::State::TheVariables() {
  const auto& result = variables.Get([&]() -> Result<DeclaredVariables> {
    const ir::Module module = TRY(Contained([&] { return source.Variables(); }));
    DeclaredVariables declared;
    for (const ir::Variable& variable : module.variables) {
      if (variable.space != ir::Space::kGlobal && variable.space != ir::Space::kConst) continue;
      using Linkage = ir::Variable::Linkage;
      declared.list.push_back({variable.name, variable.size, variable.align,
                               variable.space == ir::Space::kConst, variable.is_managed,
                               variable.linkage == Linkage::kExtern, variable.linkage == Linkage::kInternal});
    }
    TRY_STATUS(RunContained([&] { declared.images = lowering::DescribeVariables(module); }));
    return declared;
  });
  if (!result) return Fail(result.error());
  return &*result;
}

Status KernelModule::State::Declare() {
  const auto& result = declared.Get([&]() -> Result<bool> {
    lowering::Jit* made = TRY(TheJit());
    const DeclaredVariables* all = TRY(TheVariables());
    TRY_STATUS(Contained([&] { return made->Declare(all->images); }));
    return true;
  });
  if (!result) return Fail(result.error());
  return {};
}

std::shared_ptr<KernelModule> KernelModule::Make(std::vector<PtxText> texts, ModuleOptions options) {
  return std::shared_ptr<KernelModule>(new KernelModule(std::move(texts), options));
}

KernelModule::KernelModule(std::vector<PtxText> texts, ModuleOptions options)
    : state_(std::make_unique<State>(std::move(texts), options)) {
  std::set<std::string> known;
  for (const PtxText& text : state_->source.texts()) {
    state_->name += (state_->name.empty() ? "" : "+") + text.name;
    for (std::string& kernel : ptx::EntryNames(text.text)) {
      // .weak ones may be in several texts.
      if (known.insert(kernel).second) state_->kernels.push_back(std::move(kernel));
    }
  }
}

KernelModule::~KernelModule() {
  for (const auto& [kernel, identity] : state_->launchable) ForgetDeviceKernel(identity);
}

namespace {

// A kernel that another kernel launches is compiled when that happens first.
class LaunchableKernel final : public KernelFinder {
 public:
  LaunchableKernel(std::weak_ptr<KernelModule> module, std::string name)
      : module_(std::move(module)), name_(std::move(name)) {}

  const ptx2cpu_kernel* Find(Dim3 block, const std::byte* parameters, std::string* why) override {
    const std::shared_ptr<KernelModule> module = module_.lock();
    if (module == nullptr) return nullptr;
    const auto code = module->Compile(name_, block);
    auto kernel = code ? (*code)->ForBlock(block) : Result<const ptx2cpu_kernel*>(Fail(code.error()));
    if (kernel && parameters != nullptr) kernel = (*code)->ForParameters(*kernel, block, parameters);
    if (kernel) return *kernel;
    *why = kernel.error().Render();
    return nullptr;
  }

 private:
  const std::weak_ptr<KernelModule> module_;
  const std::string name_;
};

}  // namespace

void KernelModule::RegisterLaunchable() {
  State& s = *state_;
  const lowering::Jit* jit = s.made_jit.load(std::memory_order_acquire);
  if (jit == nullptr) return;
  std::lock_guard lock(s.mutex);
  for (const std::string& kernel : s.kernels) {
    if (s.launchable.contains(kernel)) continue;
    const std::byte* identity = jit->Variable(lowering::IdentityName(kernel));
    if (identity == nullptr) continue;  // no code names it
    s.launchable.emplace(kernel, identity);
    RegisterDeviceKernel(identity, std::make_shared<LaunchableKernel>(weak_from_this(), kernel));
  }
}

const std::vector<std::string>& KernelModule::Kernels() const { return state_->kernels; }
const std::string& KernelModule::name() const { return state_->name; }
uint32_t KernelModule::ptx_version() const { return VersionOf(state_->source.texts()[0].text); }
uint32_t KernelModule::target() const { return TargetOf(state_->source.texts()[0].text); }

bool KernelModule::Defines(std::string_view kernel) const {
  return std::ranges::find(state_->kernels, kernel) != state_->kernels.end();
}

Status KernelModule::Check() {
  return Contained([&]() -> Status { return TRY(state_->source.Whole())->CheckInstructions(); });
}

Result<std::shared_ptr<const KernelCode>> KernelModule::Compile(std::string_view kernel,
                                                                std::optional<Dim3> first_block) {
  State& s = *state_;
  Once<std::unique_ptr<KernelCode>>* once = nullptr;
  {
    std::lock_guard lock(s.mutex);
    auto found = s.codes.find(kernel);
    if (found == s.codes.end())
      found =
          s.codes.emplace(std::string(kernel), std::make_unique<Once<std::unique_ptr<KernelCode>>>()).first;
    once = found->second.get();
  }
  const auto& result = once->Get([&]() -> Result<std::unique_ptr<KernelCode>> {
    const auto start = Clock::now();
    auto code = std::make_unique<KernelCode>(*this, std::string(kernel));
    TRY_STATUS(code->Begin(first_block));
    RegisterLaunchable();
    code->milliseconds_ = MillisecondsSince(start);
    return code;
  });
  if (!result) return Fail(result.error());
  return std::shared_ptr<const KernelCode>(shared_from_this(), result->get());
}

Result<KernelDeclaration> KernelModule::Declaration(std::string_view kernel) {
  return Contained([&] { return DeclarationOf(state_->source, kernel); });
}

bool KernelModule::BeginsWith(const std::string& kernel, Dim3 block) {
  State& s = *state_;
  if (!s.options.specialise || s.source.MayRequireShape()) return false;
  const auto begins = Contained([&]() -> Result<bool> {
    const lowering::Jit* jit = TRY(s.TheJit());
    return s.compiler.IsKept(*jit, {.kernel = kernel, .block = block}) ||
           !s.compiler.IsKept(*jit, {.kernel = kernel});
  });
  return begins && *begins;
}

Result<bool> KernelModule::Provide(const std::string& kernel, std::optional<Dim3> block, bool notes,
                                   CodeSlot& slot) {
  return Contained([&] { return ProvideHere(kernel, block, notes, slot); });
}

// On a stack that is large enough.
Result<bool> KernelModule::ProvideHere(const std::string& kernel, std::optional<Dim3> block, bool notes,
                                       CodeSlot& slot) {
  lowering::Jit* jit = TRY(state_->TheJit());
  CompileRequest request{.kernel = kernel, .block = block, .quick_allowed = true};
  if (notes) request.alignment = lowering::AlignmentChecks::kNoted;
  const auto start = Clock::now();
  CompiledImage compiled = TRY(state_->compiler.Compile(*jit, request));
  const double milliseconds = compiled.from_cache ? kKeptQuickMilliseconds : MillisecondsSince(start);
  if (!compiled.image) return compiled.from_cache;
  auto loaded = jit->Load(*std::move(compiled.image));
  if (!loaded && compiled.from_cache) {  // nothing that is kept may block it
    request.ask_cache = false;
    compiled = TRY(state_->compiler.Compile(*jit, request));
    if (!compiled.image) return false;
    loaded = jit->Load(*std::move(compiled.image));
  }
  const ptx2cpu_kernel* code = TRY(std::move(loaded)).kernel;
  if (compiled.is_quick) {
    request.quick_allowed = request.show_progress = false;
    // The slot, and with it this work, lives as long as the module.
    slot.better = std::make_unique<BetterCode>(
        [this, jit, request, &slot](const std::atomic<bool>& stop) { Improve(*jit, request, stop, slot); },
        static_cast<int64_t>(milliseconds * kTimesQuick * 1e6));
  }
  slot.code.store(code, std::memory_order_release);
  // Where the work is not taken or fails, the quick code stays.
  if (compiled.is_quick)
    CompileInBackground([self = shared_from_this(),
                         better = slot.better.get()](const std::atomic<bool>& stop) { better->Run(stop); });
  return compiled.from_cache;
}

void KernelModule::Improve(lowering::Jit& jit, CompileRequest request, const std::atomic<bool>& stop,
                           CodeSlot& slot) {
  request.stop = &stop;
  const auto compile = [&]() -> Result<bool> {
    CompiledImage better = TRY(state_->compiler.Compile(jit, request));
    if (!better.image) return false;
    slot.code.store(TRY(jit.Load(*std::move(better.image))).kernel, std::memory_order_release);
    return true;
  };
  static_cast<void>(Contained(compile));
}

void KernelModule::ProvideLater(const std::string& kernel, Dim3 block, CodeSlot& slot) {
  if (!state_->options.specialise) return;
  // The slot lives as long as the module. Where the work is not taken or fails, the code for any block stays.
  CompileInBackground([self = shared_from_this(), kernel, block, &slot](const std::atomic<bool>& stop) {
    auto jit = self->state_->TheJit();
    CompileRequest request{.kernel = kernel, .block = block, .quick_allowed = false};
    request.show_progress = false;
    if (jit) self->Improve(**jit, request, stop, slot);
  });
}

Result<std::vector<ModuleVariable>> KernelModule::Variables() { return TRY(state_->TheVariables())->list; }

Result<std::span<std::byte>> KernelModule::Variable(std::string_view name) {
  State& s = *state_;
  const DeclaredVariables* variables = TRY(s.TheVariables());
  const auto found = std::ranges::find(variables->images, name, &lowering::VariableImage::name);
  if (found == variables->images.end())
    return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
  TRY_STATUS(s.Declare());
  lowering::Jit* jit = TRY(s.TheJit());
  std::byte* address = jit->Variable(name);
  if (address == nullptr && found->waits_for_kernel) {
    return Fail(ErrorCode::kUnsupported, "variable '" + std::string(name) +
                                             "' contains an address in shared memory, which is known only "
                                             "after a kernel that uses it is compiled");
  }
  if (address == nullptr)
    return Fail(ErrorCode::kNotFound, "variable '" + std::string(name) + "' is declared but not defined");
  return std::span(address, found->size);
}

Status KernelModule::Bind(std::string_view name, std::byte* address) {
  const DeclaredVariables* variables = TRY(state_->TheVariables());
  const auto found = std::ranges::find(variables->images, name, &lowering::VariableImage::name);
  if (found == variables->images.end())
    return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
  const auto contents = found->is_extern ? lowering::Jit::Contents::kKeep : lowering::Jit::Contents::kInitial;
  lowering::Jit* jit = TRY(state_->TheJit());
  return Contained([&] { return jit->Bind(name, address, contents); });
}

FaultPlace KernelModule::Locate(const LaunchError& fault) const {
  uint32_t line = fault.ptx_line;
  const lowering::Jit* jit = state_->made_jit.load(std::memory_order_acquire);
  if (line == 0 && fault.pc != 0 && jit != nullptr) {
    if (const auto position = jit->LineOf(fault.pc)) line = position->ptx_line;
  }
  return line == 0 ? FaultPlace() : state_->source.Locate(line);
}

std::string JitLog(const Error& error) { return error.Render(); }

}  // namespace ptx2cpu::rt
