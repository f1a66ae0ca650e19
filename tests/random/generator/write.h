// From a tree to PTX text.
//
// How the exact set of lanes at a place is known without asking the machine: every branch is decided by the
// bit of a word that all lanes of the warp compute alike (a hash of the warp and the trip, a loaded word, a
// range of lanes), so each lane carries in a register which lanes are where it is. The same one level up for
// the warps of a block, which gives the counts of named barriers. Lanes that leave early do so by a set that
// was fixed before the statement they leave from; at the end of every statement inside, the rest of the set
// leaves too.
//
// Each thread folds what it sees into a hash, which it stores at its end: first argument, a word per thread.
// The second argument (kSums words) takes atomics whose final value does not depend on their order. The third
// is kInputs random words.
#pragma once

#include "tests/random/generator/tree.h"

namespace ptx2cpu::random_kernels {

inline constexpr uint32_t kSums = 8, kInputs = 64;

struct KernelText {
  std::string text;  // without .version, .target
  std::string name;
  Features needs = 0;                           // what is really in it
  std::string RunLine(const Tree& tree) const;  // `// run:` line of a vector file
};

KernelText Write(const Tree& tree, const std::string& name);
// A module of its own, with the run line.
std::string WriteModule(const Tree& tree, const std::string& name = "random_kernel");
std::string ModuleHead();

}  // namespace ptx2cpu::random_kernels
