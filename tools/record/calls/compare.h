// Whether shown elements are equal to recorded ones within a bound (see machine.h).
#pragma once

#include <string>
#include <vector>

#include "tools/record/calls/elements.h"

namespace ptx2cpu::calls {

// "" or what differs, and where.
std::string Difference(const ElementType& type, const std::string& bound, const std::vector<std::byte>& ours,
                       const std::vector<std::byte>& theirs);

}  // namespace ptx2cpu::calls
