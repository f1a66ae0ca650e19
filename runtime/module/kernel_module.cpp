#include "runtime/module/kernel_module.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "lowering/llvm/jit.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/entry_point_list.h"
#include "runtime/module/progress.h"
#include "runtime/module/text_lines.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

// A result that is made once, by the first who asks.
template <typename T>
class Once {
 public:
  template <typename Make>
  const Result<T>& Get(const Make& make) {
    std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(make());
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<Result<T>> value_;
};

// One text by itself may have symbols that the caller provides (Bind).
Result<lowering::PtxModule> Open(const std::vector<PtxText>& texts) {
  if (texts.size() == 1) return lowering::PtxModule::Parse(texts[0].text, texts[0].name);
  std::vector<lowering::PtxModule::Source> sources;
  for (const PtxText& text : texts) sources.push_back({text.text, text.name});
  return lowering::PtxModule::Link(std::move(sources));
}

struct DeclaredVariables {
  std::vector<ModuleVariable> list;
  std::vector<lowering::VariableImage> images;
};

}  // namespace

// -- KernelCode --

struct KernelCode::Special {
  Dim3 block;
  const ptx2cpu_kernel* code;
  const Special* next;
};

namespace {
constexpr size_t kMostSpecials = 16;  // beyond: the code for any shape
}

KernelCode::KernelCode(KernelModule& module, std::string name, const ptx2cpu_kernel* code, double milliseconds)
    : module_(module), name_(std::move(name)), code_(code), milliseconds_(milliseconds) {}

KernelCode::~KernelCode() {
  for (const Special* node = specials_.load(); node != nullptr;) delete std::exchange(node, node->next);
}

const KernelCode::Special* KernelCode::FindSpecial(Dim3 block) const {
  const Special* node = specials_.load(std::memory_order_acquire);
  while (node != nullptr && (node->block.x != block.x || node->block.y != block.y || node->block.z != block.z)) node = node->next;
  return node;
}

Result<const ptx2cpu_kernel*> KernelCode::ForBlock(Dim3 block) const {
  const ptx2cpu_kernel* any = code_.load(std::memory_order_acquire);
  if (any->run_step == nullptr) return any;
  if (const Special* found = FindSpecial(block)) return found->code;
  std::lock_guard lock(mutex_);
  if (const Special* found = FindSpecial(block)) return found->code;
  if (special_count_ == kMostSpecials) return any;
  const ptx2cpu_kernel* special = TRY(module_.Specialise(name_, block));
  const ptx2cpu_kernel* code = special != nullptr ? special : any;
  specials_.store(new Special{block, code, specials_.load()}, std::memory_order_release);
  ++special_count_;
  return code;
}

// -- KernelModule --

struct KernelModule::State {
  std::vector<PtxText> texts;
  ModuleOptions options;
  std::string name;
  std::vector<std::string> kernels;

  Once<lowering::PtxModule> parsed;
  Once<std::unique_ptr<lowering::Jit>> jit;
  Once<DeclaredVariables> variables;
  Once<bool> declared;
  std::atomic<lowering::Jit*> made_jit = nullptr;  // for Locate, which makes none

  std::mutex mutex;  // of the map; each kernel has a lock of its own
  std::map<std::string, std::unique_ptr<Once<std::unique_ptr<KernelCode>>>, std::less<>> codes;

  Result<const lowering::PtxModule*> Parsed();
  Result<lowering::Jit*> TheJit();
  Result<const DeclaredVariables*> TheVariables();
  Status Declare();
  lowering::BuildOptions Build() const;
  Result<const ptx2cpu_kernel*> Compile(const lowering::PtxModule& ptx, const std::string& kernel, const lowering::BuildOptions& build);
};

Result<const lowering::PtxModule*> KernelModule::State::Parsed() {
  const auto& result = parsed.Get([&]() -> Result<lowering::PtxModule> {
    return Open(texts);
  });
  if (!result) return Fail(result.error());
  return &*result;
}

