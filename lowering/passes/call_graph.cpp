#include "lowering/passes/call_graph.h"

#include <algorithm>
#include <utility>

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

// Callers of what suspends suspend; indirect calls do once a function that they may reach does.
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

}  // namespace

void FlagCallsThatAsk(ir::Module& module) {
  const size_t count = module.functions.size();
  const std::vector<bool> targets = ir::IndirectTargets(module);
  std::vector<std::vector<uint32_t>> callers(count + 1);  // the last ones call indirectly
  std::vector<bool> asks(count + 1);
  std::vector<size_t> work;
  const auto add = [&](size_t n) {
    if (!asks[n]) work.push_back(n);
    asks[n] = true;
  };
  const auto called_by = [&](const ir::Inst& call) {
    return call.op == Opcode::kCall ? size_t{call.attrs.index} : count;
  };
  for (uint32_t n = 0; n < count; ++n) {
    const ir::Function& f = module.functions[n];
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid()) continue;
      if (ir::IsCall(inst.op)) callers[called_by(inst)].push_back(n);
      if (Asks(f, inst)) add(n);
    }
  }
  while (!work.empty()) {
    const size_t n = work.back();
    work.pop_back();
    for (uint32_t caller : callers[n]) add(caller);
    if (n < count && targets[n]) add(count);
  }
  for (ir::Function& f : module.functions) {
    for (uint32_t n = 0; n < f.insts.size(); ++n) {
      const ir::Inst& inst = f.insts[n];
      if (inst.block.valid() && ir::IsCall(inst.op) && asks[called_by(inst)])
        f.inst({n}).attrs.flags |= ir::kVolatile;
    }
  }
}

}  // namespace ptx2cpu::lowering
