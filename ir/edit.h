// Edits of many instructions of long blocks: each block's list is written once, not once for each
// instruction.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::ir {

// Removes the instructions from their blocks; their results must be unused. Instructions that are in no block
// any more are skipped.
void RemoveAll(Function& f, std::span<const InstId> ids);

// Collects instructions that go before others of their blocks; Finish puts them there.
class Insertions {
 public:
  explicit Insertions(Function& f) : f_(f) {}
  // Makes an instruction before `place`, after those already made there. Results as in Append.
  InstId Before(InstId place, Inst inst, uint32_t result_count = 1);
  void Finish();

 private:
  Function& f_;
  std::unordered_map<uint32_t, std::vector<InstId>> before_;  // by place
};

}  // namespace ptx2cpu::ir
