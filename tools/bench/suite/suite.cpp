#include "tools/bench/suite/suite.h"

namespace ptx2cpu::suite {

#define KERNEL(Name, name, family, opencl, finds, shows) Problem Name(Size size);
#include "tools/bench/suite/suite.def"
#undef KERNEL

// The namespaces that openmp.cpp of each family is compiled for.
#define KERNEL(Name, name, family, opencl, finds, shows) void Name(const Data& data);
namespace native_plain {
#include "tools/bench/suite/suite.def"
}
namespace native_fast {
#include "tools/bench/suite/suite.def"
}
#ifdef PTX2CPU_SUITE_V3
namespace v3_plain {
#include "tools/bench/suite/suite.def"
}
namespace v3_fast {
#include "tools/bench/suite/suite.def"
}
#define V3(Name) {v3_plain::Name, v3_fast::Name}
#else
#define V3(Name) \
  OpenMpBuilds {}
#endif
#undef KERNEL

namespace {

constexpr Row kRows[] = {
#define KERNEL(Name, name, family, opencl, finds, shows) \
  {name, #family, finds, shows, opencl, Name, {{{native_plain::Name, native_fast::Name}, V3(Name)}}},
#include "tools/bench/suite/suite.def"
#undef KERNEL
};

}  // namespace

std::span<const Row> Rows() { return kRows; }

}  // namespace ptx2cpu::suite
