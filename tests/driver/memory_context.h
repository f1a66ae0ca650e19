// A test's way into the driver: the first device's primary context, current in the calling thread.
#pragma once

#include <catch2/catch.hpp>

#include "driver_api.h"
#include "runtime/driver/context.h"
#include "runtime/driver/device.h"

namespace driver_memory_test {

using namespace ptx2cpu::driver;  // NOLINT: the functions under test and CUDA's names

inline Context& UseContext() {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  Context& context = Devices::Get()[0].primary();
  if (!context.alive()) context.Begin(0);
  ContextStack::OfThread().SetTop(&context);
  return context;
}

}  // namespace driver_memory_test
