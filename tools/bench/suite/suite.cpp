#include "tools/bench/suite/suite.h"

namespace ptx2cpu::suite {

#define KERNEL(Name, name, family, opencl, shows) Problem Name(Size size);
#include "tools/bench/suite/suite.def"
#undef KERNEL

namespace {

constexpr Row kRows[] = {
#define KERNEL(Name, name, family, opencl, shows) \
  {name, #family, shows, opencl, Name, plain::Name, fast::Name},
#include "tools/bench/suite/suite.def"
#undef KERNEL
};

}  // namespace

std::span<const Row> Rows() { return kRows; }

}  // namespace ptx2cpu::suite
