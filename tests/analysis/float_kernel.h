// Kernels of a few float operations, for analyses of the possible values.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "ir/text/text.h"

namespace ptx2cpu {

// A kernel with the loaded floats %x and %y, the numbers %zero and %full, the predicate %odd, more
// `definitions`, and `body`, of which it stores %r at the end.
ir::Module FloatKernel(const std::string& definitions, const std::string& body);

// The value that the kernel stores last.
ir::ValueId Stored(const ir::Function& f);

// A loop that carries %m from `start`; `next` computes %m2 of it. Its last value is %r.
std::string FloatLoop(const std::string& start, const std::string& next);

}  // namespace ptx2cpu
