// Some kernels resume lanes only because the lanes of a warp may take a branch differently, and usually they
// do not (a loop of `for (i = lane; i < n; i += 32)` around a shuffle, n a multiple of 32). They get a second
// code for whole warps: it tests at each such branch whether the lanes agree, and where they differ all of
// them continue one by one.
//
//   before                            after
//     b: ...                            b:    ... ; br t
//        cond_br %p, x, y               t:    %same = vote_uni %p ; br ask
//                                       ask:  cond_br %same, go, part
//                                       go:   %m = ballot %p ; br take
//                                       take: %q = icmp ne %m, 0 ; cond_br %q, x, y
//                                       part: keep 3, %v ... ; br out
//                                       out:  leave 7 ; br gone
//                                       gone: exit
//
// Both votes are of the lanes that are present, so the conditions of the new branches are uniform. The copy
// is T1, or T2 where it has barriers. Where lanes differ, the values that their code needs from there on are
// kept in its slots, and the scheduler runs them to the end of the kernel.
#include "lowering/passes/partings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/regions/spin_loops.h"
#include "analysis/values/uniformity.h"
#include "ir/build.h"
#include "lowering/passes/arm_members.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/trip_mixer.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;
using Lines = std::vector<uint32_t>;  // of branches, in ascending order

constexpr int kMaxRounds = 8;  // a branch that is mended may show another
// The size up to which kernels get a second code. Larger ones, into which indirect calls have been flattened,
// take seconds for each round and twice as long to compile.
constexpr size_t kMaxParted = 4000;
// The same of loops that wait for other threads. The code resumes in each of them, with all values that are
// live there: registers are then allocated in time with the square of their number.
constexpr size_t kMaxWaits = 64;

std::vector<Parting> DivideSteps(ir::Function& f, const Lines& lines) {
  std::vector<Parting> partings;
  for (BlockId block : ir::ReversePostOrder(f)) {
    const ir::Inst& end = f.terminator(block);
    if (end.op != Opcode::kCondBr || !std::ranges::binary_search(lines, end.at.ptx_line)) continue;
    partings.push_back({SplitBlock(f, block, f.at_block(block).insts.size() - 1, ""), 0, {}});
  }
  return partings;
}

TierReason Because(std::string what, ir::Position at = {}) {
  return {ir::Resumes::kLanes, std::move(what), at};
}

// What forming regions of the function would leave to be checked at run time: the lines of branches.
std::expected<Lines, TierReason> FindOpenBranches(ir::Module& messages, ir::Function f,
                                                  const PassOptions& options) {
  const ir::Function simt = f;
  const TripMixer trips(simt, options.launch);
  Status status = InsertExtraBarriers(messages, f, options);
  if (status) status = MaskDivergentArms(messages, f, options);
  if (!status) return std::unexpected(Because(status.error().message, {status.error().at.line, 0, 0}));
  const analysis::UniformityResult uniformity = analysis::AnalyzeUniformity(f, options.launch);
  const ArmMembers members(f, options.launch.value_or(analysis::PromisedShape(f)));
  Lines lines;
  for (BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      const bool open =
          ir::IsAgreement(inst.op) && !uniformity.UniformAt(inst.operands[0], f.at_block(block).level);
      if (open && inst.op == Opcode::kAgreeIndex)
        return std::unexpected(Because("a jump that lanes may take to several places", inst.at));
      if (open) lines.push_back(inst.at.ptx_line);
      // Lanes with masks of their own may be at different executions.
      if (ir::HasMembermask(inst.op, inst.attrs.flags) &&
          !uniformity.UniformAt(inst.operands.back(), ir::Level::kWarp) && trips.MayMix(id))
        return std::unexpected(Because(
            "a warp collective that lanes may reach in different trips of a loop, with masks of their own",
            inst.at));
    }
    const ir::Inst& end = f.terminator(block);
    const bool divergent = end.op == Opcode::kCondBr && (end.attrs.flags & ir::kDivergent) != 0;
    if (divergent && members.CollectiveOfOthers(block) != nullptr) lines.push_back(end.at.ptx_line);
  }
  std::ranges::sort(lines);
  lines.erase(std::ranges::unique(lines).begin(), lines.end());
  return lines;
}

size_t CountInstructions(const ir::Function& f) {
  size_t count = 0;
  for (BlockId block : ir::ReversePostOrder(f)) count += f.at_block(block).insts.size();
  return count;
}

bool Has(const ir::Function& f, bool (*is)(Opcode)) {
  return std::ranges::any_of(f.insts,
                             [&](const ir::Inst& inst) { return inst.block.valid() && is(inst.op); });
}

