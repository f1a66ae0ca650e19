// The table of kernels (suite.def).
#pragma once

#include <span>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

// openmp.cpp of each family is compiled for both.
#define KERNEL(Name, name, family, opencl, shows) void Name(const Data& data);
namespace plain {
#include "tools/bench/suite/suite.def"
}
namespace fast {  // -ffast-math
#include "tools/bench/suite/suite.def"
}
#undef KERNEL

struct Row {
  std::string_view name, family, shows;
  bool opencl = false;
  Problem (*problem)(Size size) = nullptr;
  OpenMpFunction plain = nullptr, fast = nullptr;
};
std::span<const Row> Rows();

}  // namespace ptx2cpu::suite
