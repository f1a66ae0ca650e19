#include "lowering/llvm/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>

#include "lowering/llvm/emit.h"
#include "lowering/llvm/jit_storage.h"
#include "lowering/llvm/line_table.h"
#include "lowering/llvm/object.h"
#include "lowering/llvm/optimize.h"
#include "lowering/llvm/target_machine.h"

namespace ptx2cpu::lowering {

namespace orc = llvm::orc;

namespace {

// What LLVM itself may call; everything else must be an entry point.
const EntryPoint kLibraryCalls[] = {
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

// A kernel that was added: what its descriptor points to.
struct Loaded {
  std::string name;
  std::deque<std::string> parameter_names;
  std::vector<ptx2cpu_parameter> parameters;
  std::vector<ptx2cpu_point> points;
  ptx2cpu_kernel descriptor = {};
  std::string object;
  std::string ptx_name;
  std::vector<std::string> source_files;
  uintptr_t text_begin = 0;
  uint64_t text_size = 0;
  mutable std::unique_ptr<LineTable> lines;
};

void Describe(Loaded& loaded, const ir::Function& kernel, const KernelLayout& layout) {
  loaded.name = kernel.name;
  for (const ir::Param& param : kernel.params) {
    loaded.parameter_names.push_back(param.name);
    loaded.parameters.push_back(
        {loaded.parameter_names.back().c_str(), param.offset, param.size, param.align});
  }
  ptx2cpu_kernel& d = loaded.descriptor;
  d.abi_version = PTX2CPU_ABI_VERSION;
  d.parameter_count = static_cast<uint32_t>(loaded.parameters.size());
  d.name = loaded.name.c_str();
  d.parameters = loaded.parameters.data();
  d.parameter_bytes = kernel.param_bytes;
  d.static_shared_bytes = layout.static_shared_bytes;
  d.local_bytes = layout.local_bytes;
  d.slot_bytes_per_thread = layout.slot_bytes_per_thread;
  d.slot_bytes_per_warp = layout.slot_bytes_per_warp;
  d.slot_bytes_per_block = layout.slot_bytes_per_block;
  d.slot_count = layout.slot_count;
  std::memcpy(d.max_threads, kernel.max_threads, sizeof d.max_threads);
  std::memcpy(d.required_threads, kernel.required_threads, sizeof d.required_threads);
  std::memcpy(d.required_cluster, kernel.required_cluster, sizeof d.required_cluster);
  d.flags = layout.has_early_exit ? PTX2CPU_KERNEL_HAS_EARLY_EXIT : 0;
  for (const PointRow& point : layout.points) {
    loaded.points.push_back({point.kind, point.collective, point.ptx_line, point.name});
  }
  d.points = loaded.points.empty() ? nullptr : loaded.points.data();
  d.point_count = static_cast<uint32_t>(loaded.points.size());
}

struct Compiled {
  std::string object;
  KernelLayout layout;
  std::vector<std::string> functions;  // symbols of the functions of layout.functions, "" where there is none
};

}  // namespace

struct Jit::State {
  JitOptions options;
  std::unique_ptr<orc::LLJIT> jit;
  mutable std::mutex mutex;
  VariableStorage storage;
  std::map<std::string, orc::JITDylib*> symbols;  // variables that are defined as absolute symbols
  std::deque<Loaded> kernels;
  uint32_t number = 0;

