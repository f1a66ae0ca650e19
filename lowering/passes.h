// The passes, one prototype each. Their order, and the reasons for it, are in pipeline.cpp.
//
// Every pass takes a function from one valid state to another (ir/verify/verify.h) and preserves its meaning:
// the interpreter computes the same memory before and after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/uniformity.h"
#include "ir/function.h"
#include "ir/result.h"
#include "lowering/forms.h"

namespace ptx2cpu::lowering {

struct PassOptions {
  Tier tier = Tier::kAuto;
  CollapseForm collapse = CollapseForm::kAuto;
  std::optional<analysis::LaunchShape> launch = {};  // block shape to specialise for; unset: any
  // False: each value that crosses regions is kept or rebuilt for itself. Tests compare the cut with that.
  bool slots_by_cut = true;
  uint32_t checks = 0;  // kinds of checks that the code has: PTX2CPU_CHECKS_* (runtime/abi/check.h)
  bool counts = false;  // the code counts how often its blocks are entered (CountersOf)
};

// Which word of the variable CountersName counts how often threads enter a block, by function and block of a
// module as translation makes it. Words are 8 bytes. Blocks that are entered equally often share one.
struct BlockCounters {
  static constexpr uint32_t kNone = ~0u;        // of a block that is not reached
  std::vector<std::vector<uint32_t>> of_block;  // functions, blocks
  uint32_t count = 0;
};
BlockCounters CountersOf(const ir::Module& module);
inline std::string CountersName(const std::string& kernel) { return "ptx2cpu.counts." + kernel; }

struct TierReason {
  ir::Resumes needs = ir::Resumes::kNever;
  std::string what;  // "a barrier for part of the block"
  ir::Position at;
};

struct TierChoice {
  ir::Resumes resumes = ir::Resumes::kNever;
  std::vector<TierReason> reasons;  // those of the tier that was chosen first, in program order
};

// For a kernel after split-at-barriers. A forced tier (options.tier) has no reasons.
TierChoice DecideTier(const ir::Module& module, const ir::Function& f, const PassOptions& options);

// -- phase Simt --
// Calls that inform the runtime of accesses and synchronisation; nothing where no checks are wanted.
Status InsertChecks(ir::Module& module, const PassOptions& options);
// Counts of the blocks' entries; nothing where none are wanted.
Status InsertCounts(ir::Module& module, const PassOptions& options);
// Whether the module's kernel, functions[0], is small beside functions that flatten-calls will copy into it:
// then others that call these are worth translating with it. Before any pass.
bool SharesCallees(const ir::Module& module);
// Several kernels, the first of which was requested: those that share its callees become one function with
// it.
Status JoinKernels(ir::Module& module, const PassOptions& options);
// Programs whose lanes count on executing each access together: barriers of the warp between loads and
// stores.
Status KeepLanesInStep(ir::Module& module, const PassOptions& options);
// Barriers of the warp between accesses of different lanes that a GPU's lock step keeps in order.
Status KeepStatementsInStep(ir::Module& module, ir::Function& f, const PassOptions& options);
// Inlines calls that lead to a barrier, a collective or an exit, and small functions, in all functions that a
// kernel reaches; the others become declarations.
Status InlineCalls(ir::Module& module, const PassOptions& options);
// Kernels: calls that cannot be inlined although they lead to such things become jumps with a stack; resumes
// lanes then.
Status FlattenCalls(ir::Module& module, ir::Function& f, const PassOptions& options);
// Generic addresses that are computed from local or shared ones become offsets of that window again.
Status ResolveGenericAddresses(ir::Module& module, ir::Function& f, const PassOptions& options);
// Multiplications that divide by a constant become divisions.
Status RestoreDivisions(ir::Module& module, ir::Function& f, const PassOptions& options);
// Sums of a quotient and its remainder in which the quotient cancels out do without it.
Status CancelQuotients(ir::Module& module, ir::Function& f, const PassOptions& options);
// What the block's shape decides is a constant.
Status DecideByRanges(ir::Module& module, ir::Function& f, const PassOptions& options);
// Halves that go from block to block and are put together there go as words.
Status JoinHalves(ir::Module& module, ir::Function& f, const PassOptions& options);
Status RepeatShortLoops(ir::Module& module, ir::Function& f, const PassOptions& options);
// Constant branches, unreachable and mergeable blocks, redundant block parameters, dead pure instructions.
Status Simplify(ir::Module& module, ir::Function& f, const PassOptions& options);
// Checks for races that concern reads of memory that the kernel does not write are for bounds only.
Status SettleChecks(ir::Module& module, ir::Function& f, const PassOptions& options);
// Loads of what the thread stored or loaded last take that value, also across barriers.
Status ForwardStoresAcrossBarriers(ir::Module& module, ir::Function& f, const PassOptions& options);
// Block barriers that no other thread can observe go.
Status RemoveRedundantBarriers(ir::Module& module, ir::Function& f, const PassOptions& options);
// Trips of loops read what they need before their stores, where a test shows that these do not meet it.
Status ReadBeforeStores(ir::Module& module, ir::Function& f, const PassOptions& options);
// Loads or stores of one thread side by side become one, where neighbouring threads' follow each other.
Status JoinNeighbouringAccesses(ir::Module& module, ir::Function& f, const PassOptions& options);
// What all lanes of a warp compute alike by a butterfly of shuffles is taken from one of them.
Status BroadcastButterflies(ir::Module& module, ir::Function& f, const PassOptions& options);
// Refuses what the flat and warp tiers cannot run, naming construct and PTX line.
Status CheckSupported(ir::Module& module, ir::Function& f, const PassOptions& options);
// Puts every warp collective alone into a block: the block's two ends are its implicit warp barriers.
Status InsertImplicitWarpBarriers(ir::Module& module, ir::Function& f, const PassOptions& options);
// Barriers after reads that another thread's write in the same interval may overtake.
Status KeepEarlyReads(ir::Module& module, ir::Function& f, const PassOptions& options);
// Puts every block barrier alone into a block.
Status SplitAtBarriers(ir::Module& module, ir::Function& f, const PassOptions& options);
// Barriers of the block around waits that all threads take together, where blocks can suspend then.
Status MeetAtWaits(ir::Module& module, ir::Function& f, const PassOptions& options);
// Decides whether blocks, warps or lanes must be resumable: sets f.resumes.
Status ChooseTier(ir::Module& module, ir::Function& f, const PassOptions& options);
// Loops that stride by the block go outside the loop over threads (T0, T1).
Status InterchangeLoops(ir::Module& module, ir::Function& f, const PassOptions& options);
// Loads of rows in the order of their addresses, for all threads of the block at once (T0, T1).
Status OrderRows(ir::Module& module, ir::Function& f, const PassOptions& options);
// Induction variables of loops that hold barriers: what differs between threads is taken out of the loop.
Status SplitInductions(ir::Module& module, ir::Function& f, const PassOptions& options);
// Resumes blocks: threads that wait for another thread's store let the others come to the next barrier, then
// yield. An error if a loop that may wait has no such barrier.
Status DeferWaits(ir::Module& module, ir::Function& f, const PassOptions& options);
// Resumes lanes: yields on the back edges of loops that may wait for another thread.
Status InsertYields(ir::Module& module, ir::Function& f, const PassOptions& options);

// -- Simt to Split --
// Peels branches that decide whether a barrier is reached, and puts boundaries where regions meet.
Status InsertExtraBarriers(ir::Module& module, ir::Function& f, const PassOptions& options);

// -- phase Split --
// Lets lanes differ at branches whose arms hold collectives, where the arms can run one after the other.
Status MaskDivergentArms(ir::Module& module, ir::Function& f, const PassOptions& options);

// -- Split to Collapsed --
// Regions become loops over warps and lanes; values that cross them get slots.
Status Collapse(ir::Module& module, ir::Function& f, const PassOptions& options);

// -- phase Collapsed --
// One slot for values that are never needed at the same time and copied to each other.
Status MergeSlots(ir::Module& module, ir::Function& f, const PassOptions& options);
// Resumes blocks: each yield becomes a resume point of the block.
Status MakeBlocksResumable(ir::Module& module, ir::Function& f, const PassOptions& options);
// One slot for values that are never needed at the same time, where there are many and branches are
// divergent.
Status ShareSlotsOfArms(ir::Module& module, ir::Function& f, const PassOptions& options);
// Divergent branches become their arms, one after the other, each run by its own lanes.
Status SequenceDivergentArms(ir::Module& module, ir::Function& f, const PassOptions& options);
// Warp-level code between which lanes only compute becomes one block, without slots in between.
Status JoinWarpCode(ir::Module& module, ir::Function& f, const PassOptions& options);
// The same elsewhere.
Status ShareSlots(ir::Module& module, ir::Function& f, const PassOptions& options);
// Loops at the head of a region that are the same for all threads of the block run once.
Status ComputeOnce(ir::Module& module, ir::Function& f, const PassOptions& options);
// Code of its own for each small distance over which a region's threads exchange elements.
Status SpecialiseDistances(ir::Module& module, ir::Function& f, const PassOptions& options);
// Resumes warps: the loop over warps goes, each barrier ends a warp's turn.
Status MakeWarpsResumable(ir::Module& module, ir::Function& f, const PassOptions& options);

// -- Simt to Collapsed --
// Resumes lanes: each lane runs until it suspends; any control flow.
// Kernels whose warps mostly stay together also get a function for these, which the module has until the next
// pass.
Status MakeLanesResumable(ir::Module& module, const PassOptions& options);

// -- phase Collapsed --
// The code for warps whose lanes are together becomes part of the kernel that resumes lanes.
Status JoinTogetherCode(ir::Module& module, const PassOptions& options);

}  // namespace ptx2cpu::lowering
