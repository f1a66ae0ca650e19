#include "lowering/llvm/output/jit.h"

#include <llvm/Support/raw_ostream.h>

#include <utility>

#include "lowering/llvm/kernel/emit.h"
#include "lowering/llvm/module/target_machine.h"
#include "lowering/llvm/optimize/optimize.h"
#include "lowering/llvm/output/describe_kernel.h"
#include "lowering/llvm/output/line_table.h"
#include "lowering/llvm/output/object.h"
#include "lowering/thread_clock.h"

namespace ptx2cpu::lowering {

namespace {

std::string Text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

}  // namespace

std::vector<std::string_view> Jit::OptionalPasses() {
  std::vector<std::string_view> names = OwnPasses();
  names.insert(names.end(), std::begin(kOptionalRules), std::end(kOptionalRules));
  return names;
}

Jit::Jit(JitOptions options) : options_(std::move(options)), loader_(options_.entry_points) {}
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::Create(JitOptions options) {
  if (options.target.triple.empty()) options.target = TRY(TargetWanted());
  if (options.lane_width == 0) options.lane_width = LaneWidthWanted();
  return std::unique_ptr<Jit>(new Jit(std::move(options)));
}

EmitOptions Jit::EmitOptionsFor(std::string_view kernel, std::optional<AlignmentChecks> alignment) const {
  EmitOptions emit;
  emit.kernel = std::string(kernel);
  emit.target = options_.target;
  emit.thread_ids = options_.thread_ids;
  emit.lane_width = options_.lane_width;
  emit.alignment = alignment.value_or(options_.alignment);
  emit.storage = Storage::kExternal;
  emit.debug_info = options_.debug_info;
  emit.debug_variables = options_.debug_variables;
  emit.omit = options_.omit;
  return emit;
}

// Measures milliseconds of the thread's processor time since the last call.
class Lap {
 public:
  double operator()() {
    const auto before = std::exchange(last_, ThreadClock::now());
    return std::chrono::duration<double, std::milli>(last_ - before).count();
  }

 private:
  ThreadClock::time_point last_ = ThreadClock::now();
};

// LLVM instructions from which on the quick tier selects instructions and allocates registers as at -O0: the
// register allocator's time grows with the square of a function.
constexpr unsigned kLarge = 12000;
// The number of instructions from which on better code takes many seconds: kernels whose lanes run one by one
// keep the quick code.
constexpr unsigned kHuge = 30000;

// The time that the best code takes, in milliseconds, for each LLVM instruction of the scalar code, and for
// each millisecond that the code of -O1 took; measured over the modules of tools/bench's `translation`.
constexpr double kBestPerScalarInstruction = 0.1, kBestPerQuick = 4;

// Nothing: the kernel is too small, its best code takes hardly longer.
Result<std::optional<KernelImage>> Jit::CompileScalar(const ir::Module& module, const ir::Function& kernel,
                                                      const CompileOptions& options) const {
  CompileTimes times;
  Lap lap;
  llvm::LLVMContext context;
  EmitOptions emit = EmitOptionsFor(kernel.name, options.alignment);
  emit.thread_ids = ThreadIds::kAnyShape;
  emit.lane_width = 1;
  const auto machine = TRY(BorrowTargetMachine(options_.target, 0));
  const EmittedKernel emitted = TRY(Emit(context, module, emit));
  times.instructions = emitted.module->getInstructionCount();
  if (times.instructions < options.scalar_from) return std::nullopt;
  times.emit = lap();
  Optimize(*emitted.module, *machine, {.level = 0, .stop = options.stop});
  times.optimise = lap();
  KernelImage image = DescribeKernel(module, kernel, emitted.layout);
  image.is_quick = image.for_many_blocks = true;
  image.better_milliseconds = kBestPerScalarInstruction * static_cast<double>(times.instructions);
  image.object =
      TRY(GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::ObjectFile, options.stop));
  times.generate = lap();
  if (options.times != nullptr) *options.times = times;
  return image;
}

