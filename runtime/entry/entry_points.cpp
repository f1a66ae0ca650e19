// The functions of runtime/abi/entry_points.def, except rounding (rounding.cpp).
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/abi/abi.h"
#include "runtime/abi/check.h"
#include "runtime/abi/thread_place.h"
#include "runtime/check/checks.h"
#include "runtime/check/wanted.h"
#include "runtime/device/clock.h"
#include "runtime/device/device_printf.h"
#include "runtime/launch/launch_job.h"
#include "runtime/launch/launch_state.h"
#include "runtime/worker/fault.h"

namespace {

// One number, by which the output of blocks is put in the order of the grid.
uint64_t BlockNumber(const ptx2cpu_block& block) {
  return (uint64_t{block.ctaid[2]} * block.nctaid[1] + block.ctaid[1]) * block.nctaid[0] + block.ctaid[0];
}

void PauseProcessor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

struct Assertion {
  const char* expression;
  const char* file;
  uint32_t line;
  const char* function;
};

const char* OrUnknown(const char* text) { return text == nullptr ? "?" : text; }

std::string AssertionText(const Assertion& a) {
  return std::string(OrUnknown(a.file)) + ":" + std::to_string(a.line) + ": " + OrUnknown(a.function) +
         ": `" + OrUnknown(a.expression) + "'";
}

// In the words of CUDA.
std::string AssertionLine(const ptx2cpu_block& block, uint32_t thread, const Assertion& a) {
  char where[128];
  const ptx2cpu::Dim3 place = ptx2cpu::PlaceOfThread(block, thread);
  std::snprintf(where, sizeof where, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", block.ctaid[0],
                block.ctaid[1], block.ctaid[2], place.x, place.y, place.z);
  return std::string(OrUnknown(a.file)) + ":" + std::to_string(a.line) + ": " + OrUnknown(a.function) +
         where + OrUnknown(a.expression) + "` failed.\n";
}

}  // namespace

extern "C" {

void ptx2cpu_fault(ptx2cpu_block* block, uint32_t kind, uint32_t thread, uint32_t ptx_line) {
  ptx2cpu::rt::FaultRecord record;
  record.kind = kind;
  record.thread = thread;
  record.ptx_line = ptx_line;
  ptx2cpu::rt::JumpToLandingPoint(record);
}

void ptx2cpu_assert_fail(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, const char* expression,
                         const char* file, uint32_t line, const char* function, uint64_t char_size) {
  const Assertion assertion{expression, file, line, function};
  block->launch->prints.AppendError(AssertionLine(*block, thread, assertion));
  ptx2cpu::rt::FaultRecord record;
  record.kind = PTX2CPU_FAULT_ASSERT;
  record.thread = thread;
  record.ptx_line = ptx_line;
  std::snprintf(record.text, sizeof record.text, "%s", AssertionText(assertion).c_str());
  ptx2cpu::rt::JumpToLandingPoint(record);
}

void ptx2cpu_assert_note(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, const char* expression,
                         const char* file, uint32_t line, const char* function, uint64_t char_size) {
  const Assertion assertion{expression, file, line, function};
  block->launch->prints.AppendError(AssertionLine(*block, thread, assertion));
  ptx2cpu::rt::LaunchJob& job = *block->launch->job;
  job.Fail({ptx2cpu::rt::LaunchError::Kind::kFault,
            job.WhereText(*block, thread, ptx_line) + "assertion failed: " + AssertionText(assertion),
            PTX2CPU_FAULT_ASSERT,
            {block->ctaid[0], block->ctaid[1], block->ctaid[2]},
            thread,
            ptx_line});
}

int32_t ptx2cpu_vprintf(ptx2cpu_block* block, const char* format, const uint8_t* arguments) {
  if (format == nullptr) return -1;
  std::string text;
  const int count = ptx2cpu::rt::FormatDevicePrintf(text, format, arguments);
  std::atomic<bool>& printed = block->launch->services->printed;
  if (!printed.load(std::memory_order_relaxed)) printed.store(true, std::memory_order_relaxed);
  block->launch->prints.Append(block->worker, BlockNumber(*block), std::move(text),
                               block->launch->services->limits.printf_bytes);
  return count;
}

uint8_t* ptx2cpu_malloc(ptx2cpu_block* block, uint64_t bytes) {
  return ptx2cpu_aligned_malloc(block, bytes, 16);
}
uint8_t* ptx2cpu_aligned_malloc(ptx2cpu_block* block, uint64_t bytes, uint64_t align) {
  ptx2cpu::rt::DeviceServices& services = *block->launch->services;
  constexpr uint64_t kGap = 16;
  const uint64_t gap = ptx2cpu::rt::check::KeepsFreedBlocks() ? kGap : 0;
  auto* const memory =
      static_cast<uint8_t*>(services.heap.Allocate(bytes, align, services.limits.heap_bytes, gap));
  if (memory != nullptr) ptx2cpu::rt::check::OnAllocate(*block, memory, (bytes + 15) / 16 * 16);
  return memory;
}
void ptx2cpu_free(ptx2cpu_block* block, uint8_t* pointer) {
  if (block->launch->services->heap.Free(pointer, ptx2cpu::rt::check::KeepsFreedBlocks())) return;
  ptx2cpu::rt::FaultRecord record;
  record.kind = PTX2CPU_FAULT_BAD_ADDRESS;
  std::snprintf(record.text, sizeof record.text,
                "free of %p, which malloc did not return or which is already free",
                static_cast<void*>(pointer));
  ptx2cpu::rt::JumpToLandingPoint(record);
}

uint64_t ptx2cpu_clock(ptx2cpu_block* block) { return ptx2cpu::rt::ReadClock(); }

uint64_t ptx2cpu_globaltimer(ptx2cpu_block* block) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// A sleep may have any length up to twice the time. Kernels often sleep before they test for the first time,
// without need: so a sleep is a pause instruction, and about one call in sixteen, chosen by the clock, yields
// to other threads of the system.
void ptx2cpu_nanosleep(ptx2cpu_block* block, uint32_t nanoseconds) {
  if ((ptx2cpu::rt::ReadClock() >> 4) % 16 == 0) {
    std::this_thread::yield();
  } else {
    PauseProcessor();
  }
}

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
