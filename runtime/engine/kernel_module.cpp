#include "runtime/engine/kernel_module.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "lowering/load/kernel_loader.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/ahead.h"
#include "runtime/engine/background.h"
#include "runtime/engine/code_reports.h"
#include "runtime/engine/compiler.h"
#include "runtime/engine/contained.h"
#include "runtime/engine/module_facts.h"
#include "runtime/engine/text_lines.h"
#include "runtime/engine/translator_object.h"
#include "runtime/entry/entry_point_list.h"
#include "runtime/launch/device_kernels.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The time that better code takes to compile is unknown where the quick code came from the cache. A program
// that ended before it had better code may be as short again, so background threads, which load the
// translator, begin only when launches have run the quick code for some time.
constexpr double kKeptBetterMilliseconds = 300;
constexpr int64_t kKeptBeginNanoseconds = 3'000'000;
// What code for a shape takes, where only kept code for any shape was loaded: about.
constexpr double kShapeMilliseconds = 300;

// Blocks for each processor of which the last ones run better code than the first in any case: what a first
// block takes more than a later one, which may be 20 times that, is lost once.
constexpr uint64_t kManyBlocks = 16;

}  // namespace

struct KernelModule::State {
  State(std::vector<PtxText> texts, ModuleOptions given)
      : source(std::move(texts)),
        options(given),
        compiler(source, kernels, options),
        facts(source, options.cache),
        loader(EntryPoints()) {}

  KernelSource source;
  const ModuleOptions options;
  KernelCompiler compiler;
  const ModuleFacts facts;
  lowering::KernelLoader loader;
  std::string name;
  std::vector<std::string> kernels;
  std::optional<Ahead> ahead;  // of `kernels`

  Once<lowering::DeclaredVariables> variables;
  Once<bool> declared;

  std::mutex mutex;  // of the map; each kernel has a lock of its own
  std::map<std::string, std::unique_ptr<Once<std::unique_ptr<KernelCode>>>, std::less<>> codes;

  std::map<std::string, const std::byte*> launchable;  // kernels that kernels name, by what they are named by

  Result<const lowering::DeclaredVariables*> TheVariables();
  Status Declare();
  Once<std::unique_ptr<KernelCode>>& CodeOf(std::string_view kernel);

  CodeReports reports{source, compiler, loader, options};  // before the loader it loads with
};

Result<const lowering::DeclaredVariables*> KernelModule::State::TheVariables() {
  const auto& result = variables.Get([&] { return Caught([&] { return facts.Variables(); }); });
  if (!result) return Fail(result.error());
  return &*result;
}