Result<lowering::Jit*> KernelModule::State::TheJit() {
  const auto& result = jit.Get([&] {
    lowering::JitOptions jit_options;
    jit_options.entry_points = EntryPoints();
    jit_options.optimisation = options.optimisation;
    jit_options.debug_info = options.line_info;
    auto made = lowering::Jit::Create(std::move(jit_options));
    if (made) made_jit.store(made->get(), std::memory_order_release);
    return made;
  });
  if (!result) return Fail(result.error());
  return result->get();
}

Result<const DeclaredVariables*> KernelModule::State::TheVariables() {
  const auto& result = variables.Get([&]() -> Result<DeclaredVariables> {
    const lowering::PtxModule* ptx = TRY(Parsed());
    const ir::Module module = TRY(ptx->Variables());
    DeclaredVariables declared;
    for (const ir::Variable& variable : module.variables) {
      if (variable.space != ir::Space::kGlobal && variable.space != ir::Space::kConst) continue;
      using Linkage = ir::Variable::Linkage;
      declared.list.push_back({variable.name, variable.size, variable.align, variable.space == ir::Space::kConst, variable.is_managed,
                               variable.linkage == Linkage::kExtern, variable.linkage == Linkage::kInternal});
    }
    declared.images = lowering::DescribeVariables(module);
    return declared;
  });
  if (!result) return Fail(result.error());
  return &*result;
}

Status KernelModule::State::Declare() {
  const auto& result = declared.Get([&]() -> Result<bool> {
    lowering::Jit* made = TRY(TheJit());
    TRY_STATUS(made->Declare(TRY(TheVariables())->images));
    return true;
  });
  if (!result) return Fail(result.error());
  return {};
}

lowering::BuildOptions KernelModule::State::Build() const {
  lowering::BuildOptions build;
  build.contract = options.contract;
  build.pipeline.verify_each = false;
  build.pipeline.passes.collapse = options.collapse;
  build.pipeline.passes.tier = options.tier;
  return build;
}

Result<const ptx2cpu_kernel*> KernelModule::State::Compile(const lowering::PtxModule& ptx, const std::string& kernel,
                                                           const lowering::BuildOptions& build) {
  const CompileProgress progress(kernel);
  TRY_STATUS(Declare());
  lowering::Jit* made = TRY(TheJit());
  const ir::Module module = TRY(ptx.Build(kernel, build));
  return TRY(made->Load(TRY(made->Compile(module, kernel)))).kernel;
}

std::shared_ptr<KernelModule> KernelModule::Make(std::vector<PtxText> texts, ModuleOptions options) {
  CHECK(!texts.empty(), "a module without text");
  return std::shared_ptr<KernelModule>(new KernelModule(std::move(texts), std::move(options)));
}

KernelModule::KernelModule(std::vector<PtxText> texts, ModuleOptions options) : state_(std::make_unique<State>()) {
  state_->texts = std::move(texts);
  state_->options = std::move(options);
  for (const PtxText& text : state_->texts) {
    state_->name += (state_->name.empty() ? "" : "+") + text.name;
    for (std::string& kernel : ptx::EntryNames(text.text)) {
      if (!Defines(kernel)) state_->kernels.push_back(std::move(kernel));  // .weak ones may stand in several
    }
  }
}

KernelModule::~KernelModule() = default;

const std::vector<std::string>& KernelModule::Kernels() const { return state_->kernels; }
const std::string& KernelModule::name() const { return state_->name; }
uint32_t KernelModule::ptx_version() const { return VersionOf(state_->texts[0].text); }
uint32_t KernelModule::target() const { return TargetOf(state_->texts[0].text); }

bool KernelModule::Defines(std::string_view kernel) const { return std::ranges::find(state_->kernels, kernel) != state_->kernels.end(); }

Status KernelModule::Check() { return TRY(state_->Parsed())->CheckInstructions(); }

