// Addresses in the parameters of a kernel.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/function.h"

namespace ptx2cpu::ir {

// How far an address is from the begin of the kernel's parameters, where that is one number.
std::optional<uint64_t> DistanceInParameters(const Function& f, ValueId address);

}  // namespace ptx2cpu::ir
