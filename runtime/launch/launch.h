// Launching a kernel: a grid of blocks over the thread pool, in index order, until done or the first fault.
//
// Shapes are in threads and blocks, sizes in bytes. Level 2 room: it uses the ABI only, neither IR nor LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/abi/abi.h"
#include "runtime/abi/guarded_memory.h"

namespace ptx2cpu::rt {

struct LaunchShape {
  Dim3 grid, block;
  uint32_t dynamic_shared_bytes = 0;
  Dim3 cluster =
      {};  // blocks of a cluster; the grid must be a multiple. 1,1,1: what the kernel requires, or none
};

struct DeviceServices;
class LaterCode;

struct LaunchOptions {
  unsigned max_workers = 0;                          // 0: all of the pool; 1: the calling thread alone
  std::function<void(std::string_view)> print = {};  // device printf; default: stdout
  bool cooperative =
      false;  // all blocks of the grid are resident at once, so that they may wait for each other
  DeviceServices* services = nullptr;  // heap and limits (device_services.h); null: those of the process
  LaterCode* later = nullptr;          // later_code.h; outlives the launch. Null: the kernel's code is final
  // For kernels whose threads a scheduler resumes (run_step). `order`: on one worker, blocks begin, and warps
  // and lanes take their turns, in orders that this seed decides. `zeroed`: shared and local memory of a
  // block is zero when it begins, so that reads of unwritten memory are the same in every run.
  std::optional<uint64_t> order = {};
  bool zeroed = false;
};

// The reason why a launch did not run to its end.
struct LaunchError {
  enum class Kind : uint8_t {
    kShape,
    kResources,
    kFault,
    kInternal,  // our bug
  } kind = Kind::kFault;
  std::string message;     // one sentence: names the kernel, the limit or the fault
  uint32_t fault = 0;      // ptx2cpu_fault_kind when kind is kFault
  Dim3 block = {0, 0, 0};  // ctaid of the faulting block (kFault)
  uint32_t thread = ~0u;   // linear thread in the block; ~0: not known (most hardware faults)
  uint32_t ptx_line = 0;   // 0: not known; then `pc` can be looked up in the JIT's line table
  uintptr_t pc = 0;        // hardware faults: program counter in generated code
  uintptr_t address = 0;   // hardware faults: the address
  uint32_t joined = 1;     // where the thread is not known: `block` or one of the next in its row
  bool of_child = false;   // of a grid that the kernel launched
  GuardedMemory outside_of = GuardedMemory::kNone;  // hardware faults: what the address is just outside of
};

// Adds the access that was found: block of `ntid` threads, linear index of the thread, address.
void NameAccess(LaunchError& error, const Dim3& ntid, const Dim3& block, uint32_t thread, uintptr_t address);

// Runs the kernel to completion. `params` is the parameter buffer, kernel.parameter_bytes long.
// Returns nothing on success.
std::optional<LaunchError> Launch(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                  std::span<const std::byte> params, const LaunchOptions& options = {});

struct Arena;
// The same for a thread that has an arena and a shape that was checked.
std::optional<LaunchError> LaunchOn(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                    const std::byte* params, const LaunchOptions& options, unsigned worker,
                                    Arena& arena);

// Checks shape and sizes only.
std::optional<LaunchError> CheckShape(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                      size_t param_bytes);

// The shape with the cluster that the kernel requires if the launch has none.
LaunchShape WithCluster(const ptx2cpu_kernel& kernel, const LaunchShape& shape);

// Blocks of this shape that a cooperative launch can have: bounded by memory, and by a number that one worker
// can still take turns over. A multiple of the cluster; 0 when the shape itself is not legal (a grid of one
// cluster will do).
uint64_t MaxCooperativeBlocks(const ptx2cpu_kernel& kernel, const LaunchShape& shape);

}  // namespace ptx2cpu::rt
