// The functions that all descriptors have: they make them, set and return lists of numbers.
#pragma once

#include <algorithm>

#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

constexpr int kLastType = 21;  // of those in cuDNN 9, most of which no function takes

template <typename Descriptor>
cudnnStatus_t Create(Descriptor** descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *descriptor = new Descriptor;
  return CUDNN_STATUS_SUCCESS;
}
template <typename Descriptor>
cudnnStatus_t Destroy(Descriptor* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

inline bool ArePositive(const std::vector<int64_t>& numbers, int64_t least = 1) {
  return std::ranges::all_of(numbers, [&](int64_t number) { return number >= least; });
}

inline std::vector<int64_t> ListOf(const int* numbers, int count) {
  return std::vector<int64_t>(numbers, numbers + count);
}

// Results that a caller does not want are null.
template <typename T, typename V>
void Give(T* to, V value) {
  if (to != nullptr) *to = static_cast<T>(value);
}
inline void GiveList(int* to, const std::vector<int64_t>& numbers, int wanted) {
  for (size_t n = 0; to != nullptr && n < numbers.size() && static_cast<int>(n) < wanted; ++n)
    to[n] = static_cast<int>(numbers[n]);
}

}  // namespace ptx2cpu::cudnn
