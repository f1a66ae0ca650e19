// Programs that link device code while they run. nvJitLink belongs to the program and needs no GPU; it makes
// machine code. Inputs that contain PTX do not reach it, since our driver links them. From LTO IR, which only
// nvJitLink can read, it makes PTX.
#pragma once

#include <link.h>

#include <vector>

#include "runtime/cuda/redirect/dynamic_symbols.h"

namespace ptx2cpu::redirect {

// As HookRuntimeCompiler (runtime_compiler.h), where the object is an nvJitLink.
std::vector<Rebinding> HookRuntimeLinker(const link_map& object);

}  // namespace ptx2cpu::redirect
