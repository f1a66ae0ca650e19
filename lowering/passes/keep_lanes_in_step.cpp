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
// The barrier is one of the lanes that are converged there. It goes between reads and the writes that may
// overwrite them, and between writes and the fence or atomic that publishes them: loads may run in any order,
// and so may stores of equal values. Where the first lane writes for all, the others wait for it before they
// read, unless they wait for its result anyway. Variables in shared memory whose address is used for nothing
// but loads and stores are distinguished from each other and from all else: the table of stacks, which every
// function with a frame reads and writes, is one. Where a function may write before it reads, the barrier is
// at its entry, and not at each of its calls; what lanes may still have to read after a call follows from the
// function's body, callees before callers. Code of other compilers may not count on this and stays as it is.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/call_graph.h"
#include "lowering/passes/racing_accesses.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Effect;
using ir::Opcode;

// Tables of every program of GCC's, by warp: its stack, and whether it runs as one thread or lane by lane.
constexpr std::string_view kStacks = "__nvptx_stacks", kUniform = "__nvptx_uni";

std::optional<uint32_t> FindShared(const ir::Module& module, std::string_view name) {
  const auto found = std::ranges::find_if(module.variables, [&](const ir::Variable& variable) {
    return variable.space == ir::Space::kShared && variable.name == name;
  });
  if (found == module.variables.end()) return std::nullopt;
  return static_cast<uint32_t>(found - module.variables.begin());
}

bool IsShared(const ir::Inst& inst) {
  const ir::Space space = inst.attrs.space;
  return space != ir::Space::kLocal && space != ir::Space::kParam && space != ir::Space::kConst;
}
bool IsCall(const ir::Inst& inst) { return ir::IsCall(inst.op); }
bool Writes(const ir::Inst& inst) {
  const Effect effect = ir::Info(inst.op).effect;
  return IsShared(inst) && (effect == Effect::kWrites || effect == Effect::kMemory);
}
bool Reads(const ir::Inst& inst) {
  const Effect effect = ir::Info(inst.op).effect;
  return IsShared(inst) && (effect == Effect::kReads || effect == Effect::kMemory);
}
// No lane passes before all have arrived.
bool Joins(const ir::Inst& inst) { return ir::IsBarrier(inst.op) || ir::IsCollective(inst.op); }

// Parts of memory: a bit for each variable that is accessed by its name only, the first one for all else.
using Parts = uint64_t;
// Not parts: what some lane may still have to store, of which others must not learn before; what the first
// lane may still have to store for all. The latter ends within a function.
constexpr Parts kStored = Parts{1} << 63, kByFirst = Parts{1} << 62;
constexpr Parts kElsewhere = 1, kAnywhere = ~kByFirst;

// Which variables are accessed by their names only, and what each access of a function concerns.
class NamedVariables {
 public:
  explicit NamedVariables(const ir::Module& module) : bits_(module.variables.size(), kElsewhere) {
    Parts next = 2;
    for (size_t n = 0; n < bits_.size() && next != kByFirst; ++n) {
      const ir::Variable& variable = module.variables[n];
      // Arrays whose size the launch gives begin at one address.
      const bool is_apart = variable.size != 0 && variable.linkage != ir::Variable::Linkage::kExtern;
      if (variable.space == ir::Space::kShared && is_apart) bits_[n] = std::exchange(next, next << 1);
    }
    for (const ir::Function& f : module.functions) {
      if (!f.is_declaration) Follow(f);
    }
  }

  // By value: the part that an address is in.
  std::vector<Parts> AddressesOf(const ir::Function& f) {
    std::vector<Parts> parts = Follow(f);
    for (Parts& part : parts) part = (part & ~escaped_) == part && part != 0 ? part : kElsewhere;
    return parts;
  }

 private:
  // Sums of a symbol's address are addresses of its variable; what else is made of them escapes.
  std::vector<Parts> Follow(const ir::Function& f) {
    std::vector<Parts> parts(f.values.size());
    for (ir::BlockId block : ir::ReversePostOrder(f)) {
      for (ir::InstId id : f.at_block(block).insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (inst.op == Opcode::kSymbol && inst.attrs.space == ir::Space::kShared)
          parts[inst.results[0].index] = bits_[inst.attrs.index];
        const bool sum = inst.op == Opcode::kAdd || inst.op == Opcode::kSub;
        const bool access =
            (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) && inst.attrs.space == ir::Space::kShared;
        for (size_t n = 0; n < inst.operands.size(); ++n) {
          const Parts part = parts[inst.operands[n].index];
          if (part == 0 || (access && n == 0)) continue;
          if (!sum || n != 0 || parts[inst.operands[1].index] != 0)
            escaped_ |= part;
          else
            parts[inst.results[0].index] = part;
        }
        for (const ir::Edge& edge : inst.edges) {
          for (ir::ValueId value : edge.args) escaped_ |= parts[value.index];
        }
      }
    }
    return parts;
  }

