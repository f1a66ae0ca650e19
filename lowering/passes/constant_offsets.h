// Addresses without the constants that are added to them.
#pragma once

#include <unordered_map>

#include "ir/edit.h"
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
  // In shared memory, whose window ends far below 2 GiB, the root is a 32-bit value if that was widened: each
  // access of a register and a number widens the register for itself. The address is then the root, widened
  // with its sign, + offset.
  Place Of(ir::ValueId address, ir::Space space);

 private:
  const ir::Function& f_;
  std::unordered_map<uint32_t, Place> known_;  // by address
};

// The address, made before an instruction where it may not be known yet.
ir::ValueId AddressOf(const Place& place, const ir::Function& f, ir::Insertions& made, ir::InstId where);

}  // namespace ptx2cpu::lowering