  EmitOptions EmitOptionsFor(std::string_view kernel) const {
    EmitOptions emit;
    emit.kernel = std::string(kernel);
    emit.target = options.target;
    emit.thread_ids = options.thread_ids;
    emit.storage = Storage::kExternal;
    emit.debug_info = options.debug_info;
    return emit;
  }
  Result<Compiled> Compile(const ir::Module& module, std::string_view kernel) const;
  Status DefineVariables(const ir::Module& module);
  Status DefineSymbol(const std::string& name, const void* address);
};

Jit::Jit(std::unique_ptr<State> state) : state_(std::move(state)) {}
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::Create(JitOptions options) {
  auto state = std::make_unique<State>();
  if (options.target.triple.empty()) options.target = TRY(ResolveTarget("native"));
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
  for (const EntryPoint& entry : state->options.entry_points)
    TRY_STATUS(state->DefineSymbol(std::string(entry.name), entry.address));
  for (const EntryPoint& entry : kLibraryCalls)
    TRY_STATUS(state->DefineSymbol(std::string(entry.name), entry.address));
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

Status Jit::State::DefineVariables(const ir::Module& module) {
  for (const ir::Variable& variable : module.variables) {
    std::byte* address = storage.Find(variable.name);
    if (address == nullptr || symbols.contains(variable.name)) continue;
    TRY_STATUS(DefineSymbol(variable.name, address));
    symbols[variable.name] = &jit->getMainJITDylib();
  }
  return {};
}

Result<Compiled> Jit::State::Compile(const ir::Module& module, std::string_view kernel) const {
  llvm::LLVMContext context;
  EmittedKernel emitted = TRY(Emit(context, module, EmitOptionsFor(kernel)));
  auto machine = TRY(CreateTargetMachine(options.target, options.optimisation, true));
  Compiled compiled;
  // Functions whose address an initialiser holds must be found by name later.
  compiled.functions.resize(module.functions.size());
  for (const ir::Variable& variable : module.variables) {
    for (const auto& relocation : variable.relocations) {
      if (!relocation.is_function) continue;
      llvm::Function* function =
          emitted.module->getFunction("ptx2cpu.function." + module.functions[relocation.index].name);
      if (function == nullptr) continue;
      function->setLinkage(llvm::GlobalValue::ExternalLinkage);
      compiled.functions[relocation.index] = function->getName().str();
    }
  }
  Optimize(*emitted.module, *machine, options.optimisation);
  compiled.object = TRY(GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::ObjectFile));
  compiled.layout = std::move(emitted.layout);
  return compiled;
}

Result<CompiledKernel> Jit::Add(const ir::Module& module, std::string_view name) {
  const ir::Function* kernel = TRY(FindKernel(module, name));
  Compiled compiled = TRY(state_->Compile(module, kernel->name));
  std::lock_guard lock(state_->mutex);
  State& s = *state_;
  std::vector<uint32_t> added = TRY(s.storage.Provide(module, compiled.layout));
  TRY_STATUS(s.DefineVariables(module));
  // A library of its own per kernel: names of functions may repeat.
  auto library = s.jit->createJITDylib(kernel->name + "#" + std::to_string(s.number++));
  if (!library) return Fail(FromLlvm(library.takeError(), "kernel " + kernel->name));
  library->addToLinkOrder(s.jit->getMainJITDylib());
  Loaded& loaded = s.kernels.emplace_back();
  loaded.object = std::move(compiled.object);
  loaded.ptx_name = module.name;
  loaded.source_files = module.source_files;
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(loaded.object, kernel->name);
  auto find = [&](const std::string& symbol) -> Result<uint64_t> {
    auto address = s.jit->lookup(*library, symbol);
    if (!address) return Fail(FromLlvm(address.takeError(), "kernel " + kernel->name));
    return address->getValue();
  };
  Result<uint64_t> entry = 0;
  if (auto error = s.jit->addObjectFile(*library, std::move(buffer))) {
    entry = Fail(FromLlvm(std::move(error), "kernel " + kernel->name));
  } else {
    entry = find(EntryName(*kernel));
  }
  if (!entry) {
    s.kernels.pop_back();
    return Fail(entry.error());
  }
  TextSection text = TRY(FindInText(loaded.object, EntryName(*kernel)));
  loaded.text_begin = *entry - text.symbol_offset;
  loaded.text_size = text.size;
  Describe(loaded, *kernel, compiled.layout);
  if (kernel->resumes == ir::Resumes::kNever) {
    loaded.descriptor.run_block = reinterpret_cast<ptx2cpu_block_function>(*entry);
  } else {
    loaded.descriptor.run_step = reinterpret_cast<ptx2cpu_step_function>(*entry);
  }
  TRY_STATUS(s.storage.Relocate(module, added, compiled.layout, [&](uint32_t function) -> Result<uint64_t> {
    const std::string& symbol = compiled.functions[function];
    if (symbol.empty())
      return Fail(ErrorCode::kUnsupported,
                  "function " + module.functions[function].name +
                      " is in a variable's initialiser but not defined or not reached");
    return find(symbol);
  }));
  auto bytes = std::as_bytes(std::span(loaded.object.data(), loaded.object.size()));
  return CompiledKernel{&loaded.descriptor, bytes, loaded.text_begin, loaded.text_begin + loaded.text_size};
}

std::byte* Jit::Variable(std::string_view name) const {
  std::lock_guard lock(state_->mutex);
  return state_->storage.Find(name);
}

Status Jit::Bind(std::string_view name, std::byte* address) {
  std::lock_guard lock(state_->mutex);
  if (state_->storage.Bind(name, address)) return {};
  return Fail(ErrorCode::kUsage, "variable " + std::string(name) + " has storage already");
}

std::optional<ir::Position> Jit::LineOf(uintptr_t pc) const {
  std::lock_guard lock(state_->mutex);
  for (const Loaded& loaded : state_->kernels) {
    if (pc < loaded.text_begin || pc - loaded.text_begin >= loaded.text_size) continue;
    if (loaded.lines == nullptr)
      loaded.lines = std::make_unique<LineTable>(loaded.object, loaded.ptx_name, loaded.source_files);
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

}  // namespace ptx2cpu::lowering
