// What `run` needs of the compiler itself.
#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

Status RunStages(const Arguments& arguments) {
  if (arguments.Has("--interpret")) return InterpretKernel(arguments, "");
  const KernelChoice choice = TRY(ChooseKernel(arguments));
  const lowering::BuildOptions build = TRY(ReadBuildOptions(arguments, choice.source));
  std::vector<lowering::StageTime> times;
  const lowering::PtxModule ptx = TRY(choice.source.Open());
  static_cast<void>(TRY(ptx.Build(choice.kernel, build, &times)));
  if (arguments.Has("--time-passes")) PrintTimes(times);
  return {};
}

}  // namespace ptx2cpu::tool
