// What generated code's `launch` pointer means to the runtime: one per launch in flight.
#pragma once

#include "runtime/device_runtime/child_queue.h"
#include "runtime/device_services.h"
#include "runtime/launch.h"
#include "runtime/print_log.h"

namespace ptx2cpu::rt {
class LaunchJob;
}

struct ptx2cpu_launch {
  const ptx2cpu::rt::LaunchOptions* options = nullptr;
  ptx2cpu::rt::LaunchJob* job = nullptr;
  ptx2cpu::rt::DeviceServices* services = nullptr;
  ptx2cpu::rt::PrintLog prints;
  ptx2cpu::rt::ChildQueue children;
};
