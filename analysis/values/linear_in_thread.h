// Which values are linear in the thread's coordinates: made of uniform values, tid and laneid by operations
// that keep a form of base + strides, in one piece or in some: what a comparison of such values chooses. A
// vector of threads has such a value as a scalar and a constant vector, so that computing it again costs next
// to nothing, while a copy that is kept for each thread has lost the form: an access whose address was kept
// is a gather.
#pragma once

#include <vector>

#include "analysis/values/uniformity.h"

namespace ptx2cpu::analysis {

// Per value. `level`: what is uniform there counts as a base. Parameters of blocks are linear only where
// they are uniform. In the phases Simt and Split.
std::vector<bool> LinearInThread(const ir::Function& f, const UniformityResult& uniformity, ir::Level level);

}  // namespace ptx2cpu::analysis
