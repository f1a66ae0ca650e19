// Programs that compile CUDA C++ while they run. NVRTC belongs to the program and needs no GPU. When machine
// code for a device is requested, it makes PTX instead, and that PTX is returned as the machine code: our
// driver accepts it.
#pragma once

#include <link.h>

#include <vector>

#include "runtime/cuda/redirect/dynamic_symbols.h"

namespace ptx2cpu::redirect {

// Where the object is an NVRTC, it offers functions of ours from now on, which call its own. What objects
// that have already looked them up must change is returned. Opens no library, runs no code of the object:
// legal while it is being loaded.
std::vector<Rebinding> HookRuntimeCompiler(const link_map& object);

}  // namespace ptx2cpu::redirect
