// The checks of running kernels: what launches, blocks and checked code report to them.
//
// A launch is between BeginLaunch and EndLaunch, its blocks between BeginBlock and EndBlock; a block that
// faults is not ended. Where races are looked for, one worker runs a launch, so that reports can be repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/abi/abi.h"
#include "runtime/check/finding.h"
#include "runtime/check/memory.h"
#include "runtime/check/wanted.h"
#include "runtime/device/device_heap.h"

namespace ptx2cpu::rt::check {

inline bool Wanted() { return WantedKinds() != 0; }
// Whether launches must run on one worker.
bool NeedsOneWorker();

// `heap` is that of device malloc for this launch; `holds` knows what other memory the launch itself owns.
void BeginLaunch(const ptx2cpu_launch* launch, const ptx2cpu_kernel& kernel, const DeviceHeap& heap,
                 std::function<bool(uint64_t address, uint64_t bytes)> holds);
void EndLaunch(const ptx2cpu_launch* launch);
// The launch ended with a fault in this block: a finding like any other.
void AddFault(const char* kernel, const Party& party, std::string text);
void BeginBlock(const ptx2cpu_block& block);
void EndBlock(const ptx2cpu_block& block);

// ptx2cpu_check_access and ptx2cpu_check_sync.
void OnAccess(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint64_t address, uint32_t form,
              uint32_t bytes);
void OnSync(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line, uint32_t step, uint32_t a,
            uint32_t b);

}  // namespace ptx2cpu::rt::check
