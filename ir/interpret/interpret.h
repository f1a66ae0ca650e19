// The interpreter: slow, obviously right, usable at every phase. It is the oracle of the tests of passes and
// code.
//
// Simt and Split phases: every thread has its own program counter; threads run until they reach a barrier or
// a collective and wait there for their partners (any legal program terminates; a deadlock is an error that
// names the threads that wait, and where). Collapsed phase: block, warp and lane levels run as the loops
// require, with slots and live masks.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "ir/function.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::ir {

// Real storage of module variables; addresses are host addresses so that pointers may be shared with a
// launch.
class ModuleStorage {
 public:
  explicit ModuleStorage(const Module& module);  // allocates and initialises .global and .const variables
  ~ModuleStorage();
  ModuleStorage(const ModuleStorage&) = delete;
  ModuleStorage& operator=(const ModuleStorage&) = delete;
  std::byte* Address(uint32_t variable) const;
  // Overrides the storage of a variable (a JIT or a caller owns it).
  void Bind(uint32_t variable, std::byte* address);
  // The device heap of malloc and free; it lives as long as the storage. Free: false when not a block of it.
  std::byte* Allocate(size_t bytes, size_t align = 16);
  bool Free(std::byte* address);
  bool InHeap(const std::byte* address, size_t bytes) const;

 private:
  struct State;
  State* state_;
};

// Textures and surfaces, from outside: the functions of the same meaning in
// runtime/abi/entry_points.def.
struct ImageServices {
  uint32_t texture_bytes = 0, surface_bytes = 0;  // of what a handle points to
  void (*fetch)(uint64_t texture, uint64_t sampler, uint32_t fetch, const uint32_t* words,
                uint32_t* result) = nullptr;
  uint32_t (*query)(uint64_t handle, uint32_t query, uint32_t level) = nullptr;
  uint64_t (*address)(uint64_t surface, uint32_t x, uint32_t y, uint32_t z, uint32_t access) = nullptr;
  void (*store)(uint64_t surface, uint64_t address, const uint32_t* channels) = nullptr;
};

// In place of the process's memory, for all but the launch's own (parameters, shared and local memory, heap).
class GlobalMemory {
 public:
  // Where [address, address + bytes) is; null: the access is a fault.
  virtual std::byte* At(uint64_t address, uint32_t bytes, bool writes) = 0;

 protected:
  ~GlobalMemory() = default;
};

// An access that was out of bounds.
struct BadAccess {
  uint32_t thread = 0, bytes = 0;  // linear in its block; bytes 0: there was none
  Space space = Space::kGlobal;
  uint64_t address = 0;  // in kShared, kLocal: an offset
};

struct InterpretOptions {
  Dim3 grid, block;
  Dim3 cluster = {0, 0, 0};  // blocks of a cluster; 0: what the kernel requires, or one
  uint32_t dynamic_shared_bytes = 0;
  uint32_t kernel_number = 0;  // of a function that is the code of several kernels
  bool cooperative = false;    // all blocks take turns, so that they may wait for each other at grid barriers
  uint64_t instruction_limit = 0;  // per launch; 0: none. Beyond: kFault error, for fuzzing
  // How threads alternate: instructions at a time, and from which end. A program without races computes the
  // same for all.
  uint64_t slice = 10000;
  bool backwards = false;
  uint8_t fill = 0;  // what each byte of shared and local memory is at the start; PTX leaves it open
  // Memory ranges the kernel may touch; empty: any address (then a wild pointer crashes the process).
  std::vector<std::span<std::byte>> allowed = {};
  std::function<void(std::string_view)> print = {};  // device printf; default stdout
  const ImageServices* images = nullptr;             // none: texture and surface instructions are errors
  GlobalMemory* memory = nullptr;                    // none: the process's
  std::optional<Dim3> only_block = {};  // the others of the grid, except those of its cluster, do not run
  BadAccess* bad_access = nullptr;      // receives the access that was out of bounds, if any
};

// Runs every block of the grid in index order. `params` is the kernel's parameter buffer.
Status Interpret(const Module& module, const Function& kernel, ModuleStorage& storage,
                 std::span<const std::byte> params, const InterpretOptions& options);

}  // namespace ptx2cpu::ir
