#include "lowering/llvm/module/axes.h"

#include "lowering/load/debugger.h"

namespace ptx2cpu::lowering {

bool MaySwapAxes(const EmitOptions& options) { return options.lane_width != 1 && !DebuggerWanted(); }

}  // namespace ptx2cpu::lowering
