// The slots that are live at a point of a collapsed function, for a single thread: no thread loads what
// another one has stored. Reads IR only.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "analysis/regions/thread_graph.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

class SlotLiveness {
 public:
  using Slots = std::set<uint32_t>;
  // A store and the other slots that are needed after it.
  using AtStore = std::function<void(const ir::Inst& store, const Slots& others)>;

  // Examines the slots that `is_candidate` marks. Gives up where more than `max_live` of them are live at
  // once.
  SlotLiveness(const ir::Function& f, std::vector<bool> is_candidate, size_t max_live);

  bool gave_up() const { return gave_up_; }
  // All stores to candidates, from each block's end to its begin. Needs !gave_up().
  void EachStore(const AtStore& visit) const;

 private:
  Slots LiveOut(ir::BlockId block) const;
  // From the slots that are needed at the block's end to those that are needed at its begin.
  void Backward(ir::BlockId block, Slots& live, const AtStore& visit) const;
  bool Find(size_t max_live);

  const ir::Function& f_;
  const std::vector<bool> is_candidate_;
  const std::vector<ir::BlockId> order_;
  const ThreadGraph graph_;
  std::vector<Slots> live_in_;  // by block
  bool gave_up_;
};

}  // namespace ptx2cpu::analysis
