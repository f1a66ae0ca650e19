// Many edits of long blocks: each block's list is written once, not once for each instruction.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::ir {

// From their blocks; their results must be unused. What is in no block any more is passed over.
void RemoveAll(Function& f, std::span<const InstId> ids);

// Instructions that are made before others of their blocks, which are without them until Finish.
class Insertions {
 public:
  explicit Insertions(Function& f) : f_(f) {}
  // After those that were made before the same place. Results as in Append.
  InstId Before(InstId place, Inst inst, uint32_t result_count = 1);
  void Finish();

 private:
  Function& f_;
  std::unordered_map<uint32_t, std::vector<InstId>> before_;  // by place
};

}  // namespace ptx2cpu::ir
