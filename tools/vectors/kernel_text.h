// Writing the test kernel of one instruction form: thread i loads element i of each input, runs the
// instruction and stores its results.
#pragma once

#include <optional>
#include <string>

#include "ptx-parser/match/match.h"
#include "tools/vectors/combinations.h"

namespace ptx2cpu::vectors {

struct TestKernel {
  std::string name;
  std::string ptx;   // the .entry
  std::string runs;  // its `// run:` lines
  const ptx::Form* form = nullptr;
  Choice choice;
};

// Nothing when the form has operands that this scheme cannot feed (memory, labels, 4-bit registers).
std::optional<TestKernel> MakeKernel(const ptx::Row& row, const ptx::Form& form, const Choice& choice,
                                     size_t number);

}  // namespace ptx2cpu::vectors
