// Resumable kernels written by hand: a state machine per lane, in C++, as generated code has it
// (runtime/abi/abi.h).
//
// clang-format off
//     struct Program {
//       static void Lane(LaneState& lane) {
//         switch (lane.point()) {
//           case 0: ...; return lane.Wait(1, mask);     // suspends at point 1; returning without a wait exits
//           case 1: ...
//       }}
//       static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes);
//     };
// clang-format on
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/launch/launch.h"

namespace ptx2cpu::test {

inline constexpr uint32_t kSlotsPerThread = 8;

inline uint64_t& SlotOf(ptx2cpu_block* block, uint32_t thread, uint32_t number) {
  return reinterpret_cast<uint64_t*>(block->slots)[size_t{thread} * kSlotsPerThread + number];
}
inline uint32_t& WordOf(ptx2cpu_block* block, uint32_t thread, uint32_t number) {
  return block->words[number * PTX2CPU_MAX_THREADS_PER_BLOCK + thread];
}
template <typename T>
T ParamOf(const ptx2cpu_block* block) {
  T value;
  std::memcpy(&value, block->params, sizeof value);
  return value;
}

struct LaneState {
  ptx2cpu_block* block;
  uint32_t thread;
  bool waits = false;

  uint32_t lane() const { return thread % 32; }
  uint32_t warp() const { return thread / 32; }
  uint32_t point() const { return block->points[thread]; }
  uint64_t& slot(uint32_t number) { return SlotOf(block, thread, number); }
  uint32_t word(uint32_t number) { return WordOf(block, thread, number); }
  void Wait(uint32_t point, uint32_t word0 = 0, uint32_t word1 = 0, uint32_t word2 = 0) {
    block->points[thread] = point;
    WordOf(block, thread, 0) = word0;
    WordOf(block, thread, 1) = word1;
    WordOf(block, thread, 2) = word2;
    waits = true;
  }
};

template <typename Program>
void StepOf(ptx2cpu_block* block, uint32_t warp, uint32_t entry) {
  const uint32_t lanes = block->live[warp];
  if (entry != PTX2CPU_ENTRY_RESUME) {
    if constexpr (requires { Program::Collective(block, warp, 0u, 0u); }) {
      Program::Collective(block, warp, entry - PTX2CPU_ENTRY_COLLECTIVE, lanes);
    }
    return;
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    LaneState lane{block, warp * 32 + static_cast<uint32_t>(std::countr_zero(rest))};
    Program::Lane(lane);
    if (!lane.waits) block->live[warp] &= ~(1u << lane.lane());
  }
}

template <typename Program>
ptx2cpu_kernel MakeStepKernel(const char* name, const std::vector<ptx2cpu_point>& points,
                              uint32_t parameter_bytes = 8) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = name;
  kernel.run_step = StepOf<Program>;
  kernel.points = points.data();
  kernel.point_count = static_cast<uint32_t>(points.size());
  kernel.parameter_bytes = parameter_bytes;
  kernel.slot_bytes_per_thread = kSlotsPerThread * 8;
  kernel.slot_count = 1;
  kernel.static_shared_bytes = 1024;
  return kernel;
}

template <typename T>
std::span<const std::byte> AsParameters(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

inline const ptx2cpu_point kStart = {PTX2CPU_POINT_START, 0, 0, "start"};
inline const ptx2cpu_point kYield = {PTX2CPU_POINT_YIELD, 0, 0, "yield"};

}  // namespace ptx2cpu::test