void LeaveWhereLanesPart(ir::Function& f, const std::vector<Parting>& partings) {
  for (const Parting& parting : partings) {
    const ir::InstId branch = f.at_block(parting.branch).insts.back();
    const ir::Inst old = f.at_inst(branch);
    ir::Remove(f, branch);
    BlockId blocks[7];
    for (BlockId& block : blocks) block = ir::AddBlock(f);
    const auto [asks, ask, go, take, part, out, gone] = blocks;
    const auto in = [&](BlockId block) { return ir::Builder{f, block, old.at}; };
    ir::Builder begins = in(parting.branch);
    const ir::ValueId all = begins.Const(ir::Type::kI32, ~0u);
    begins.Br(asks);
    const auto vote = [&](BlockId block, Opcode op, BlockId next) {
      ir::Builder b = in(block);
      const ir::ValueId result = b.Inst1(op, ir::Type::kVoid, {old.operands[0], all}, {.flags = ir::kLegacy});
      b.Br(next);
      return result;
    };
    const ir::ValueId same = vote(asks, Opcode::kVoteUni, ask);
    in(ask).CondBr(same, {go, {}}, {part, {}});
    const ir::ValueId takers = vote(go, Opcode::kBallot, take);
    ir::Builder chooses = in(take);
    chooses.CondBr(chooses.Icmp(ir::Compare::kNe, takers, chooses.Const(ir::Type::kI32, 0)), old.edges[0],
                   old.edges[1]);
    ir::Builder parts = in(part);
    for (const Parting::Kept& kept : parting.slots) {
      const ir::ValueId value = kept.value.valid() ? kept.value : parts.Const(kept.type, 0);
      parts.Make(Opcode::kKeep, kept.type, {value}, {.index = kept.slot}, ir::Type::kVoid, 0);
    }
    parts.Br(out);
    ir::Builder leaves = in(out);
    leaves.Make(Opcode::kLeave, ir::Type::kVoid, {}, {.index = parting.point}, ir::Type::kVoid, 0);
    leaves.Br(gone);
    in(gone).Terminate(Opcode::kExit);
  }
}

}  // namespace

bool TriesTogether(const PassOptions& options) {
  return options.tier == Tier::kAuto && (options.checks & PTX2CPU_CHECKS_ORDER) == 0;
}

std::expected<std::vector<Parting>, TierReason> DivideAtPartings(const ir::Module& module, ir::Function& f,
                                                                 const PassOptions& options) {
  if (CountInstructions(f) > kMaxParted)
    return std::unexpected(Because(fmt::format("more than {} instructions", kMaxParted)));
  if (analysis::FindSpinLoops(f).size() > kMaxWaits)
    return std::unexpected(Because(fmt::format("more than {} loops that may wait", kMaxWaits)));
  if (Has(f, ir::IsClusterBarrier)) return std::unexpected(Because("a barrier of the cluster"));
  Lines lines;
  for (int round = 0; round < kMaxRounds; ++round) {
    ir::Function copy = f;
    ir::Module messages;
    messages.name = module.name;
    if (const Status status = RunTogether(messages, copy, DivideSteps(copy, lines)); !status)
      return std::unexpected(Because(status.error().message));
    const bool suspends = copy.resumes == ir::Resumes::kWarps;
    const auto open = FindOpenBranches(messages, std::move(copy), options);
    if (!open) return std::unexpected(open.error());
    if (open->empty()) {
      if (lines.empty() && !suspends) return std::unexpected(Because("no branch at which lanes part"));
      return DivideSteps(f, lines);
    }
    const size_t before = lines.size();
    lines.insert(lines.end(), open->begin(), open->end());
    std::ranges::sort(lines);
    lines.erase(std::ranges::unique(lines).begin(), lines.end());
    if (lines.size() == before)
      return std::unexpected(Because("a branch around which lanes differ", {open->front(), 0, 0}));
  }
  return std::unexpected(Because("too many branches at which lanes may part"));
}

Status RunTogether(ir::Module& module, ir::Function& copy, const std::vector<Parting>& partings) {
  LeaveWhereLanesPart(copy, partings);
  TRY_STATUS(DeferWaitsOfWarps(module, copy));
  const bool suspends = Has(copy, [](Opcode op) { return ir::IsBarrier(op) && op != Opcode::kLeave; });
  copy.resumes = suspends ? ir::Resumes::kWarps : ir::Resumes::kNever;
  return {};
}

}  // namespace ptx2cpu::lowering
