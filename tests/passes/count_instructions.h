// How often a function has an operation.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace ptx2cpu::test {

inline uint32_t Count(const ir::Function& f, ir::Opcode op) {
  uint32_t count = 0;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) count += f.at_inst(id).op == op;
  }
  return count;
}

}  // namespace ptx2cpu::test
