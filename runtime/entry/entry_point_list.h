// The runtime's entry points by name and address: the symbols that a JIT links generated code with.
#pragma once

#include <span>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

std::span<const ptx2cpu_entry_point> EntryPoints();

}  // namespace ptx2cpu::rt
