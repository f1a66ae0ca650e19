#include "lowering/passes/call_graph.h"

#include <algorithm>
#include <utility>

#include "analysis/graph/loops.h"
#include "analysis/memory/narrow_locals.h"
#include "analysis/regions/spin_loops.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

CallGraph::CallGraph(const ir::Module& module) : nodes_(module.functions.size()) {
  for (uint32_t n = 0; n < nodes_.size(); ++n) Scan(module.functions[n], nodes_[n]);
  const std::vector<bool> targets = ir::IndirectTargets(module);
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    nodes_[n].address_taken = targets[n] && !module.functions[n].is_kernel;
  if (analysis::HasNarrowLocalAddresses(module)) {
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      nodes_[n].suspends |= !module.functions[n].is_kernel && module.functions[n].local_bytes != 0;
  }
  FindSuspending();
  FindRecursive();
}

// Callers of functions that suspend also suspend; indirect calls suspend once a function that they may reach
// does.
void CallGraph::FindSuspending() {
  std::vector<std::vector<uint32_t>> callers(nodes_.size());
  std::vector<uint32_t> work;
  bool indirect_waits = false;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    for (uint32_t callee : nodes_[n].calls) callers[callee].push_back(n);
    if (nodes_[n].suspends) work.push_back(n);
  }
  auto add = [&](uint32_t n) {
    if (!nodes_[n].suspends) work.push_back(n);
    nodes_[n].suspends = true;
  };
  while (!work.empty()) {
    const uint32_t n = work.back();
    work.pop_back();
    for (uint32_t caller : callers[n]) add(caller);
    if (!nodes_[n].address_taken || std::exchange(indirect_waits, true)) continue;
    for (uint32_t m = 0; m < nodes_.size(); ++m) {
      if (nodes_[m].calls_indirectly) add(m);
    }
  }
}

// Strong components of direct calls (Tarjan 1972), which are complete after all that they call.
void CallGraph::FindRecursive() {
  constexpr uint32_t kNew = ~0u;
  std::vector<uint32_t> number(nodes_.size(), kNew), low(nodes_.size()), open;
  std::vector<bool> is_open(nodes_.size());
  std::vector<std::pair<uint32_t, size_t>> stack;
  uint32_t clock = 0;
  auto enter = [&](uint32_t n) {
    number[n] = low[n] = clock++;
    is_open[n] = true;
    open.push_back(n);
    stack.push_back({n, 0});
  };
  for (uint32_t root = 0; root < nodes_.size(); ++root) {
    if (number[root] == kNew) enter(root);
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (next < nodes_[n].calls.size()) {
        const uint32_t callee = nodes_[n].calls[next++];
        nodes_[n].recursive = nodes_[n].recursive || callee == n;
        if (is_open[callee]) low[n] = std::min(low[n], number[callee]);
        if (number[callee] == kNew) enter(callee);
        continue;
      }
      const uint32_t done = n;
      stack.pop_back();
      order_.push_back(done);
      if (!stack.empty()) low[stack.back().first] = std::min(low[stack.back().first], low[done]);
      if (low[done] != number[done]) continue;
      const bool several = open.back() != done;
      for (bool last = false; !last;) {
        const uint32_t member = open.back();
        open.pop_back();
        is_open[member] = false;
        nodes_[member].recursive = nodes_[member].recursive || several;
        last = member == done;
      }
    }
  }
}

std::vector<uint32_t> CallGraph::IndirectTargets() const {
  std::vector<uint32_t> targets;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].address_taken && nodes_[n].suspends) targets.push_back(n);
  }
  return targets;
}

void CallGraph::Scan(const ir::Function& f, Node& node) {
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    node.size += block.insts.size();
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (ir::IsBarrier(inst.op) || ir::IsCollective(inst.op) || inst.op == Opcode::kExit)
        node.suspends = true;
      node.calls_indirectly |= inst.op == Opcode::kCallIndirect;
      if (inst.op != Opcode::kCall) continue;
      node.calls.push_back(inst.attrs.index);
      ++nodes_[inst.attrs.index].call_sites;
    }
  }
  std::vector<uint32_t> callees = node.calls;
  std::ranges::sort(callees);
  for (size_t first = 0, last; first < callees.size(); first = last) {
    for (last = first; last < callees.size() && callees[last] == callees[first];) ++last;
    uint32_t& most = nodes_[callees[first]].most_calls;
    most = std::max(most, static_cast<uint32_t>(last - first));
  }
  if (!f.is_kernel && f.entry.valid() && !node.suspends) node.suspends = !analysis::FindSpinLoops(f).empty();
}

