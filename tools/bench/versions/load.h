// Kernels of the corpus and data for them.
#pragma once

#include <memory>

#include "runtime/engine/ptx2cpu.h"
#include "tools/bench/versions/versions.h"

namespace ptx2cpu::bench {

template <typename T>
std::shared_ptr<std::vector<T>> Data(size_t count) {
  auto data = std::make_shared<std::vector<T>>(count);
  uint32_t state = 12345;
  for (T& value : *data) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<T>(state >> 16 & 0xff);
  }
  return data;
}

inline Result<Kernel> Load(const std::string& directory, const char* file, const char* kernel) {
  const Program program = TRY(Program::Load(directory + "/" + file));
  return program.Get(kernel);
}

// With warp operations: warp_kernels.cpp.
Result<Subject> WarpArgmax(const std::string& directory);
Result<Subject> RadixSort(const std::string& directory);
Result<Subject> Compaction(const std::string& directory);
Result<Subject> SparseRows(const std::string& directory);
inline constexpr Result<Subject> (*kWarpKernels[])(const std::string&) = {WarpArgmax, RadixSort, Compaction,
                                                                          SparseRows};

}  // namespace ptx2cpu::bench
