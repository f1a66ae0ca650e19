// The functions of runtime/abi/entry_points.def, except rounding (rounding.cpp).
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "runtime/abi/abi.h"
#include "runtime/device_printf.h"
#include "runtime/fault.h"
#include "runtime/launch_state.h"

extern "C" {

void ptx2cpu_fault(ptx2cpu_block* block, uint32_t kind, uint32_t thread, uint32_t ptx_line) {
  ptx2cpu::rt::FaultRecord record;
  record.kind = kind;
  record.thread = thread;
  record.ptx_line = ptx_line;
  ptx2cpu::rt::JumpToLandingPoint(record);
}

void ptx2cpu_assert_fail(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, const char* expression, const char* file,
                         uint32_t line, const char* function, uint64_t char_size) {
  ptx2cpu::rt::FaultRecord record;
  record.kind = PTX2CPU_FAULT_ASSERT;
  record.thread = thread;
  record.ptx_line = ptx_line;
  std::snprintf(record.text, sizeof record.text, "%s:%u: %s: `%s'", file == nullptr ? "?" : file, line,
                function == nullptr ? "?" : function, expression == nullptr ? "?" : expression);
  ptx2cpu::rt::JumpToLandingPoint(record);
}

int32_t ptx2cpu_vprintf(ptx2cpu_block* block, const char* format, const uint8_t* arguments) {
  std::string text;
  const int count = ptx2cpu::rt::FormatDevicePrintf(text, format, arguments);
  block->launch->Print(text);
  return count;
}

uint8_t* ptx2cpu_malloc(ptx2cpu_block* block, uint64_t bytes) { return static_cast<uint8_t*>(std::malloc(bytes)); }
void ptx2cpu_free(ptx2cpu_block* block, uint8_t* pointer) { std::free(pointer); }

uint64_t ptx2cpu_clock(ptx2cpu_block* block) {
#if defined(__x86_64__)
  return __rdtsc();
#else
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
#endif
}

uint64_t ptx2cpu_globaltimer(ptx2cpu_block* block) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void ptx2cpu_nanosleep(ptx2cpu_block* block, uint32_t nanoseconds) { std::this_thread::yield(); }

uint64_t ptx2cpu_cluster_address(ptx2cpu_block* block, uint64_t offset) {
  const uint64_t number = offset >> PTX2CPU_CLUSTER_NUMBER_SHIFT;
  if (number > block->cluster_nctarank) return 0;
  const uint8_t* window = number == 0 ? block->shared : block->cluster_shared[number - 1];
  return reinterpret_cast<uint64_t>(window) + offset - (number << PTX2CPU_CLUSTER_NUMBER_SHIFT);
}

uint64_t ptx2cpu_cluster_offset(ptx2cpu_block* block, uint64_t address) {
  uint64_t offset = address - reinterpret_cast<uint64_t>(block->shared);
  if (offset < block->shared_bytes) return offset;
  for (uint64_t rank = 0; rank < block->cluster_nctarank; ++rank) {
    offset = address - reinterpret_cast<uint64_t>(block->cluster_shared[rank]);
    if (offset < block->shared_bytes) return offset | (rank + 1) << PTX2CPU_CLUSTER_NUMBER_SHIFT;
  }
  return ~uint64_t{0};
}

}  // extern "C"
