// Copies of a call's buffers between pages that cannot be accessed: reads past the end of a buffer fault.
#pragma once

#include <span>
#include <vector>

#include "tools/harness/kernel_call.h"

namespace ptx2cpu::harness {

class GuardedCopies {
 public:
  explicit GuardedCopies(KernelCall& call);  // none if the call is not guarded
  ~GuardedCopies();                          // after the run: what the kernel wrote is the call's
  GuardedCopies(const GuardedCopies&) = delete;
  GuardedCopies& operator=(const GuardedCopies&) = delete;

  // By number of the argument; empty: the call's own storage is used.
  std::span<std::byte* const> addresses() const { return addresses_; }

 private:
  KernelCall& call_;
  std::vector<std::byte*> addresses_;
  std::vector<std::span<std::byte>> mappings_;
};

}  // namespace ptx2cpu::harness
