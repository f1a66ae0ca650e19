#include "lowering/llvm/output/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>

#include "lowering/llvm/kernel/emit.h"
#include "lowering/llvm/module/target_machine.h"
#include "lowering/llvm/output/jit_storage.h"
#include "lowering/llvm/output/line_table.h"
#include "lowering/llvm/output/object.h"
#include "lowering/llvm/output/optimize.h"

namespace ptx2cpu::lowering {

namespace orc = llvm::orc;

namespace {

// What LLVM itself may call; everything else must be an entry point.
const ptx2cpu_entry_point kLibraryCalls[] = {
    {"memcpy", reinterpret_cast<void*>(&std::memcpy)},
    {"memset", reinterpret_cast<void*>(&std::memset)},
    {"memmove", reinterpret_cast<void*>(&std::memmove)},
    {"memcmp", reinterpret_cast<void*>(&std::memcmp)},
    {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&std::fma))},
    {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&std::fma))},
};

Error FromLlvm(llvm::Error error, const std::string& doing) {
  return {.code = ErrorCode::kInternal, .message = doing + ": " + llvm::toString(std::move(error))};
}

std::string Text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// A kernel that was loaded: what its descriptor points to.
struct Loaded {
  explicit Loaded(KernelImage from) : image(std::move(from)) {}
  KernelImage image;
  std::vector<ptx2cpu_parameter> parameters;
  std::vector<ptx2cpu_point> points;
  std::vector<ptx2cpu_alignment> alignments;
  ptx2cpu_kernel descriptor = {};
  uintptr_t text_begin = 0;
  uint64_t text_size = 0;
  mutable std::unique_ptr<LineTable> lines;
};

// Fills a descriptor and its tables, a function for each kind of field.
class Descriptor {
 public:
  explicit Descriptor(Loaded& loaded) : loaded_(loaded) {}

  void Fill() {
    ptx2cpu_kernel& to = loaded_.descriptor;
    const KernelImage& from = loaded_.image;
#define KERNEL_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }

 private:
  void Set(ptx2cpu_parameter& to, const ParameterRow& from) {
#define PARAMETER_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Set(ptx2cpu_point& to, const PointRow& from) {
#define POINT_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Set(ptx2cpu_alignment& to, const ParameterAlignment& from) {
#define ALIGNMENT_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Set(uint32_t& to, field::Version) { to = PTX2CPU_ABI_VERSION; }
  void Set(uint32_t& to, field::Word from) { to = from; }
  void Set(uint8_t& to, field::Byte from) { to = from; }
  void Set(uint32_t (&to)[3], const field::Three& from) { std::ranges::copy(from, to); }
  void Set(const char*& to, const field::Name& from) { to = from.c_str(); }
  void Set(ptx2cpu_block_function&, field::Block) {}  // known once the object is linked
  void Set(ptx2cpu_step_function&, field::Step) {}
  void Set(uint8_t (&)[2], field::Unused) {}
  void Set(const ptx2cpu_parameter*& to, const field::ParameterTable& from) {
    Table(to, from, loaded_.parameters);
  }
  void Set(const ptx2cpu_point*& to, const field::PointTable& from) { Table(to, from, loaded_.points); }
  void Set(const ptx2cpu_alignment*& to, const field::AlignmentTable& from) {
    Table(to, from, loaded_.alignments);
  }
  void Set(uint32_t& to, field::ParameterCount) {
    to = static_cast<uint32_t>(loaded_.image.parameters.size());
  }
  void Set(uint32_t& to, field::PointCount) { to = static_cast<uint32_t>(loaded_.image.points.size()); }
  void Set(uint32_t& to, field::AlignmentCount) {
    to = static_cast<uint32_t>(loaded_.image.alignments.size());
  }

  template <typename Row, typename From>
  void Table(const Row*& to, const std::vector<From>& from, std::vector<Row>& rows) {
    for (const From& row : from) Set(rows.emplace_back(), row);
    to = rows.empty() ? nullptr : rows.data();
  }

  Loaded& loaded_;
};

}  // namespace

struct Jit::State {
  JitOptions options;
  std::unique_ptr<orc::LLJIT> jit;
  mutable std::mutex mutex;
  VariableStorage storage;
  std::set<std::string> defined;  // variables that are absolute symbols
  std::deque<Loaded> kernels;
  uint32_t number = 0;

