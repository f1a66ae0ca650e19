// GCC's offloading for nvptx (option -muniform-simt, always on for OpenMP) runs the serial parts of a thread
// on all 32 lanes of its warp. They hold the same values, share one stack in ordinary memory, and count on
// executing each load and store together: only atomics and system calls are left to one lane, whose result
// the others receive by a shuffle. A lane that ran ahead would store what another one has yet to load.
//
//   before                              after
//     %a = load %p                        %a = load %p
//     %b = add %a, 1                      %b = add %a, 1
//     store %p, %b                        barrier_warp {legacy}
//                                         store %p, %b
//
// The barrier is one of the lanes that are converged here. It is between what may be read and what may
// be written next: loads may run in any order, and so may stores of equal values. A call counts as both. Code
// of other compilers may not count on this and stays as it is.
#include <algorithm>

#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Effect;
using ir::Opcode;

// Every program of GCC's has the table of its warps' stacks.
constexpr std::string_view kStacks = "__nvptx_stacks";

bool RunsUniformLanes(const ir::Module& module) {
  return std::ranges::any_of(module.variables, [](const ir::Variable& variable) {
    return variable.space == ir::Space::kShared && variable.name == kStacks;
  });
}

bool IsShared(const ir::Inst& inst) {
  const ir::Space space = inst.attrs.space;
  return space != ir::Space::kLocal && space != ir::Space::kParam && space != ir::Space::kConst;
}
bool IsCall(const ir::Inst& inst) { return inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect; }
bool Writes(const ir::Inst& inst) {
  const Effect effect = ir::Info(inst.op).effect;
  return IsCall(inst) || (IsShared(inst) && (effect == Effect::kWrites || effect == Effect::kMemory));
}
bool Reads(const ir::Inst& inst) {
  const Effect effect = ir::Info(inst.op).effect;
  return IsCall(inst) || (IsShared(inst) && (effect == Effect::kReads || effect == Effect::kMemory));
}
// No lane passes before all have arrived.
bool Joins(const ir::Inst& inst) { return ir::IsBarrier(inst.op) || ir::IsCollective(inst.op); }

class StepKeeper {
 public:
  explicit StepKeeper(ir::Function& f) : f_(f), order_(ir::ReversePostOrder(f)), after_(f.blocks.size()) {}

  void Run() {
    const std::vector<std::vector<ir::BlockId>> predecessors = ir::Predecessors(f_);
    std::vector<bool> before(f_.blocks.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (ir::BlockId block : order_) {
        bool pending = false;
        for (ir::BlockId from : predecessors[block.index]) pending = pending || after_[from.index];
        before[block.index] = pending;
        Walk(block, pending, [](size_t) {});
        changed |= pending != after_[block.index];
        after_[block.index] = pending;
      }
    }
    for (ir::BlockId block : order_) {
      std::vector<size_t> places;
      bool pending = before[block.index];
      Walk(block, pending, [&](size_t where) { places.push_back(where); });
      for (size_t n = places.size(); n-- > 0;) {
        const ir::Position at = f_.at_inst(f_.at_block(block).insts[places[n]]).at;
        InsertConvergence(f_, block, places[n], at);
      }
    }
  }

 private:
  // `pending`: some lane may still have to read what comes before. Calls `place` for each position that needs
  // a barrier.
  template <typename Place>
  void Walk(ir::BlockId block, bool& pending, const Place& place) const {
    const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
    for (size_t i = 0; i < insts.size(); ++i) {
      const ir::Inst& inst = f_.at_inst(insts[i]);
      if (Joins(inst)) pending = false;
      if (pending && Writes(inst)) {
        place(i);
        pending = false;
      }
      pending = pending || Reads(inst);
    }
  }

  ir::Function& f_;
  const std::vector<ir::BlockId> order_;
  std::vector<bool> after_;
};

}  // namespace

Status KeepLanesInStep(ir::Module& module, ir::Function& f, const PassOptions&) {
  if (RunsUniformLanes(module)) StepKeeper(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
