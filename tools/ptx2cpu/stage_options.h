// Options shared by verbs that run the pipeline: --collapse, --exec, --stop-after, --dump-after,
// --verify-each, --time-passes, --width; and --grid, --block, --arg for those that launch.
#pragma once

#include "lowering/compile.h"
#include "tools/harness/kernel_call.h"
#include "tools/ptx2cpu/command_line.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

// What the interpreter runs where no stage is named: the program as it was translated, with what a warp's
// lock step promises it.
inline constexpr std::string_view kInterpretedStage = "keep-statements-in-step";

Result<lowering::BuildOptions> ReadBuildOptions(const Arguments& arguments, const Source& source);
Result<uint32_t> ReadLaneWidth(const Arguments& arguments);  // as in lowering::EmitOptions
Result<harness::KernelCall> ReadKernelCall(const Arguments& arguments);
// The out and inout buffers after a run: JSON lines on standard output, or raw files (--save).
Status PrintBuffers(const Arguments& arguments, const harness::KernelCall& call);
void PrintTimes(const std::vector<lowering::StageTime>& times);  // to standard error

}  // namespace ptx2cpu::tool
