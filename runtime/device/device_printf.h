// Device printf: formats as CUDA does, from the argument buffer that compiled kernels pass to vprintf.
#pragma once

#include <cstdint>
#include <string>

namespace ptx2cpu::rt {

// `arguments`: values one after the other, each aligned to its own size (int 4, long long, double and
// pointers 8 bytes). Appends to `out`; returns the number of arguments used, or -1 when a conversion is
// malformed (the rest of the format is then appended unchanged).
int FormatDevicePrintf(std::string& out, const char* format, const uint8_t* arguments);

}  // namespace ptx2cpu::rt
