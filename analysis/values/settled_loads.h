// Loads that give every thread of a block the same value if the address is the same, whenever each of them
// runs.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// By instruction. A weak load of a kernel is settled if on no way from the last barrier of the whole block
// (or the kernel's entry) to it a thread can learn of another's progress: by an atomic operation, an ordered
// or volatile load, a fence, a collective, a call, another barrier. Without a data race, only a store that
// follows one thread's load and precedes another's makes their values differ; the second thread would have to
// learn of that store, after the barrier that precedes both loads. For the phases Simt and Split; in others,
// no load is settled.
std::vector<bool> FindSettledLoads(const ir::Function& f);

}  // namespace ptx2cpu::analysis