  std::vector<Parts> bits_;
  Parts escaped_ = kElsewhere;
};

// What lanes may still have to read after a call: `own` in any case, and of what was so before it `kept`.
struct AfterCall {
  Parts own = kAnywhere, kept = kAnywhere;
};

class StepKeeper {
 public:
  StepKeeper(ir::Function& f, std::vector<Parts> addresses, const std::vector<AfterCall>& after_calls,
             const ir::Module& module)
      : f_(f),
        module_(module),
        order_(ir::ReversePostOrder(f)),
        predecessors_(ir::Predecessors(f)),
        addresses_(std::move(addresses)),
        after_calls_(after_calls) {}

  AfterCall Run() {
    const Places places = PlacesFor(0);
    // Callers do not wait for lanes that have yet to read.
    const bool at_entry = !f_.is_kernel && PlacesFor(kAnywhere) != places;
    for (size_t n = places.size(); n-- > 0;) Insert(places[n].first, places[n].second);
    if (at_entry) Insert(f_.entry, 0);
    return {AtReturns(0), AtReturns(kAnywhere)};
  }

 private:
  using Places = std::vector<std::pair<ir::BlockId, size_t>>;  // ascending within a block

  void Insert(ir::BlockId block, size_t where) {
    InsertConvergence(f_, block, where, f_.at_inst(f_.at_block(block).insts[where]).at);
  }

  // Where barriers are needed if the callers' lanes may still have to read `entry`.
  Places PlacesFor(Parts entry) {
    Solve(entry);
    Places places;
    for (ir::BlockId block : order_)
      Walk(block, before_[block.index], [&](size_t where) { places.push_back({block, where}); });
    return places;
  }

  Parts AtReturns(Parts entry) {
    Solve(entry);
    Parts pending = 0;
    for (ir::BlockId block : order_) {
      if (f_.at_inst(f_.at_block(block).insts.back()).op == Opcode::kRet)
        pending |= Walk(block, before_[block.index], [](size_t) {});
    }
    return pending;
  }

  // What is pending before a block only grows: a barrier that it makes necessary leaves less after it.
  void Solve(Parts entry) {
    before_.assign(f_.blocks.size(), 0);
    before_[f_.entry.index] = entry;
    std::vector<Parts> after(f_.blocks.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (ir::BlockId block : order_) {
        for (ir::BlockId from : predecessors_[block.index]) before_[block.index] |= after[from.index];
        const Parts pending = Walk(block, before_[block.index], [](size_t) {});
        changed |= pending != after[block.index];
        after[block.index] = pending;
      }
    }
  }

  Parts PartOf(const ir::Inst& inst) const {
    const bool plain = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
    if (plain && inst.attrs.space == ir::Space::kShared) return addresses_[inst.operands[0].index];
    return kElsewhere;
  }

  bool IsDeclared(const ir::Inst& call) const {
    return call.op == Opcode::kCall && module_.functions[call.attrs.index].is_declaration;
  }
  // Whether all lanes must have come before it.
  bool Waits(const ir::Inst& inst, Parts pending) const {
    if (IsDeclared(inst)) return pending != 0;
    // Fences and atomics are what others learn from.
    const Parts stores = ir::Info(inst.op).effect == Effect::kMemory ? kStored : 0;
    return Writes(inst) && (pending & (PartOf(inst) | stores)) != 0;
  }

