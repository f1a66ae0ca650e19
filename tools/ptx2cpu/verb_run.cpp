#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <sstream>

#include "runtime/check/checks.h"
#include "runtime/check/finding.h"
#include "runtime/engine/kernel_module.h"
#include "runtime/engine/ptx2cpu.h"
#include "tools/harness/guarded_buffers.h"
#include "tools/ptx2cpu/atomics_option.h"
#include "tools/ptx2cpu/order_option.h"
#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

namespace {

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

Result<Program> LoadProgram(const Arguments& arguments, const KernelChoice& choice,
                            const lowering::BuildOptions& build) {
  LoadOptions options;
  options.opt_level = static_cast<unsigned>(TRY(arguments.Number("--opt", 3, 3)));
  if (build.pipeline.passes.collapse == lowering::CollapseForm::kFlat) options.collapse = "flat";
  if (build.pipeline.passes.collapse == lowering::CollapseForm::kHierarchical)
    options.collapse = "hierarchical";
  options.exec = arguments.Value("--exec").value_or("auto");
  options.width = TRY(ReadLaneWidth(arguments));
  options.check_alignment = arguments.Has("--check-alignment");
  options.any_order = arguments.Has("--order");
  std::vector<PtxText> texts;
  for (const auto& source : choice.source.texts) texts.push_back({source.text, source.name});
  return choice.source.linked ? Program::Link(std::move(texts), options)
                              : Program::FromPtx(texts[0].text, texts[0].name, options);
}

struct NamedBytes {
  std::string name;
  std::span<std::byte> bytes;
};

// The program's variables.
Result<std::vector<NamedBytes>> VariablesOf(const KernelChoice& choice, const Program& program) {
  std::vector<rt::PtxText> texts;
  for (const auto& source : choice.source.texts) texts.push_back({source.text, source.name});
  const auto module = rt::KernelModule::Make(std::move(texts));
  std::vector<NamedBytes> memory;
  for (const rt::ModuleVariable& variable : TRY(module->Variables())) {
    if (const auto storage = program.Variable(variable.name))
      memory.push_back({"variable '" + variable.name + "'", *storage});
  }
  return memory;
}

// They and the call's buffers are what checked code may access.
Status ReportChecks(const KernelChoice& choice, const Program& program,
                    std::vector<std::span<std::byte>> memory) {
  for (const NamedBytes& variable : TRY(VariablesOf(choice, program))) memory.push_back(variable.bytes);
  const auto find = [memory](uintptr_t address) -> std::optional<rt::check::MemoryRange> {
    for (const std::span<std::byte>& range : memory) {
      const auto base = reinterpret_cast<uintptr_t>(range.data());
      if (address - base < range.size()) return rt::check::MemoryRange{base, range.size()};
    }
    return std::nullopt;
  };
  rt::check::SetMemorySource({find, [](uintptr_t) { return std::string(); }, [] { return uint64_t{1}; }});
  rt::check::Findings::Get().Locate(choice.kernel, [texts = choice.source.texts](uint32_t line) {
    rt::check::Place place;
    if (texts.size() != 1) return place;  // linked: lines are counted through all texts
    place.file = texts[0].name;
    place.line = line;
    std::istringstream lines(texts[0].text);
    for (uint32_t n = 0; n < line; ++n) std::getline(lines, place.excerpt);
    place.excerpt.erase(0, place.excerpt.find_first_not_of(" \t"));
    return place;
  });
  return {};
}

// The launch in index order, whose results the buffers have then, and in others. kDiffers: one of them gives
// other ones.
Status TryOrders(const KernelChoice& choice, const Program& program, const Orders& orders,
                 const std::vector<std::span<std::byte>>& buffers,
                 const std::function<Status(std::optional<uint64_t>)>& launch) {
  std::vector<NamedBytes> memory;
  for (size_t i = 0; i < buffers.size(); ++i) memory.push_back({fmt::format("buffer {}", i), buffers[i]});
  for (NamedBytes& variable : TRY(VariablesOf(choice, program))) memory.push_back(std::move(variable));
  std::vector<OrderedMemory> ordered;
  for (const NamedBytes& each : memory) {
    ordered.push_back({each.bytes, [&each](uint64_t offset) {
                         return fmt::format("{} of {} bytes, + {}", each.name, each.bytes.size(), offset);
                       }});
  }
  const std::string text = TRY(
      CompareOrders(orders, ordered, [&](std::optional<uint64_t> seed) -> Result<std::optional<std::string>> {
        const Status status = launch(seed);
        if (status) return std::nullopt;
        if (status.error().code != ErrorCode::kFault) return Fail(status.error());
        return status.error().message;
      }));
  if (text.empty()) return {};
  return Fail(kDiffers, fmt::format("kernel '{}' {}", choice.kernel, text));
}

}  // namespace

