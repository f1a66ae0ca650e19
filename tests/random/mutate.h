// Changes a kernel of the generator into one that the generator does not write: other operations, operands,
// guards, constants, instructions left out, twice or in another order. It still parses; whether it ends, and
// whether its results depend on the order of threads, is for the interpreter to decide.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2cpu::random_test {

// The same text for the same seed.
std::string Mutate(const std::string& module, uint64_t seed);

}  // namespace ptx2cpu::random_test
