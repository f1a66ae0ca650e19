#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "lowering/llvm/output/object.h"
#include "runtime/engine/module_options.h"
#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

namespace {

// Every kernel of the file, or the one of --kernel; a name that several images define is taken from the
// first.
Result<std::vector<ir::Module>> BuildKernels(const Arguments& arguments,
                                             std::vector<lowering::StageTime>& times) {
  const std::optional<std::string> wanted = arguments.Value("--kernel");
  const std::vector<Source> sources = TRY(LoadSources(wanted, arguments));
  std::vector<ir::Module> modules;
  std::map<std::string, bool> done;
  Progress progress("translating");
  for (const Source& source : sources) {
    lowering::BuildOptions options = TRY(ReadBuildOptions(arguments, source));
    const lowering::PtxModule ptx = TRY(source.Open());
    const std::vector<std::string> kernels = ptx.Kernels();
    std::optional<std::string> only;
    if (wanted) only = ptx::MatchKernel(kernels, *wanted);
    for (const std::string& kernel : kernels) {
      if ((wanted && kernel != only) || done[kernel]) continue;
      progress.Step(modules.size(), kernels.size(), kernel);
      modules.push_back(TRY(ptx.Build(kernel, options, &times)));
      done[kernel] = true;
    }
  }
  if (modules.empty())
    return Fail(ErrorCode::kNotFound, fmt::format("no kernel to compile in {}", arguments.plain()[0]));
  return modules;
}

}  // namespace

Status RunCompile(const Arguments& arguments) {
  const std::optional<std::string> output = arguments.Value("--output");
  if (!output) return Fail(ErrorCode::kUsage, "compile needs -o OUT.o, OUT.so, OUT.s or OUT.ll");
  const lowering::FileKind kind = TRY(lowering::FileKindOf(*output));
  lowering::ObjectOptions options;
  options.target = TRY(lowering::ResolveTarget(arguments.Value("--target").value_or("native")));
  options.optimisation = static_cast<int>(TRY(arguments.Number("--opt", 3, 3)));
  options.lane_width = TRY(ReadLaneWidth(arguments));
  options.alignment = arguments.Has("--check-alignment") ? lowering::AlignmentChecks::kAtAccess
                                                         : rt::ModuleOptions::AlignmentChecksWanted();
  // An object has one version of a kernel: it checks the parameters itself.
  if (options.alignment == lowering::AlignmentChecks::kAssumed)
    options.alignment = lowering::AlignmentChecks::kNoted;
  std::vector<lowering::StageTime> times;
  const std::vector<ir::Module> modules = TRY(BuildKernels(arguments, times));
  std::vector<const ir::Module*> pointers;
  for (const ir::Module& module : modules) pointers.push_back(&module);
  const std::string bytes = TRY(lowering::CompileFile(pointers, kind, options));
  const bool linkable = kind == lowering::FileKind::kObject || kind == lowering::FileKind::kSharedObject;
  std::string header;
  const std::filesystem::path header_path = std::filesystem::path(*output).replace_extension(".h");
  if (linkable) header = TRY(lowering::WriteHeader(pointers, header_path.stem().string()));
  TRY_STATUS(WriteFileAtomically(*output, bytes));
  if (linkable) TRY_STATUS(WriteFileAtomically(header_path.string(), header));
  if (arguments.Has("--time-passes")) PrintTimes(times);
  return {};
}

}  // namespace ptx2cpu::tool
