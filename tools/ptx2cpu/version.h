// What this program was built from.
#pragma once

#include <string>

namespace ptx2cpu::tool {

// "ptx2cpu 0.1.0 (commit 01234567, LLVM 19.1.7)"; "+" after a commit: with changes that were not committed.
// Without the commit where it was not built in a clone.
std::string Version();

}  // namespace ptx2cpu::tool
