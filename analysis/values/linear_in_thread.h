// Finds the values that are linear in the thread's coordinates, in one piece or in several: they are computed
// from uniform values, tid and laneid by operations that keep the form base + strides, and a comparison of
// such values may choose between them. A vector of threads holds such a value as a scalar and a constant
// vector, so that computing it again costs next to nothing, while a copy that is kept for each thread has
// lost the form: an access whose address was kept is a gather.
#pragma once

#include <vector>

#include "analysis/values/uniformity.h"

namespace ptx2cpu::analysis {

// Per value. `level`: what is uniform there counts as a base. Parameters of blocks are linear only where
// they are uniform. In the phases Simt and Split.
std::vector<bool> LinearInThread(const ir::Function& f, const UniformityResult& uniformity, ir::Level level);

}  // namespace ptx2cpu::analysis