namespace {

// Reads what other threads may have stored for it. Taking the next number of a queue is no question.
bool Asks(const ir::Function& f, const ir::Inst& inst) {
  if (inst.op == Opcode::kAtomicCas) return true;
  if (inst.op == Opcode::kLoad)
    return inst.attrs.order != ir::MemoryOrder::kWeak && inst.attrs.space != ir::Space::kLocal;
  if (inst.op != Opcode::kAtomic || (inst.attrs.flags & ir::kNoResult) != 0) return false;
  const ir::InstId def = f.at_value(inst.operands[1]).def;
  const bool changes = def.valid() && f.at_inst(def).op == Opcode::kConst && f.at_inst(def).attrs.bits != 0;
  return !changes || (inst.attrs.atomic != ir::AtomicOp::kAdd && inst.attrs.atomic != ir::AtomicOp::kInc);
}

bool Pauses(const ir::Inst& inst) { return inst.op == Opcode::kFence || inst.op == Opcode::kNanosleep; }
// The program gives no order; a fence or a sleep beside it does.
bool ReadsPlainly(const ir::Inst& inst) {
  const ir::Space space = inst.attrs.space;
  const bool is_shared =
      space == ir::Space::kGeneric || space == ir::Space::kGlobal || space == ir::Space::kShared;
  return inst.op == Opcode::kLoad && is_shared && (inst.attrs.flags & ir::kNonCoherent) == 0;
}

// By block: whether it is in a loop that pauses.
std::vector<bool> InLoopsThatPause(const ir::Function& f) {
  std::vector<bool> found(f.blocks.size());
  const analysis::LoopForest forest = analysis::Loops(analysis::BuildCfg(f));
  for (const uint32_t block : forest.blocks) {
    const auto& insts = f.at_block({block}).insts;
    if (!std::ranges::any_of(insts, [&](ir::InstId id) { return Pauses(f.at_inst(id)); })) continue;
    // All that is in the innermost loop around it.
    for (const uint32_t inside : forest.loops[forest.innermost[block]].blocks) found[inside] = true;
  }
  return found;
}

// Extends a set of functions that read memory by their callers. Indirect calls are one more entry, the last.
class Readers {
 public:
  explicit Readers(const ir::Module& module)
      : count_(module.functions.size()), targets_(ir::IndirectTargets(module)), callers_(count_ + 1) {
    for (uint32_t n = 0; n < count_; ++n) {
      for (const ir::Inst& inst : module.functions[n].insts)
        if (inst.block.valid() && ir::IsCall(inst.op)) callers_[CalledBy(inst)].push_back(n);
    }
  }
  size_t CalledBy(const ir::Inst& call) const {
    return call.op == Opcode::kCall ? size_t{call.attrs.index} : count_;
  }
  std::vector<bool> Reach(std::vector<bool> reads) const {
    std::vector<size_t> work;
    for (size_t n = 0; n < count_; ++n)
      if (reads[n]) work.push_back(n);
    reads.resize(count_ + 1);
    const auto add = [&](size_t n) {
      if (!reads[n]) work.push_back(n);
      reads[n] = true;
    };
    while (!work.empty()) {
      const size_t n = work.back();
      work.pop_back();
      for (const uint32_t caller : callers_[n]) add(caller);
      if (n < count_ && targets_[n]) add(count_);
    }
    return reads;
  }

 private:
  const size_t count_;
  const std::vector<bool> targets_;
  std::vector<std::vector<uint32_t>> callers_;
};

}  // namespace

void FlagCallsThatAsk(ir::Module& module) {
  std::vector<bool> asking, plain;
  for (const ir::Function& f : module.functions) {
    const auto any = [&](const auto& is) {
      return std::ranges::any_of(f.insts,
                                 [&](const ir::Inst& inst) { return inst.block.valid() && is(inst); });
    };
    plain.push_back(any(ReadsPlainly));
    asking.push_back(any([&](const ir::Inst& inst) { return Asks(f, inst); }) ||
                     (plain.back() && any(Pauses)));
  }
  const Readers readers(module);
  asking = readers.Reach(std::move(asking));
  plain = readers.Reach(std::move(plain));
  for (ir::Function& f : module.functions) {
    const bool calls = std::ranges::any_of(
        f.insts, [](const ir::Inst& inst) { return inst.block.valid() && ir::IsCall(inst.op); });
    if (!calls || f.is_declaration) continue;
    const std::vector<bool> pauses = InLoopsThatPause(f);
    for (uint32_t n = 0; n < f.insts.size(); ++n) {
      const ir::Inst& inst = f.insts[n];
      if (!inst.block.valid() || !ir::IsCall(inst.op)) continue;
      const size_t callee = readers.CalledBy(inst);
      if (asking[callee] || (plain[callee] && pauses[inst.block.index]))
        f.inst({n}).attrs.flags |= ir::kVolatile;
    }
  }
}

}  // namespace ptx2cpu::lowering
