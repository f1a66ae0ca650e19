// The litmus tests that every scope runs.
#pragma once

#include <vector>

#include "tests/litmus/litmus.h"

namespace ptx2cpu::litmus {

const std::vector<Litmus>& Patterns();
const Litmus& Pattern(const std::string& name);

}  // namespace ptx2cpu::litmus
