// Exceptions inside the libraries become errors of the current call or kernel; no exception ends the user's
// process.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2cpu::rt {

struct Failure {
  enum class Kind : uint8_t {
    kMemory,    // memory is exhausted
    kSystem,    // the system refused something, a thread for one
    kInternal,  // our bug
  };
  Kind kind = Kind::kInternal;
  std::string text;  // for the user; of our bugs also how to report them
};

// The failure that the current exception is.
Failure CurrentFailure();

// Appended to the text of an internal error.
inline constexpr const char* kReportAdvice =
    "This is a bug of ptx2cpu, not of the program: please report it with this message and the program's PTX "
    "(ptx2cpu extract PROGRAM -o DIR).";

}  // namespace ptx2cpu::rt