Status KernelModule::State::Declare() {
  const auto& result = declared.Get([&]() -> Result<bool> {
    const lowering::DeclaredVariables* all = TRY(TheVariables());
    TRY_STATUS(loader.Declare(all->images));
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
  state_->ahead.emplace(state_->kernels.size(), options.ahead_from);
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
  std::lock_guard lock(s.mutex);
  for (const std::string& kernel : s.kernels) {
    if (s.launchable.contains(kernel)) continue;
    const std::byte* identity = s.loader.Variable(lowering::IdentityName(kernel));
    if (identity == nullptr) continue;  // no code names it
    s.launchable.emplace(kernel, identity);
    RegisterDeviceKernel(identity, std::make_shared<LaunchableKernel>(weak_from_this(), kernel));
  }
}

const std::vector<PtxText>& KernelModule::texts() const { return state_->source.texts(); }
const ModuleOptions& KernelModule::options() const { return state_->options; }
const std::vector<std::string>& KernelModule::Kernels() const { return state_->kernels; }
const std::string& KernelModule::name() const { return state_->name; }
uint32_t KernelModule::ptx_version() const { return VersionOf(state_->source.texts()[0].text); }
uint32_t KernelModule::target() const { return TargetOf(state_->source.texts()[0].text); }

bool KernelModule::Defines(std::string_view kernel) const {
  return std::ranges::find(state_->kernels, kernel) != state_->kernels.end();
}

Status KernelModule::Check() {
  return Caught([&] { return state_->facts.Check(); });
}

Once<std::unique_ptr<KernelCode>>& KernelModule::State::CodeOf(std::string_view kernel) {
  std::lock_guard lock(mutex);
  auto found = codes.find(kernel);
  if (found == codes.end())
    found = codes.emplace(std::string(kernel), std::make_unique<Once<std::unique_ptr<KernelCode>>>()).first;
  return *found->second;
}

Result<std::unique_ptr<KernelCode>> KernelModule::MakeCode(std::string_view kernel,
                                                           const KernelCode::Wanted& wanted) {
  const auto start = Clock::now();
  auto code = std::make_unique<KernelCode>(*this, std::string(kernel));
  TRY_STATUS(code->Begin(wanted));
  RegisterLaunchable();
  code->milliseconds_ = MillisecondsSince(start);
  return code;
}

Result<std::shared_ptr<const KernelCode>> KernelModule::Compile(std::string_view kernel,
                                                                std::optional<Dim3> first_block,
                                                                uint64_t blocks) {
  double milliseconds = 0;  // for which this call has compiled
  const auto& result = state_->CodeOf(kernel).Get([&]() -> Result<std::unique_ptr<KernelCode>> {
    auto code = TRY(MakeCode(kernel, {.block = first_block, .many_blocks = AreMany(blocks)}));
    if (!code->from_cache_) milliseconds = code->milliseconds_;  // however long reading took
    return code;
  });
  if (!result) return Fail(result.error());
  if (first_block) CompileAhead(kernel, milliseconds, *first_block, blocks);
  return std::shared_ptr<const KernelCode>(shared_from_this(), result->get());
}

// On a processor that is idle, as most are while a program waits for code.
void KernelModule::CompileAhead(std::string_view kernel, double milliseconds, Dim3 block, uint64_t blocks) {
  State& s = *state_;
  if (UsableProcessors() == 1) return;
  const auto place = std::ranges::find(s.kernels, kernel) - s.kernels.begin();
  const std::optional<size_t> next = s.ahead->AfterUse(static_cast<size_t>(place), milliseconds);
  if (!next) return;
  const bool is_taken = RunLater([this, block, blocks, next = *next](const std::atomic<bool>& stop) {
    const std::string& name = state_->kernels[next];
    const bool is_made = state_->CodeOf(name).Prepare(
        [&] { return MakeCode(name, {.block = block, .many_blocks = AreMany(blocks), .stop = &stop}); });
    if (!is_made) state_->ahead->GiveUp(next);
  });
  if (!is_taken) s.ahead->GiveUp(*next);
}

Result<KernelDeclaration> KernelModule::Declaration(std::string_view kernel) {
  return Caught([&] { return state_->facts.Declaration(kernel); });
}

Result<const ptx2cpu_kernel*> KernelModule::Description(std::string_view kernel) {
  return Caught([&]() -> Result<const ptx2cpu_kernel*> {
    return state_->loader.Describe(TRY(state_->compiler.Describe(std::string(kernel))));
  });
}

bool KernelModule::AreMany(uint64_t blocks) { return blocks / UsableProcessors() >= kManyBlocks; }

bool KernelModule::BeginsWith(const std::string& kernel, Dim3 block, bool many_blocks) {
  State& s = *state_;
  if (!s.options.specialise || s.source.MayRequireShape()) return false;
  const auto begins = Caught([&]() -> Result<bool> {
    return s.compiler.IsKept({.kernel = kernel, .block = block, .many_blocks = many_blocks}) ||
           !s.compiler.IsKept({.kernel = kernel, .many_blocks = many_blocks});
  });
  return begins && *begins;
}

Result<bool> KernelModule::Provide(const std::string& kernel, const KernelCode::Wanted& wanted,
                                   CodeSlot& slot) {
  return Caught([&] { return ProvideHere(kernel, wanted, slot); });
}

Result<bool> KernelModule::ProvideHere(const std::string& kernel, const KernelCode::Wanted& wanted,
                                       CodeSlot& slot) {
  State& s = *state_;
  CompileRequest request{.kernel = kernel,
                         .block = wanted.block,
                         .quick_allowed = true,
                         .many_blocks = wanted.many_blocks,
                         .show_progress = wanted.stop == nullptr,
                         .stop = wanted.stop};
  if (wanted.notes) request.alignment = lowering::AlignmentChecks::kNoted;
  CompiledImage compiled = TRY(s.compiler.Compile(request));
  if (!compiled.image) return compiled.from_cache;
  slot.serves_all_shapes = compiled.image->serves_all_shapes;
  double milliseconds = compiled.from_cache ? kKeptBetterMilliseconds : compiled.image->better_milliseconds;
  const bool from_cache = compiled.from_cache;
  auto loaded = s.reports.Load(request, compiled);
  if (!loaded && from_cache) {  // nothing that is kept may block it
    request.ask_cache = false;
    compiled = TRY(s.compiler.Compile(request));
    if (!compiled.image) return false;
    milliseconds = compiled.image->better_milliseconds;
    loaded = s.reports.Load(request, compiled);
  }
  const ptx2cpu_kernel* code = TRY(std::move(loaded));
  std::function<void()> begin;
  if (compiled.is_quick) {
    request.quick_allowed = request.show_progress = false;
    // The slot, and with it this work, lives as long as the module.
    slot.better = std::make_unique<BetterCode>(
        slot.code, [this, request, &slot](const std::atomic<bool>& stop) { Improve(request, stop, slot); },
        static_cast<int64_t>(milliseconds * 1e6), compiled.for_many_blocks);
    begin = [this, better = slot.better.get()] {
      RunLater([better](const std::atomic<bool>& stop) { better->Run(stop); });
    };
    if (compiled.from_cache) slot.better->BeginAfter(kKeptBeginNanoseconds, std::exchange(begin, nullptr));
  }
  slot.code.store(code, std::memory_order_release);
  if (begin != nullptr) begin();
  return compiled.from_cache;
}

// The module lives as long as the work. Where the work is not taken or fails, the code that there was stays.
bool KernelModule::RunLater(std::function<void(const std::atomic<bool>& stop)> work) {
  // Before the thread starts, which an exit handler ends: what loading registers must be destroyed after
  // that.
  if (!TheTranslator()) return false;
  return RunInBackground(
      [self = shared_from_this(), work = std::move(work)](const std::atomic<bool>& stop) { work(stop); });
}

void KernelModule::Improve(CompileRequest request, const std::atomic<bool>& stop, CodeSlot& slot) {
  State& s = *state_;
  request.stop = &stop;
  static_cast<void>(Caught([&]() -> Result<bool> {
    CompiledImage better = TRY(s.compiler.Compile(request));
    if (!better.image) return false;
    slot.code.store(TRY(s.reports.Load(request, better)), std::memory_order_release);
    return true;
  }));
}

void KernelModule::PrepareShape(const std::string& kernel, Dim3 block, CodeSlot& slot) {
  State& s = *state_;
  if (!s.options.specialise) return;
  const CompileRequest request{.kernel = kernel, .block = block, .show_progress = false};
  const auto is_kept = Caught([&]() -> Result<bool> { return s.compiler.IsBestKept(request); });
  const std::atomic<bool> never_stop = false;
  if (is_kept && *is_kept) return Improve(request, never_stop, slot);
  slot.better = std::make_unique<BetterCode>(
      slot.code, [this, request, &slot](const std::atomic<bool>& stop) { Improve(request, stop, slot); },
      static_cast<int64_t>(kShapeMilliseconds * 1e6));
}

void KernelModule::BeginShape(const CodeSlot& slot) {
  if (slot.better == nullptr) return;
  RunLater([better = slot.better.get()](const std::atomic<bool>& stop) { better->Run(stop); });
}

Result<std::vector<ModuleVariable>> KernelModule::Variables() { return TRY(state_->TheVariables())->list; }

Result<std::span<std::byte>> KernelModule::Variable(std::string_view name) {
  State& s = *state_;
  const lowering::DeclaredVariables* variables = TRY(s.TheVariables());
  const auto found = std::ranges::find(variables->images, name, &lowering::VariableImage::name);
  if (found == variables->images.end())
    return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
  TRY_STATUS(s.Declare());
  std::byte* address = s.loader.Variable(name);
  if (address == nullptr && found->waits_for_kernel) {
    return Fail(ErrorCode::kUnsupported, "variable '" + std::string(name) +
                                             "' contains an address in shared memory, which is known only "
                                             "after a kernel that uses it is compiled");
  }
  if (address == nullptr)
    return Fail(ErrorCode::kNotFound, "variable '" + std::string(name) + "' is declared but not defined");
  return std::span(address, found->size);
}

std::vector<std::pair<std::string, std::span<std::byte>>> KernelModule::Storage() const {
  return state_->loader.Variables();
}

Status KernelModule::Bind(std::string_view name, std::byte* address) {
  using Contents = lowering::KernelLoader::Contents;
  if (name.starts_with(lowering::IdentityName("")))
    return state_->loader.Bind(name, address,
                               Contents::kInitial);  // kernels declare them as they name functions
  const lowering::DeclaredVariables* variables = TRY(state_->TheVariables());
  const auto found = std::ranges::find(variables->images, name, &lowering::VariableImage::name);
  if (found == variables->images.end())
    return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
  return state_->loader.Bind(name, address, found->is_extern ? Contents::kKeep : Contents::kInitial);
}

FaultPlace KernelModule::Locate(const LaunchError& fault) const {
  const uint32_t line = fault.ptx_line == 0 && fault.pc != 0 ? PtxLineOf(fault.pc) : fault.ptx_line;
  return line == 0 ? FaultPlace() : state_->source.Locate(line);
}

uint32_t KernelModule::PtxLineOf(uintptr_t pc) const {
  const auto place = state_->loader.PlaceOf(pc);
  const auto translator = TheTranslator();
  return place && translator ? (*translator)->PtxLineOf(*place->image, place->text_offset) : 0;
}

Result<std::optional<ir::FaultingAccess>> KernelModule::ThreadOf(std::string_view kernel,
                                                                 const ir::FaultOfBlock& fault,
                                                                 std::span<const std::byte> params) const {
  std::vector<lowering::TranslatedModule::Storage> variables;
  for (const auto& [name, bytes] : Storage()) variables.push_back({name, bytes.data()});
  return Contained([&]() -> Result<std::optional<ir::FaultingAccess>> {
    const Parsed parsed = TRY(state_->source.PartFor(kernel));
    return parsed->ThreadOf(kernel, fault, params, variables);
  });
}

std::string JitLog(const Error& error) { return error.Render(); }

}  // namespace ptx2cpu::rt
