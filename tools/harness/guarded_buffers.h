// A call's buffers during a launch, in memory of their own that ends at a guard page: a kernel that
// runs past the end of a buffer faults there instead of writing over the process.
#pragma once

#include <cstring>
#include <deque>
#include <span>

#include "ir/function.h"
#include "runtime/worker/arena.h"
#include "tools/harness/kernel_call.h"

namespace ptx2cpu::harness {

class GuardedBuffers {
 public:
  // Copies every buffer of the call; false when the system has no memory.
  bool Enter(const KernelCall& call) {
    for (const rt::Argument& argument : call.arguments) {
      addresses_.push_back(nullptr);
      if (!argument.IsBuffer()) continue;
      buffers_.emplace_back();
      addresses_.back() = buffers_.back().Ensure(argument.data.size(), argument.type->size);
      if (addresses_.back() == nullptr) return false;
      if (!argument.data.empty()) std::memcpy(addresses_.back(), argument.data.data(), argument.data.size());
    }
    return true;
  }
  // Address and bytes of each buffer.
  std::vector<std::span<std::byte>> Ranges(const KernelCall& call) const {
    std::vector<std::span<std::byte>> ranges;
    for (size_t i = 0; i < addresses_.size(); ++i) {
      if (addresses_[i] != nullptr)
        ranges.emplace_back(reinterpret_cast<std::byte*>(addresses_[i]), call.arguments[i].data.size());
    }
    return ranges;
  }
  // Puts the addresses into a parameter buffer.
  void Patch(const std::vector<ir::Param>& params, std::vector<std::byte>& buffer) const {
    for (size_t i = 0; i < params.size(); ++i) {
      if (addresses_[i] != nullptr)
        std::memcpy(&buffer[params[i].offset], &addresses_[i], sizeof addresses_[i]);
    }
  }
  // Copies the written buffers back.
  void Leave(KernelCall& call) const {
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      rt::Argument& argument = call.arguments[i];
      if (addresses_[i] != nullptr && argument.IsWritten() && !argument.data.empty())
        std::memcpy(argument.data.data(), addresses_[i], argument.data.size());
    }
  }

 private:
  std::deque<rt::GuardedBuffer> buffers_;
  std::vector<uint8_t*> addresses_;
};

}  // namespace ptx2cpu::harness
