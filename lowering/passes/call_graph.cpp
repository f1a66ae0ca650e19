#include "lowering/passes/call_graph.h"

#include "analysis/regions/spin_loops.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

CallGraph::CallGraph(const ir::Module& module) : nodes_(module.functions.size()) {
  for (uint32_t n = 0; n < nodes_.size(); ++n) Scan(module.functions[n], nodes_[n]);
  const std::vector<bool> targets = ir::IndirectTargets(module);
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    nodes_[n].address_taken = targets[n] && !module.functions[n].is_kernel;
  for (bool changed = true; changed;) {
    changed = false;
    const bool waits = !IndirectTargets().empty();
    for (Node& node : nodes_) {
      bool suspends = node.suspends || (node.calls_indirectly && waits);
      for (uint32_t callee : node.calls) suspends |= nodes_[callee].suspends;
      changed |= suspends != node.suspends;
      node.suspends = suspends;
    }
  }
  for (uint32_t n = 0; n < nodes_.size(); ++n) nodes_[n].recursive = Reaches(n, n);
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
  if (!f.is_kernel && f.entry.valid() && !node.suspends) node.suspends = !analysis::FindSpinLoops(f).empty();
}

bool CallGraph::Reaches(uint32_t from, uint32_t to) const {
  std::vector<bool> seen(nodes_.size());
  std::vector<uint32_t> work = nodes_[from].calls;
  while (!work.empty()) {
    uint32_t n = work.back();
    work.pop_back();
    if (n == to) return true;
    if (seen[n]) continue;
    seen[n] = true;
    work.insert(work.end(), nodes_[n].calls.begin(), nodes_[n].calls.end());
  }
  return false;
}

}  // namespace ptx2cpu::lowering
