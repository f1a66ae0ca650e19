// The arms of divergent branches in the Collapsed form: see sequence_divergent_arms.cpp.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/divergent_arms.h"

namespace ptx2cpu::lowering {

class ArmSequencer {
 public:
  // `branches` in reverse post-order. `last`, by block: the warp-level for_lanes after which the kernel has
  // nothing left for their lanes.
  ArmSequencer(ir::Function& f, std::vector<ir::BlockId> branches, std::vector<bool> last)
      : f_(f), branches_(std::move(branches)), last_(std::move(last)) {}
  Status Run();

 private:
  using BlockId = ir::BlockId;
  using ValueId = ir::ValueId;

  uint32_t NewSlot();
  static bool EntersLanes(const ir::Function& f, BlockId from, uint32_t edge);
  std::vector<BlockId> WarpBlocksAfter(BlockId block, uint32_t join) const;
  // No lane is parked when a warp begins a body that parks lanes.
  void ClearParked();
  // Lanes wait in arms only.
  void MarkWhereAllRun();
  void Sequence(BlockId branch);
  // Lanes of both ways reach one block before the arms meet.
  bool Overlap(BlockId branch, BlockId join) const;
  // Ways that are taken when no lane is left do not decide where the arms meet.
  Step StepsOf(uint32_t node) const;
  // The kernel ends for the lanes of this loop, but not for those that wait.
  void EndLanes(BlockId loop);
  std::vector<BlockId> BodyOf(BlockId loop) const;
  // Each arm ends the warp on its own: now they meet for that.
  BlockId CommonEnd(const std::vector<BlockId>& arms);

  // -- one arm after the other: arm_sequence.cpp --
  struct Plan {
    ir::Position at;
    uint32_t arrived = 0, pending = 0;  // slots
    BlockId join, meet, next, rejoin;
  };
  // Branches that are not within each other's arms have the same slots. Depth 1: no other is in its arms.
  struct SlotsOfDepth {
    uint32_t arrived, pending;
  };
  const SlotsOfDepth& SlotsFor(uint32_t depth);
  void Build(BlockId branch, BlockId join, const std::vector<BlockId>& arms, uint32_t depth);
  // The way through the second arm; returns the block that enters it when no lane takes the first.
  BlockId BuildSecond(Plan& plan, BlockId second);
  // Arms lead to `meet` instead of the join, and to `next` when all their lanes have exited; true when they
  // may.
  bool Redirect(const std::vector<BlockId>& arms, const Plan& plan);
  void BuildRejoin(const Plan& plan, bool exits);

  // -- lanes gather where several ways lead: arm_gather.cpp --
  struct Target {
    BlockId block;
    uint32_t wait;  // slot: lanes that have come
    BlockId arrive;
  };
  void Gather(BlockId root, const std::vector<BlockId>& guests, BlockId join,
              const std::vector<BlockId>& arms);
  // Heads of the branches' ways and blocks with several ways in, each before those it leads to; the join
  // last.
  std::vector<BlockId> Meets(const std::vector<BlockId>& branches, BlockId join,
                             const std::vector<BlockId>& arms);
  BlockId BuildDispatch(const std::vector<Target>& targets, ir::Position at);
  void Divide(ir::Builder& b, const ir::Inst& old, const std::vector<Target>& targets, BlockId dispatch);
  void RedirectToWait(BlockId block, std::vector<Target>& targets, BlockId dispatch, ir::Position at);

  // -- code --
  BlockId Place(const char* label) { return ir::AddBlock(f_, label, ir::Level::kWarp); }
  bool MayExit(BlockId loop) const;
  // A builder in place of the terminator.
  ir::Builder Replace(BlockId block);
  static void AddTo(ir::Builder& b, uint32_t slot, ValueId lanes);
  static ValueId NonZero(ir::Function& f, BlockId block, uint32_t slot, ir::Position at);
  static ValueId Without(ir::Builder& b, ValueId lanes, ValueId gone);
  static ValueId NonZero(ir::Builder& b, ValueId lanes);
  static void RunOn(ir::Builder& b, ValueId lanes, BlockId to);

  ir::Function& f_;
  std::vector<BlockId> branches_;
  std::optional<ClosedArms> closed_;
  std::vector<bool> in_arm_, last_;  // last_: loops in which all lanes end
  std::vector<BlockId> guests_;      // wait for the branch in whose arms they are
  std::vector<uint32_t>
      depth_;  // by block: of the outermost branch built so far in whose arms it is; 0: none
  std::vector<SlotsOfDepth> slots_;  // of depths 1, 2, ...
  bool exits_ = false;               // lanes may end before others
  std::vector<BlockId> lost_;        // where inner branches go that no lane has come through
};

}  // namespace ptx2cpu::lowering
