// What the test programs share: results go to standard output as lines that are the same on a GPU and here.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define OK(call)                                                                                \
  do {                                                                                          \
    const cudaError_t error_ = (call);                                                          \
    if (error_ != cudaSuccess) {                                                                \
      std::printf("%s:%d: %s: %s\n", __FILE_NAME__, __LINE__, #call, cudaGetErrorName(error_)); \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (false)

#define SHOW(call) std::printf("%s: %s\n", #call, cudaGetErrorName(call))

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

// FNV-1a over bytes: one line for all of a buffer.
inline uint64_t Digest(const void* data, size_t bytes) {
  uint64_t hash = 1469598103934665603ull;
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211ull;
  return hash;
}
inline void PrintDigest(const char* what, const void* data, size_t bytes) {
  std::printf("%s: %016llx\n", what, static_cast<unsigned long long>(Digest(data, bytes)));
}
