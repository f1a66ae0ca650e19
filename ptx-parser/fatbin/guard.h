// Runs a body that may run out of memory and turns that into an Error: exceptions never leave this room.
#pragma once

#include <exception>
#include <string>

#include "ir/result.h"

namespace ptx2cpu::ptx::fatbin {

template <typename Body>
auto Guarded(std::string_view what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& problem) {
    return Fail(ErrorCode::kFile, std::string(what) + ": " + problem.what());
  }
}

}  // namespace ptx2cpu::ptx::fatbin
