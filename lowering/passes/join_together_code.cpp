// A kernel that resumes lanes runs a warp by code for all its lanes until they diverge at a branch. That code
// was made as a function of its own (partings.cpp); here it becomes part of the kernel.
//
// clang-format off
//   before: the kernel                       after
//     entry [warp]: dispatch run, class0       entry [warp]: dispatch warps, class0
//     run [warp]: for_lanes body, done         warps [warp]: resume w0, run, run
//   its code for warps                         run [warp]: for_lanes body, done
//     entry [block]: for_warps w0, end         w0 [warp]: ... the turn of a warp, without its loop
//     ask [warp]: cond_br %same, go, loop      ask [warp]: cond_br %same, go, loop
//     loop [warp]: for_lanes part, out         loop [warp]: for_lanes part, out
//     part [lane]: keep 3, %v ; end_lane       part [lane]: slot_store 3, %v ; end_lane
//     out [warp]: leave 2 ; ...                out [warp]: suspend 2
//     w9 [warp]: end_warp                      w9 [warp]: for_lanes gone, end ; gone [lane]: exit_lane
// clang-format on
//
// A warp begins at point 0 with all lanes at once; from the point where it leaves that code, its lanes run
// one by one to the end of the kernel. The slots of the two have different numbers. The code is dropped where
// passes have added constructs that do not fit in (loops over warps one after the other, lanes that wait in
// arms).
#include <algorithm>
#include <optional>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;

// Where the only loop over warps is, if block level has nothing else.
std::optional<BlockId> OnlyLoop(const ir::Function& code) {
  if (code.is_flat || code.parked_slot != ~0u) return {};
  BlockId block = code.entry;
  std::optional<BlockId> loop;
  while (true) {
    if (code.at_block(block).insts.size() != 1) return {};
    const ir::Inst& end = code.terminator(block);
    if (end.op == Opcode::kRet) return loop;
    if (end.op == Opcode::kForWarps && loop) return {};
    if (end.op != Opcode::kForWarps && end.op != Opcode::kBr) return {};
    if (end.op == Opcode::kForWarps) loop = block;
    block = end.edges.back().to;
  }
}

class Join {
 public:
  Join(ir::Function& f, const ir::Function& code) : f_(f), code_(code) {}

  void Run() {
    std::vector<BlockId> heads;  // by point of the code
    if (code_.resumes == ir::Resumes::kWarps) {
      for (const ir::Edge& edge : code_.successors(code_.entry)) heads.push_back(edge.to);
    } else {
      heads.push_back(code_.successors(*OnlyLoop(code_))[0].to);
    }

    shift_ = static_cast<uint32_t>(code_.slots.size());
    f_.slots.insert(f_.slots.begin(), code_.slots.begin(), code_.slots.end());
    for (ir::Inst& inst : f_.insts) {
      if (inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore) inst.attrs.index += shift_;
    }
    const std::vector<BlockId> order = ir::ReversePostOrder(code_);
    const std::vector<BlockId> made = CopyFunction(f_, code_);
    points_ = static_cast<uint32_t>(f_.resume_points.size());
    std::vector<BlockId> copy_of(code_.blocks.size());
    for (size_t n = 0; n < order.size(); ++n) {
      f_.block(made[n]).level = code_.at_block(order[n]).level;
      copy_of[order[n].index] = made[n];
      Adapt(made[n]);
    }
    for (BlockId& head : heads) head = copy_of[head.index];
    Begin(heads);
    ir::RemoveUnreachableBlocks(f_);
  }

 private:
  void Adapt(BlockId block) {
    const std::vector<ir::InstId> insts = f_.at_block(block).insts;
    for (size_t i = 0; i < insts.size(); ++i) {
      ir::Inst& inst = f_.inst(insts[i]);
      if (inst.op == Opcode::kKeep) {
        inst.op = Opcode::kSlotStore;
        inst.attrs.index += shift_;
      } else if (inst.op == Opcode::kLeave) {
        return Leave(block, i);
      }
    }
    ir::Inst& end = f_.inst(insts.back());
    if (end.op == Opcode::kSuspend) end.attrs.index += points_ - 1;
    // Warps that resume have done so already.
    if (end.op == Opcode::kEndWarp && code_.resumes == ir::Resumes::kNever) ExitLanes(f_, block);
  }

  void Leave(BlockId block, size_t where) {
    const ir::Inst leave = f_.at_inst(f_.at_block(block).insts[where]);
    while (f_.at_block(block).insts.size() > where) ir::Remove(f_, f_.at_block(block).insts.back());
    ir::Builder{f_, block, leave.at}.Terminate(Opcode::kSuspend, {}, {}, {.index = leave.attrs.index});
  }

  // Points of the code follow those of the kernel, whose lanes never come there.
  void Begin(const std::vector<BlockId>& heads) {
    const ir::InstId dispatch = f_.at_block(f_.entry).insts.back();
    const BlockId run = f_.at_inst(dispatch).edges[0].to;
    const ir::InstId lanes = f_.at_block(f_.successors(run)[0].to).insts.back();
    const BlockId warps = ir::AddBlock(f_, "", Level::kWarp), never = ir::AddBlock(f_);
    ir::Builder{f_, never}.Terminate(Opcode::kUnreachable);
    std::vector<ir::Edge> points(points_, {run, {}});
    points[0].to = heads[0];
    for (size_t n = 1; n < heads.size(); ++n) {
      f_.resume_points.push_back(code_.resume_points[n]);
      points.push_back({heads[n], {}});
      f_.inst(lanes).edges.push_back({never, {}});
    }
    ir::Builder{f_, warps}.Terminate(Opcode::kResume, {}, std::move(points));
    f_.inst(dispatch).edges[0].to = warps;
  }

  ir::Function& f_;
  const ir::Function& code_;
  uint32_t points_ = 0;  // of the function
  uint32_t shift_ = 0;   // of the numbers of the function's own slots: those of the code are first
};

}  // namespace

Status JoinTogetherCode(ir::Module& module, const PassOptions&) {
  while (module.functions.back().together_of != ~0u) {
    const ir::Function code = std::move(module.functions.back());
    module.functions.pop_back();
    const bool fits =
        code.resumes == ir::Resumes::kWarps ? code.parked_slot == ~0u : OnlyLoop(code).has_value();
    if (fits) Join(module.functions[code.together_of], code).Run();
  }
  return {};
}

}  // namespace ptx2cpu::lowering