Result<KernelImage> Jit::Compile(const ir::Module& module, std::string_view name,
                                 const CompileOptions& options) const {
  const ir::Function* kernel = TRY(FindKernel(module, name));
  const int level = options.optimisation.value_or(options_.optimisation);
  if (level > 1 && options.scalar_from != CompileOptions::kNever) {
    if (auto scalar = TRY(CompileScalar(module, *kernel, options))) return *std::move(scalar);
  }
  CompileTimes times;
  Lap lap;
  llvm::LLVMContext context;
  EmitOptions emit = EmitOptionsFor(kernel->name, options.alignment);
  // The parameters of one kernel are not those of the others.
  if (!kernel->entries.empty() && emit.alignment == AlignmentChecks::kAssumed)
    emit.alignment = AlignmentChecks::kNoted;
  // One version for blocks of any shape is enough for code that is soon replaced.
  const bool may_be_quick = level > 1 && options.quick_from != CompileOptions::kNever;
  if (may_be_quick) emit.thread_ids = ThreadIds::kAnyShape;
  emit.changed = options.changed;
  EmittedKernel emitted = TRY(Emit(context, module, emit));
  const unsigned size = emitted.module->getInstructionCount();
  const bool quick = may_be_quick && size >= options.quick_from;
  const int passes = quick ? 1 : level;
  // A flat kernel has one version for all shapes.
  const bool has_versions = !kernel->is_flat || !emitted.layout.functions.empty();
  if (may_be_quick && !quick && has_versions)
    emitted = TRY(Emit(context, module, EmitOptionsFor(kernel->name, options.alignment)));
  times.instructions = emitted.module->getInstructionCount();
  times.emit = lap();
  const int generation = GenerationLevel(quick && size >= kLarge ? 0 : passes, *emitted.module);
  const auto machine = TRY(BorrowTargetMachine(options_.target, generation));
  Optimize(*emitted.module, *machine,
           {.level = passes, .omit = options_.omit, .stop = options.stop, .changed = options.changed});
  times.optimise = lap();
  if (options.stop != nullptr && options.stop->load())
    return Fail(ErrorCode::kInternal, "stopped compiling " + kernel->name);
  KernelImage image = DescribeKernel(module, *kernel, emitted.layout);
  image.is_quick = quick && (size < kHuge || kernel->resumes != ir::Resumes::kLanes);
  image.object =
      TRY(GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::ObjectFile, options.stop));
  times.generate = lap();
  if (image.is_quick)
    image.better_milliseconds = kBestPerQuick * (times.emit + times.optimise + times.generate);
  if (options.times != nullptr) *options.times = times;
  if (options.others != nullptr) *options.others = DescribeOthers(module, *kernel, image);
  return image;
}

Result<CompiledKernel> Jit::Add(const ir::Module& module, std::string_view name) {
  KernelImage image = TRY(Compile(module, name, {}));
  TRY_STATUS(Declare(DescribeVariables(module)));
  return Load(std::move(image));
}

std::optional<ir::Position> Jit::LineOf(uintptr_t pc) const {
  const auto place = loader_.PlaceOf(pc);
  return place ? LineInObject(*place->image, place->text_offset) : std::nullopt;
}

std::optional<ir::Position> LineInObject(const KernelImage& image, uint64_t text_offset) {
  return LineTable(image.object, image.ptx_name, image.source_files).Find(text_offset);
}

std::vector<std::pair<uint64_t, ir::Position>> LinesInObject(const KernelImage& image) {
  return LineTable(image.object, image.ptx_name, image.source_files).All();
}

Result<std::string> Jit::Explain(const ir::Module& module, std::string_view kernel, Stage stage) const {
  llvm::LLVMContext context;
  EmittedKernel emitted = TRY(Emit(context, module, EmitOptionsFor(kernel)));
  if (stage == Stage::kLlvm) return Text(*emitted.module);
  const auto machine =
      TRY(BorrowTargetMachine(options_.target, GenerationLevel(options_.optimisation, *emitted.module)));
  Optimize(*emitted.module, *machine, {.level = options_.optimisation, .omit = options_.omit});
  if (stage == Stage::kOptimized) return Text(*emitted.module);
  return GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::AssemblyFile);
}

Result<LaneReport> Jit::ReportLanes(const ir::Module& module, std::string_view kernel) const {
  LaneReport report;
  EmitOptions emit = EmitOptionsFor(kernel);
  emit.thread_ids = ThreadIds::kOneDimensional;
  emit.report = &report;
  llvm::LLVMContext context;
  static_cast<void>(TRY(Emit(context, module, emit)));
  return report;
}

}  // namespace ptx2cpu::lowering
