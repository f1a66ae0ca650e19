// Makes the first device's primary context current in the calling thread of a test.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace driver_memory_test {

using namespace ptx2cpu::driver;  // NOLINT: the functions under test and CUDA's names

// On any thread: no assertion of Catch, which are for the test's own thread only.
inline Context& UseContext() {
  if (cuInit(0) != CUDA_SUCCESS) std::abort();
  Context& context = Devices::Get()[0].primary();
  if (!context.alive()) context.Begin(0);
  ContextStack::OfThread().SetTop(&context);
  return context;
}

}  // namespace driver_memory_test