Result<std::shared_ptr<const KernelCode>> KernelModule::Compile(std::string_view kernel) {
  State& s = *state_;
  Once<std::unique_ptr<KernelCode>>* once = nullptr;
  {
    std::lock_guard lock(s.mutex);
    auto found = s.codes.find(kernel);
    if (found == s.codes.end()) found = s.codes.emplace(std::string(kernel), std::make_unique<Once<std::unique_ptr<KernelCode>>>()).first;
    once = found->second.get();
  }
  const auto& result = once->Get([&]() -> Result<std::unique_ptr<KernelCode>> {
    const auto start = Clock::now();
    std::string name(kernel);
    const lowering::PtxModule* ptx = TRY(s.Parsed());
    const ptx2cpu_kernel* code = TRY(s.Compile(*ptx, name, s.Build()));
    return std::make_unique<KernelCode>(*this, std::move(name), code, MillisecondsSince(start));
  });
  if (!result) return Fail(result.error());
  return std::shared_ptr<const KernelCode>(shared_from_this(), result->get());
}

Result<const ptx2cpu_kernel*> KernelModule::Specialise(const std::string& kernel, Dim3 block) {
  const lowering::PtxModule* ptx = TRY(state_->Parsed());
  const lowering::BuildOptions build = TRY(ptx->ForShape(kernel, state_->Build(), {block.x, block.y, block.z}));
  if (!build.pipeline.passes.launch) return nullptr;
  return state_->Compile(*ptx, kernel, build);
}

Result<std::vector<ModuleVariable>> KernelModule::Variables() { return TRY(state_->TheVariables())->list; }

Result<std::span<std::byte>> KernelModule::Variable(std::string_view name) {
  State& s = *state_;
  const DeclaredVariables* variables = TRY(s.TheVariables());
  const auto found = std::ranges::find(variables->images, name, &lowering::VariableImage::name);
  if (found == variables->images.end()) return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
  TRY_STATUS(s.Declare());
  lowering::Jit* jit = TRY(s.TheJit());
  std::byte* address = jit->Variable(name);
  if (address == nullptr && found->waits_for_kernel) {
    return Fail(ErrorCode::kUnsupported, "variable '" + std::string(name) + "' holds an address in shared memory, which is known once a kernel that uses it is compiled");
  }
  if (address == nullptr) return Fail(ErrorCode::kNotFound, "variable '" + std::string(name) + "' is declared but not defined");
  return std::span(address, found->size);
}

Status KernelModule::Bind(std::string_view name, std::byte* address) {
  const DeclaredVariables* variables = TRY(state_->TheVariables());
  const auto found = std::ranges::find(variables->images, name, &lowering::VariableImage::name);
  if (found == variables->images.end()) return Fail(ErrorCode::kNotFound, "no __device__ or __constant__ variable '" + std::string(name) + "'");
  const auto contents = found->is_extern ? lowering::Jit::Contents::kKeep : lowering::Jit::Contents::kInitial;
  return TRY(state_->TheJit())->Bind(name, address, contents);
}

FaultPlace KernelModule::Locate(const LaunchError& fault) const {
  FaultPlace place;
  uint32_t line = fault.ptx_line;
  const lowering::Jit* jit = state_->made_jit.load(std::memory_order_acquire);
  if (line == 0 && fault.pc != 0 && jit != nullptr) {
    if (const auto position = jit->LineOf(fault.pc)) line = position->ptx_line;
  }
  if (line == 0) return place;
  const auto ptx = const_cast<State&>(*state_).Parsed();  // code exists, so it was parsed
  if (!ptx) return place;
  const auto found = (*ptx)->PlaceOf(line);
  place.file = found.at.file;
  place.line = found.at.line;
  place.excerpt = found.excerpt;
  const auto text = std::ranges::find(state_->texts, place.file, &PtxText::name);
  if (text == state_->texts.end()) return place;
  if (const auto source = SourceLineAt(text->text, place.line)) {
    place.source_file = source->file;
    place.source_line = source->line;
  }
  return place;
}

std::string JitLog(const Error& error) { return error.Render(); }

}  // namespace ptx2cpu::rt
