// Addresses without the constants that are added to them.
#pragma once

#include <unordered_map>

#include "ir/function.h"

namespace ptx2cpu::lowering {

struct Place {
  ir::ValueId root;
  int64_t offset = 0;  // the address is the root + offset
};

// Each sum is walked once, however often a pointer has moved.
class ConstantOffsets {
 public:
  explicit ConstantOffsets(const ir::Function& f) : f_(f) {}
  Place Of(ir::ValueId address);

 private:
  const ir::Function& f_;
  std::unordered_map<uint32_t, Place> known_;  // by address
};

}  // namespace ptx2cpu::lowering