  EmitOptions EmitOptionsFor(std::string_view kernel, std::optional<AlignmentChecks> alignment = {}) const {
    EmitOptions emit;
    emit.kernel = std::string(kernel);
    emit.target = options.target;
    emit.thread_ids = options.thread_ids;
    emit.lane_width = options.lane_width;
    emit.alignment = alignment.value_or(options.alignment);
    emit.storage = Storage::kExternal;
    emit.debug_info = options.debug_info;
    return emit;
  }
  Status DefineVariables(const std::vector<VariableImage>& variables);
  Status DefineSymbol(const std::string& name, const void* address);
};

Jit::Jit(std::unique_ptr<State> state) : state_(std::move(state)) {}
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::Create(JitOptions options) {
  auto state = std::make_unique<State>();
  if (options.target.triple.empty()) options.target = TRY(TargetWanted());
  if (options.lane_width == 0) options.lane_width = LaneWidthWanted();
  state->options = std::move(options);
  static_cast<void>(TRY(CreateTargetMachine(state->options.target, 2, true)));
  orc::JITTargetMachineBuilder builder{llvm::Triple(state->options.target.triple)};
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(builder))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(orc::setUpInactivePlatform)
                 .create();
  if (!jit) return Fail(FromLlvm(jit.takeError(), "starting the JIT"));
  state->jit = std::move(*jit);
  for (const ptx2cpu_entry_point& entry : state->options.entry_points)
    TRY_STATUS(state->DefineSymbol(entry.name, entry.address));
  for (const ptx2cpu_entry_point& entry : kLibraryCalls)
    TRY_STATUS(state->DefineSymbol(entry.name, entry.address));
  return std::unique_ptr<Jit>(new Jit(std::move(state)));
}

Status Jit::State::DefineSymbol(const std::string& name, const void* address) {
  orc::SymbolMap map;
  map[jit->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  if (auto error = jit->getMainJITDylib().define(orc::absoluteSymbols(std::move(map)))) {
    return Fail(FromLlvm(std::move(error), "defining " + name));
  }
  return {};
}

Status Jit::State::DefineVariables(const std::vector<VariableImage>& variables) {
  for (const VariableImage& variable : variables) {
    const std::byte* address = storage.Find(variable.name);
    if (address == nullptr || !defined.insert(variable.name).second) continue;
    TRY_STATUS(DefineSymbol(variable.name, address));
  }
  return {};
}

const Target& Jit::target() const { return state_->options.target; }
uint32_t Jit::lane_width() const { return state_->options.lane_width; }

// LLVM instructions from which on the quick tier selects instructions and allocates registers as at -O0: the
// register allocator's time grows with the square of a function.
constexpr unsigned kLarge = 12000;
// From which on better code takes many seconds: kernels whose lanes run one by one keep the quick code.
constexpr unsigned kHuge = 30000;

Result<KernelImage> Jit::Compile(const ir::Module& module, std::string_view name,
                                 const CompileOptions& options) const {
  const ir::Function* kernel = TRY(FindKernel(module, name));
  const int level = options.optimisation.value_or(state_->options.optimisation);
  llvm::LLVMContext context;
  EmitOptions emit = state_->EmitOptionsFor(kernel->name, options.alignment);
  // One version for blocks of any shape is enough for code that is soon replaced.
  const bool may_be_quick = level > 1 && options.quick_from != CompileOptions::kNeverQuick;
  if (may_be_quick) emit.thread_ids = ThreadIds::kAnyShape;
  EmittedKernel emitted = TRY(Emit(context, module, emit));
  const unsigned size = emitted.module->getInstructionCount();
  const bool quick = may_be_quick && size >= options.quick_from;
  const int passes = quick ? 1 : level, generation = quick && size >= kLarge ? 0 : passes;
  // A flat kernel has one version for all shapes.
  const bool has_versions = !kernel->is_flat || !emitted.layout.functions.empty();
  if (may_be_quick && !quick && has_versions)
    emitted = TRY(Emit(context, module, state_->EmitOptionsFor(kernel->name, options.alignment)));
  auto machine = TRY(CreateTargetMachine(state_->options.target, generation, true));
  Optimize(*emitted.module, *machine, passes, options.stop);
  if (options.stop != nullptr && options.stop->load())
    return Fail(ErrorCode::kInternal, "stopped compiling " + kernel->name);
  KernelImage image = DescribeKernel(module, *kernel, emitted.layout);
  image.is_quick = quick && (size < kHuge || kernel->resumes != ir::Resumes::kLanes);
  image.object = TRY(GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::ObjectFile));
  return image;
}

Result<CompiledKernel> Jit::Add(const ir::Module& module, std::string_view name) {
  KernelImage image = TRY(Compile(module, name, {}));
  TRY_STATUS(Declare(DescribeVariables(module)));
  return Load(std::move(image));
}

