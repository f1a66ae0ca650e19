// What generated code's `launch` pointer means to the runtime: one per launch in flight.
#pragma once

#include <mutex>
#include <string>

#include "runtime/launch.h"

struct ptx2cpu_launch {
  const ptx2cpu::rt::LaunchOptions* options = nullptr;
  std::mutex print_mutex;
  std::string printed;  // device printf output not yet handed on

  void Print(std::string_view text) {
    std::lock_guard lock(print_mutex);
    printed.append(text);
  }
};
