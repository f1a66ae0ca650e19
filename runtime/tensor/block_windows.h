// The shared windows that an operation of the tensor cores (tcgen05) reaches.
#pragma once

#include <array>
#include <cstring>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt::tensor {

// The shared windows of a block, or of the pair that it belongs to, the even one first.
class Windows {
 public:
  Windows(const ptx2cpu_block& block, bool pair)
      : windows_{block.shared, nullptr}, bytes_(block.window_bytes) {
    const uint32_t even = block.cluster_ctarank & ~1u;
    if (!pair) return;
    is_good_ = even + 1 < block.cluster_nctarank;
    if (is_good_) windows_ = {block.cluster_shared[even], block.cluster_shared[even + 1]};
  }
  bool is_good() const { return is_good_; }
  // Null where the window is shorter.
  uint8_t* At(uint32_t block, uint64_t offset, uint32_t bytes) const {
    return offset <= bytes_ && bytes <= bytes_ - offset ? windows_[block] + offset : nullptr;
  }

 private:
  std::array<uint8_t*, 2> windows_;
  uint64_t bytes_;
  bool is_good_ = true;
};

inline uint32_t WordAt(const uint8_t* at) {
  uint32_t word;
  std::memcpy(&word, at, 4);
  return word;
}

inline constexpr uint32_t kChunkBytes = 16;

}  // namespace ptx2cpu::rt::tensor