Status Jit::Declare(const std::vector<VariableImage>& variables) {
  std::lock_guard lock(state_->mutex);
  const auto added = TRY(state_->storage.Provide(variables, false));
  return state_->storage.Relocate(added);
}

Result<CompiledKernel> Jit::Load(KernelImage image) {
  std::lock_guard lock(state_->mutex);
  State& s = *state_;
  const TextSection text = TRY(FindInText(image.object, image.entry));
  for (const VariableImage& variable : image.variables) {
    if (variable.is_extern && s.storage.Find(variable.name) == nullptr)
      return Fail(ErrorCode::kNotFound, "variable " + variable.name + " is declared but not defined");
  }
  const auto added = TRY(s.storage.Provide(image.variables, true));
  TRY_STATUS(s.DefineVariables(image.variables));
  // A library of its own per kernel: names of functions may repeat.
  auto library = s.jit->createJITDylib(image.name + "#" + std::to_string(s.number++));
  if (!library) return Fail(FromLlvm(library.takeError(), "kernel " + image.name));
  library->addToLinkOrder(s.jit->getMainJITDylib());
  auto find = [&](const std::string& symbol) -> Result<uint64_t> {
    auto address = s.jit->lookup(*library, symbol);
    if (!address) return Fail(FromLlvm(address.takeError(), "kernel " + image.name));
    return address->getValue();
  };
  auto buffer = llvm::MemoryBuffer::getMemBuffer(image.object, image.name, false);
  if (auto error = s.jit->addObjectFile(*library, std::move(buffer))) {
    return Fail(FromLlvm(std::move(error), "kernel " + image.name));
  }
  const uint64_t entry = TRY(find(image.entry));
  TRY_STATUS(s.storage.Relocate(added));
  // `added` points into the image: from here on it may move.
  Loaded& loaded = s.kernels.emplace_back(std::move(image));
  loaded.image.variables = {};
  loaded.text_begin = entry - text.symbol_offset;
  loaded.text_size = text.size;
  Descriptor(loaded).Fill();
  if (loaded.image.resumes) {
    loaded.descriptor.run_step = reinterpret_cast<ptx2cpu_step_function>(entry);
  } else {
    loaded.descriptor.run_block = reinterpret_cast<ptx2cpu_block_function>(entry);
  }
  auto bytes = std::as_bytes(std::span(loaded.image.object.data(), loaded.image.object.size()));
  return CompiledKernel{&loaded.descriptor, bytes, loaded.text_begin, loaded.text_begin + loaded.text_size};
}

std::byte* Jit::Variable(std::string_view name) const {
  std::lock_guard lock(state_->mutex);
  return state_->storage.Find(name);
}

Status Jit::Bind(std::string_view name, std::byte* address, Contents contents) {
  std::lock_guard lock(state_->mutex);
  if (state_->storage.Bind(name, address, contents == Contents::kKeep)) return {};
  return Fail(ErrorCode::kUsage, "variable " + std::string(name) + " has storage already");
}

std::optional<ir::Position> Jit::LineOf(uintptr_t pc) const {
  std::lock_guard lock(state_->mutex);
  for (const Loaded& loaded : state_->kernels) {
    if (pc < loaded.text_begin || pc - loaded.text_begin >= loaded.text_size) continue;
    if (loaded.lines == nullptr)
      loaded.lines =
          std::make_unique<LineTable>(loaded.image.object, loaded.image.ptx_name, loaded.image.source_files);
    return loaded.lines->Find(pc - loaded.text_begin);
  }
  return std::nullopt;
}

Result<std::string> Jit::Explain(const ir::Module& module, std::string_view kernel, Stage stage) const {
  llvm::LLVMContext context;
  EmittedKernel emitted = TRY(Emit(context, module, state_->EmitOptionsFor(kernel)));
  if (stage == Stage::kLlvm) return Text(*emitted.module);
  auto machine = TRY(CreateTargetMachine(state_->options.target, state_->options.optimisation, true));
  Optimize(*emitted.module, *machine, state_->options.optimisation);
  if (stage == Stage::kOptimized) return Text(*emitted.module);
  return GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::AssemblyFile);
}

Result<LaneReport> Jit::ReportLanes(const ir::Module& module, std::string_view kernel) const {
  LaneReport report;
  EmitOptions emit = state_->EmitOptionsFor(kernel);
  emit.thread_ids = ThreadIds::kOneDimensional;
  emit.report = &report;
  llvm::LLVMContext context;
  static_cast<void>(TRY(Emit(context, module, emit)));
  return report;
}

}  // namespace ptx2cpu::lowering
