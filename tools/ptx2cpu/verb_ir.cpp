#include <fmt/format.h>

#include "ir/text/text.h"
#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

Status RunIr(const Arguments& arguments) {
  const KernelChoice choice = TRY(ChooseKernel(arguments));
  lowering::BuildOptions options = TRY(ReadBuildOptions(arguments, choice.source));
  std::vector<lowering::StageTime> times;
  const lowering::PtxModule ptx = TRY(choice.source.Open());
  const ir::Module module = TRY(ptx.Build(choice.kernel, options, &times));
  fmt::print("{}", ir::Print(module));
  if (arguments.Has("--time-passes")) PrintTimes(times);
  return {};
}

}  // namespace ptx2cpu::tool
