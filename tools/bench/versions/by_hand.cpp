// Reductions as C++ loops.
#include <algorithm>
#include <array>

#include "tools/bench/versions/versions.h"

namespace ptx2cpu::bench {

namespace {

constexpr uint32_t kWarp = 32;

// The sum of a warp's values ends in lane 0; every step reads what the step before has written.
uint32_t FoldWarp(std::array<uint32_t, kWarp>& values, uint32_t lanes) {
  for (uint32_t offset = kWarp / 2; offset > 0; offset /= 2) {
    std::array<uint32_t, kWarp> other;
    for (uint32_t lane = 0; lane < kWarp; ++lane)
      other[lane] = values[lane + offset < kWarp ? lane + offset : lane];
    for (uint32_t lane = 0; lane < kWarp; ++lane) values[lane] += lane + offset < lanes ? other[lane] : 0;
  }
  return values[0];
}

}  // namespace

void ReduceTree(std::span<const uint32_t> in, std::span<uint32_t> sums, uint32_t threads) {
  const auto blocks = static_cast<uint32_t>(sums.size());
  const uint32_t warps = (threads + kWarp - 1) / kWarp;
  for (uint32_t block = 0; block < blocks; ++block) {
    std::array<uint32_t, kWarp> warp_sums{};
    for (uint32_t warp = 0; warp < warps; ++warp) {
      const uint32_t lanes = std::min(kWarp, threads - warp * kWarp);
      std::array<uint32_t, kWarp> values{};
      for (size_t base = size_t{block} * threads + warp * kWarp; base < in.size();
           base += size_t{blocks} * threads) {
        const size_t here = std::min<size_t>(lanes, in.size() - base);
        if (here == kWarp) {
          for (uint32_t lane = 0; lane < kWarp; ++lane) values[lane] += in[base + lane];
        } else {
          for (uint32_t lane = 0; lane < here; ++lane) values[lane] += in[base + lane];
        }
      }
      warp_sums[warp] = FoldWarp(values, lanes);
    }
    sums[block] = FoldWarp(warp_sums, warps);
  }
}

void ReduceSum(std::span<const uint32_t> in, std::span<uint32_t> sums, uint32_t threads) {
  const size_t step = sums.size() * threads;
  for (size_t block = 0; block < sums.size(); ++block) {
    uint32_t sum = 0;
    for (size_t base = block * threads; base < in.size(); base += step) {
      const size_t end = std::min<size_t>(base + threads, in.size());
      for (size_t i = base; i < end; ++i) sum += in[i];
    }
    sums[block] = sum;
  }
}

}  // namespace ptx2cpu::bench
