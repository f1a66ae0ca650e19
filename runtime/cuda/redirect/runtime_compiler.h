// Programs that compile CUDA C++ while they run. NVRTC is theirs and needs no GPU; asked for the machine code
// of a device, it makes PTX instead, and what it gives as machine code is that PTX, which our driver takes in
// its place.
#pragma once

#include <link.h>

#include <vector>

#include "runtime/cuda/redirect/dynamic_symbols.h"

namespace ptx2cpu::redirect {

// Where the object is an NVRTC, it offers functions of ours from now on, which call its own. What objects
// that have asked for them already must change is returned. Opens no library, runs no code of the object:
// legal while it is being loaded.
std::vector<Rebinding> HookRuntimeCompiler(const link_map& object);

}  // namespace ptx2cpu::redirect
