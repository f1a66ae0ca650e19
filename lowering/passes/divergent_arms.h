// Where lanes that diverge at a branch reconverge, and the blocks that only some of them run until then.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Whether lanes do not take this edge together with their warp.
using Skips = std::function<bool(ir::BlockId from, uint32_t edge)>;

// Where a warp continues after a block. The number f.blocks.size() is the end of its turn, at a block
// barrier; nowhere: every lane ends there. `some_end`: lanes may end there while others continue.
struct Step {
  std::vector<uint32_t> to;
  bool some_end = false;
};
using Steps = std::function<Step(uint32_t block)>;

// Blocks reached from the successors of `branch` without entering `join`.
std::vector<ir::BlockId> Between(const ir::Function& f, ir::BlockId branch, uint32_t join,
                                 const Skips& skips);

struct DivergentArms {
  uint32_t join;                    // f.blocks.size(): the end of the warp's turn
  std::vector<ir::BlockId> blocks;  // entered over the branch only
  bool all_end = false;  // on both ways: lanes of the second edge continue when those of the first have ended
};
// Nothing when the arms lead back to the branch, or can be entered from elsewhere.
std::optional<DivergentArms> FindArms(const ir::Function& f, ir::BlockId branch, const Steps& steps,
                                      const Skips& skips);

// Branches all of whose ways lead to one block, with no end and no way back before it. They are found for all
// branches at once; passes that divide such arms do not change where the ways around them lead.
class ClosedArms {
 public:
  ClosedArms(const ir::Function& f, const Steps& steps, const Skips& skips);
  // Where the arms of such a branch meet.
  std::optional<uint32_t> JoinOf(ir::BlockId branch) const;
  // What FindArms finds, in time that does not depend on the rest of the function where the arms are closed.
  std::optional<DivergentArms> Find(const ir::Function& f, ir::BlockId branch, const Steps& steps,
                                    const Skips& skips) const;

 private:
  static constexpr uint32_t kOpen = ~0u;
  std::vector<uint32_t> join_;  // by block
};

}  // namespace ptx2cpu::lowering