Status RunRun(const Arguments& arguments) {
  if (arguments.Has("--jit") && arguments.Has("--interpret"))
    return Fail(ErrorCode::kUsage, "--jit and --interpret contradict each other");
  const auto orders = TRY(ReadOrders(arguments));
  const bool interprets = arguments.Has("--interpret");
  if (interprets || arguments.Has("--dump-after") || arguments.Has("--time-passes"))
    TRY_STATUS(RunInObject("run", arguments));
  if (interprets) return {};
  const KernelChoice choice = TRY(ChooseKernel(arguments));
  const lowering::BuildOptions build = TRY(ReadBuildOptions(arguments, choice.source));
  harness::KernelCall call = TRY(ReadKernelCall(arguments));
  Shape shape{
      {call.grid.x, call.grid.y, call.grid.z}, {call.block.x, call.block.y, call.block.z}, call.shared_bytes};
  shape.max_workers = static_cast<unsigned>(TRY(arguments.Number("--threads", 0, 4096)));
  const std::vector<Setting> checks = TRY(CheckSettings(arguments));
  for (const Setting& setting : checks) setenv(setting.name.c_str(), setting.value.c_str(), 1);
  for (const Setting& setting : TRY(AtomicsSettings(arguments)))
    setenv(setting.name.c_str(), setting.value.c_str(), 1);
  const Program program = TRY(LoadProgram(arguments, choice, build));
  const Kernel kernel = TRY(program.Get(choice.kernel));
  std::vector<ir::Param> params;
  for (const Parameter& parameter : kernel.parameters())
    params.push_back({parameter.name, ir::Type::kVoid, parameter.offset, parameter.size, parameter.align});
  harness::ImageScope images(call);
  TRY_STATUS(images.Bind([](const std::string&) -> std::byte* { return nullptr; }));
  std::vector<std::byte> buffer = TRY(harness::PackParameters(params, kernel.parameter_bytes(), call));
  harness::GuardedBuffers guarded;
  if (!guarded.Enter(call)) return Fail(ErrorCode::kLaunch, "no memory for the buffers");
  guarded.Patch(params, buffer);
  if (!checks.empty()) TRY_STATUS(ReportChecks(choice, program, guarded.Ranges(call)));
  const auto start = std::chrono::steady_clock::now();
  if (orders) shape.max_workers = 1;
  Status ordered;
  if (orders) {
    ordered = TryOrders(choice, program, *orders, guarded.Ranges(call), [&](std::optional<uint64_t> seed) {
      shape.order = seed;
      return kernel.LaunchPacked(shape, buffer);
    });
    if (!ordered && ordered.error().code != kDiffers) return ordered;
  } else {
    TRY_STATUS(kernel.LaunchPacked(shape, buffer));
  }
  if (arguments.Has("--time"))
    fmt::print(stderr, "translated in {:.3f} ms, ran in {:.3f} ms\n", kernel.compile_milliseconds(),
               Milliseconds(start));
  guarded.Leave(call);
  call.images->Leave(call.arguments);
  TRY_STATUS(PrintBuffers(arguments, call));
  return ordered;
}

}  // namespace ptx2cpu::tool
