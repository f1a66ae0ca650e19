// Our declarations of the CUDA driver API against the header of an installed toolkit: numbers, sizes,
// offsets. Nearly all of it is decided by the compiler. Built only where a toolkit is found.
#include <catch2/catch.hpp>
#include <cstddef>

#include "runtime/cuda/abi/driver_types.h"

namespace ours = ptx2cpu::cuda;

namespace {
// The toolkit's macros of the same names come with its header; so ours are read before.
void* const kStreams[] = {ours::CU_STREAM_LEGACY, ours::CU_STREAM_PER_THREAD};
void* const kLaunchParameters[] = {ours::CU_LAUNCH_PARAM_END, ours::CU_LAUNCH_PARAM_BUFFER_POINTER,
                                   ours::CU_LAUNCH_PARAM_BUFFER_SIZE};
#define NUMBER(name) constexpr long long our_##name = static_cast<long long>(ours::name);
#include "driver_abi_numbers.def"
#undef NUMBER
}  // namespace

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>

#define NUMBER(name) static_assert(our_##name == static_cast<long long>(name));
#include "driver_abi_numbers.def"
#undef NUMBER

#define RECORD(type) \
  static_assert(sizeof(ours::type) == sizeof(::type) && alignof(ours::type) == alignof(::type));
#define MEMBER(type, member)                                                \
  static_assert(offsetof(ours::type, member) == offsetof(::type, member) && \
                sizeof(static_cast<ours::type*>(nullptr)->member) ==        \
                    sizeof(static_cast<::type*>(nullptr)->member));
#include "tests/driver_abi/records.def"
#undef RECORD
#undef MEMBER

TEST_CASE("handles that are numbers have the toolkit's numbers") {
  CHECK(kStreams[0] == static_cast<void*>(CU_STREAM_LEGACY));
  CHECK(kStreams[1] == static_cast<void*>(CU_STREAM_PER_THREAD));
  CHECK(kLaunchParameters[0] == CU_LAUNCH_PARAM_END);
  CHECK(kLaunchParameters[1] == CU_LAUNCH_PARAM_BUFFER_POINTER);
  CHECK(kLaunchParameters[2] == CU_LAUNCH_PARAM_BUFFER_SIZE);
}