  // The block that an instruction under a predicate is alone in: for one lane of the warp, mostly. The lanes
  // that it needs wait in front of the branch around it.
  std::optional<ir::BlockId> GuardedAfter(ir::BlockId block) const {
    const auto edges = f_.successors(block);
    if (edges.size() != 2) return std::nullopt;
    for (size_t n = 0; n < 2; ++n) {
      const ir::BlockId guarded = edges[n].to;
      const auto after = f_.successors(guarded);
      if (predecessors_[guarded.index].size() == 1 && after.size() == 1 && after[0].to == edges[1 - n].to)
        return guarded;
    }
    return std::nullopt;
  }
  const ir::Inst* Condition(ir::BlockId block) const {
    const ir::Inst& branch = f_.terminator(block);
    if (branch.op != Opcode::kCondBr) return nullptr;
    const ir::InstId def = f_.at_value(branch.operands[0]).def;
    const bool is_equal = def.valid() && f_.at_inst(def).op == Opcode::kIcmp &&
                          f_.at_inst(def).attrs.compare == ir::Compare::kEq;
    return is_equal ? &f_.at_inst(def) : nullptr;
  }
  template <typename Is>
  bool AnyOperand(const ir::Inst& inst, const Is& is) const {
    return std::ranges::any_of(inst.operands, [&](ir::ValueId operand) {
      const ir::InstId def = f_.at_value(operand).def;
      return def.valid() && is(f_.at_inst(def));
    });
  }
  // The block is for the first lane of those that act as one thread: (lane & mode) == lane.
  bool IsOfFirst(ir::BlockId block) const {
    const auto& before = predecessors_[block.index];
    const ir::Inst* condition = before.size() == 1 ? Condition(before[0]) : nullptr;
    return condition != nullptr && f_.successors(before[0])[0].to == block &&
           AnyOperand(*condition, [](const ir::Inst& inst) {
             return inst.op == Opcode::kSpecialRegister && inst.attrs.special == ir::Special::kLaneId;
           });
  }
  // After it all lanes that act as one thread receive the first one's result: mode == 0.
  bool Receives(ir::BlockId block) const {
    const ir::Inst* condition = Condition(block);
    const auto guarded = condition == nullptr ? std::nullopt : GuardedAfter(block);
    if (!guarded || f_.successors(block)[0].to != *guarded ||
        !AnyOperand(*condition,
                    [](const ir::Inst& inst) { return inst.op == Opcode::kConst && inst.attrs.bits == 0; }))
      return false;
    const auto& insts = f_.at_block(*guarded).insts;
    const auto first = std::ranges::find_if(
        insts, [&](ir::InstId id) { return ir::IsCollective(f_.at_inst(id).op) || Learns(f_.at_inst(id)); });
    return first != insts.end() && ir::IsCollective(f_.at_inst(*first).op);
  }
  // Whether it may read what the first lane has yet to store, or leads to what may.
  bool Learns(const ir::Inst& inst) const { return Reads(inst) || IsCall(inst) || inst.op == Opcode::kRet; }

  bool GuardedWaits(ir::BlockId block, Parts pending) const {
    const auto guarded = GuardedAfter(block);
    if (!guarded) return false;
    for (const ir::InstId id : f_.at_block(*guarded).insts) {
      if (Joins(f_.at_inst(id)) || IsCall(f_.at_inst(id))) return false;
      if (Waits(f_.at_inst(id), pending)) return true;
    }
    return false;
  }

  // `pending`: what some lane may still have to read that comes before. Calls `place` for each position that
  // needs a barrier.
  template <typename Place>
  Parts Walk(ir::BlockId block, Parts pending, const Place& place) const {
    const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
    const bool is_of_first = IsOfFirst(block);
    for (size_t i = 0; i < insts.size(); ++i) {
      const ir::Inst& inst = f_.at_inst(insts[i]);
      if (Joins(inst)) pending = 0;
      const bool learns = (pending & kByFirst) != 0 && !is_of_first && Learns(inst);
      if (learns || Waits(inst, pending) || (i + 1 == insts.size() && GuardedWaits(block, pending))) {
        place(i);
        pending = 0;
      }
      if (IsCall(inst)) {
        const AfterCall after = IsDeclared(inst) || inst.op == Opcode::kCallIndirect
                                    ? AfterCall{}
                                    : after_calls_[inst.attrs.index];
        pending = after.own | (pending & after.kept);
      } else {
        if (Reads(inst)) pending |= PartOf(inst);
        if (inst.op == Opcode::kStore && Writes(inst) && PartOf(inst) == kElsewhere) pending |= kStored;
        if (is_of_first && Writes(inst) && inst.op != Opcode::kFence) pending |= kByFirst;
      }
    }
    return Receives(block) ? pending & ~kByFirst : pending;
  }

  ir::Function& f_;
  const ir::Module& module_;
  const std::vector<ir::BlockId> order_;
  const std::vector<std::vector<ir::BlockId>> predecessors_;
  const std::vector<Parts> addresses_;  // by value
  const std::vector<AfterCall>& after_calls_;
  std::vector<Parts> before_;  // by block
};

}  // namespace

Status KeepLanesInStep(ir::Module& module, const PassOptions&) {
  if (!FindShared(module, kStacks)) return {};
  const std::optional<uint32_t> uniform = FindShared(module, kUniform);
  for (ir::Function& f : module.functions) {
    if (uniform && !f.is_declaration) PerformRacingAccessesOnce(f, *uniform);
  }
  NamedVariables named(module);
  std::vector<AfterCall> after_calls(module.functions.size());
  for (uint32_t n : CallGraph(module).order()) {
    ir::Function& f = module.functions[n];
    if (f.is_declaration) continue;
    after_calls[n] = StepKeeper(f, named.AddressesOf(f), after_calls, module).Run();
  }
  return {};
}

}  // namespace ptx2cpu::lowering
