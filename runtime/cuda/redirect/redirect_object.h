// One object of the process: whether it contains a CUDA runtime that is not ours, and if so, its functions
// become jumps to ours.
#pragma once

#include <string>

#include "runtime/cuda/redirect/patch.h"
#include "runtime/cuda/redirect/program_symbols.h"

namespace ptx2cpu::redirect {

enum class Finding : uint8_t {
  kNothing,          // no CUDA, or ours, or a caller of a shared runtime
  kStaticRuntime,    // a runtime was linked into it, and its symbols name the functions
  kStrippedRuntime,  // the same without symbols
  kCudaLibrary,      // it is a libcudart.so or libcuda.so, and not ours
};

Finding Examine(const LoadedObject& object);

// For kStaticRuntime and kCudaLibrary. Ends the process with a message where it cannot be done.
Slots Redirect(const LoadedObject& object, Finding finding);

// Ends the process as a shell does it for programs that cannot be executed.
[[noreturn]] void GiveUp(const std::string& file, const std::string& why, const char* what_to_do);

}  // namespace ptx2cpu::redirect
