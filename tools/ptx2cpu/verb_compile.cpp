#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {
Status RunCompile(const Arguments&) { return Fail(ErrorCode::kUnsupported, "compile is not built in"); }
}  // namespace ptx2cpu::tool
