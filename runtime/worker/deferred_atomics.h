// Atomics that wait in a worker. runtime/abi/deferred_atomics.h has the reason, and how generated code finds
// them.
//
// They are relaxed reductions: nothing orders them before a fence, a strong access or an access of the same
// memory by their own block, in front of which generated code applies them.
#pragma once

#include "runtime/abi/abi.h"
#include "runtime/abi/deferred_atomics.h"

namespace ptx2cpu::rt {

// The table or log in a block's memory, for the lifetime of this object, if the kernel has one. Finish writes
// waiting atomics to memory; they are dropped if the launch has faulted.
class DeferredAtomics {
 public:
  DeferredAtomics(const ptx2cpu_kernel& kernel, const ptx2cpu_block& block);
  ~DeferredAtomics();
  DeferredAtomics(const DeferredAtomics&) = delete;
  DeferredAtomics& operator=(const DeferredAtomics&) = delete;

  void Finish();

 private:
  ptx2cpu_deferred_head* const head_;
};

}  // namespace ptx2cpu::rt
