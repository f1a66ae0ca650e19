// Functions that device code of older toolkits, and of Python packages, calls for a grid-wide group instead
// of containing the code itself: cudaCGGetIntrinsicHandle and the like. A toolkit links them from its device
// runtime; here they are PTX of our own.
#pragma once

#include <vector>

#include "runtime/engine/ptx_text.h"

namespace ptx2cpu::rt {

// Adds the functions where one of the texts names them. They are weak: a definition among the texts comes
// first.
std::vector<PtxText> WithCooperativeGroups(std::vector<PtxText> texts);

}  // namespace ptx2cpu::rt
