#include <fmt/format.h>

#include <chrono>

#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

Status InterpretKernel(const Arguments& arguments, std::string stage) {
  const KernelChoice choice = TRY(ChooseKernel(arguments));
  lowering::BuildOptions options = TRY(ReadBuildOptions(arguments, choice.source));
  options.pipeline.stop_after = std::move(stage);
  harness::KernelCall call = TRY(ReadKernelCall(arguments));
  const lowering::PtxModule ptx = TRY(choice.source.Open());
  const ir::Module module = TRY(ptx.Build(choice.kernel, options));
  const auto start = std::chrono::steady_clock::now();
  const Status status = harness::RunInterpreter(module, call);
  fmt::print("{}", call.printed);
  TRY_STATUS(status);
  if (arguments.Has("--time")) {
    fmt::print(stderr, "interpreted in {:.3f} ms\n",
               std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return PrintBuffers(arguments, call);
}

Status RunInterpret(const Arguments& arguments) {
  return InterpretKernel(arguments, arguments.Value("--at").value_or(std::string(kInterpretedStage)));
}

}  // namespace ptx2cpu::tool
