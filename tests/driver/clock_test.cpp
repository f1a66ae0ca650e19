// The clock that kernels read goes at the rate that the device reports.
#include <algorithm>
#include <cmath>

#include "tests/driver/driver_session.h"

using namespace driver_test;

namespace {

// Waits until the timer is 20 ms on; how far clock and timer were on then.
const std::string kWait = kHead + R"(
.visible .entry wait(.param .u64 p) {
  .reg .u64 %d<8>;
  .reg .pred %q;
  ld.param.u64 %d0, [p];
  mov.u64 %d1, %clock64;
  mov.u64 %d2, %globaltimer;
AGAIN:
  mov.u64 %d3, %globaltimer;
  sub.u64 %d4, %d3, %d2;
  setp.lt.u64 %q, %d4, 20000000;
  @%q bra AGAIN;
  mov.u64 %d5, %clock64;
  sub.u64 %d6, %d5, %d1;
  st.global.u64 [%d0], %d6;
  st.global.u64 [%d0+8], %d4;
  ret;
}
)";

}  // namespace

TEST_CASE("%clock64 counts at CU_DEVICE_ATTRIBUTE_CLOCK_RATE") {
  Session session;
  CUmodule module;
  CUfunction function;
  REQUIRE(cuModuleLoadData(&module, kWait.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "wait") == CUDA_SUCCESS);
  int kilohertz = 0, again = 0;
  REQUIRE(cuDeviceGetAttribute(&kilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetAttribute(&again, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0) == CUDA_SUCCESS);
  CHECK(kilohertz == again);
  // The thread may be interrupted between its two readings, so the closest of a few tries counts.
  double closest = 1;
  for (int i = 0; i < 10 && closest > 0.01; ++i) {
    uint64_t passed[2] = {};
    REQUIRE(Run(function, 1, 1, nullptr, reinterpret_cast<CUdeviceptr>(passed)) == CUDA_SUCCESS);
    REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
    const double expected = static_cast<double>(passed[1]) * 1e-6 * kilohertz;
    closest = std::min(closest, std::abs(static_cast<double>(passed[0]) / expected - 1));
  }
  CHECK(closest < 0.01);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}
