// The checks of running kernels: what launches, blocks and checked code report to them.
//
// A launch is between BeginLaunch and EndLaunch, its blocks between BeginBlock and EndBlock; a block that
// faults is not ended. Where races are looked for, one worker runs a launch, so that reports can be repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/abi/abi.h"
#include "runtime/abi/check.h"
#include "runtime/check/finding.h"
#include "runtime/check/memory.h"
#include "runtime/check/wanted.h"
#include "runtime/device/device_heap.h"

namespace ptx2cpu::rt::check {

// Whether the kernel's code informs this room of what it does, and the process wants to know.
inline bool Checks(const ptx2cpu_kernel& kernel) {
  return (kernel.flags & PTX2CPU_KERNEL_IS_CHECKED) != 0 && WantedKinds() != 0;
}
// Whether launches must run on one worker.
bool NeedsOneWorker();

// `heap` is that of device malloc for this launch; `holds` knows what other memory the launch itself owns.
void BeginLaunch(const ptx2cpu_launch* launch, const ptx2cpu_kernel& kernel, const DeviceHeap& heap,
                 std::function<bool(uint64_t address, uint64_t bytes)> holds);
void EndLaunch(const ptx2cpu_launch* launch);
// The launch ended with a fault in this block: a finding like any other, where none has been added for it.
// `pc`: of the instruction, if the fault has no line of PTX.
void AddFault(const ptx2cpu_launch* launch, const Party& party, uintptr_t pc, std::string text);
void BeginBlock(ptx2cpu_block& block);
void EndBlock(const ptx2cpu_block& block);

// Accesses of neighbouring threads by one instruction: of thread + i at addresses[i], or where that is null,
// at first + i * stride.
struct Accesses {
  uint32_t thread = 0, ptx_line = 0;
  const uint64_t* addresses = nullptr;
  uint64_t first = 0;
  int64_t stride = 0;
  uint64_t lanes = 0;  // bit i: thread + i accesses
  uint32_t form = 0, bytes = 0, range = 0;
  uint64_t written = ~uint64_t{0};  // words of the parameters through which the kernel writes

  const ptx2cpu_check_variable* variable = nullptr;  // which the addresses were computed from
  uint64_t variable_base = 0;

  uint64_t AddressOf(uint32_t lane) const {
    return addresses != nullptr ? addresses[lane] : first + static_cast<uint64_t>(stride * lane);
  }
};
// ptx2cpu_check_accesses, ptx2cpu_check_row and ptx2cpu_check_sync.
void OnAccesses(const ptx2cpu_block& block, const Accesses& accesses);
// Threads thread + i, for each bit i of lanes, at one step.
struct Steps {
  uint32_t thread = 0, ptx_line = 0;
  uint64_t lanes = 0;
  uint32_t step = 0, a = 0, b = 0;
};
void OnSync(const ptx2cpu_block& block, const Steps& steps);
// A thread is about to free memory of device malloc; what is none ends the launch afterwards.
void OnFree(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint64_t pointer);
// A block's device malloc has returned this memory, of a multiple of 16 bytes.
void OnAllocate(const ptx2cpu_block& block, void* memory, uint64_t bytes);
// The runtime has written a result of a call for the thread.
void OnResult(const ptx2cpu_block& block, uint32_t thread, const void* to, uint32_t bytes);

}  // namespace ptx2cpu::rt::check
