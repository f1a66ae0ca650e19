#include "analysis/values/liveness.h"

#include <bit>

namespace ptx2cpu::analysis {

bool ValueSet::Merge(const ValueSet& other) {
  bool added = false;
  for (size_t w = 0; w < words_.size(); ++w) {
    uint64_t merged = words_[w] | other.words_[w];
    added |= merged != words_[w];
    words_[w] = merged;
  }
  return added;
}

std::vector<ir::ValueId> ValueSet::Values() const {
  std::vector<ir::ValueId> values;
  for (size_t w = 0; w < words_.size(); ++w) {
    for (uint64_t bits = words_[w]; bits; bits &= bits - 1) {
      values.push_back({static_cast<uint32_t>(w * 64) + static_cast<uint32_t>(std::countr_zero(bits))});
    }
  }
  return values;
}

LivenessResult AnalyzeLiveness(const ir::Function& f) {
  LivenessResult result;
  result.in.assign(f.blocks.size(), ValueSet(f.values.size()));
  result.out = result.in;
  std::vector<ir::BlockId> order = ir::ReversePostOrder(f);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin(); block != order.rend(); ++block) {
      ValueSet& out = result.out[block->index];
      for (const ir::Edge& edge : f.successors(*block)) out.Merge(result.in[edge.to.index]);
      ValueSet live = out;
      const ir::Block& code = f.at_block(*block);
      for (auto id = code.insts.rbegin(); id != code.insts.rend(); ++id) {
        const ir::Inst& inst = f.at_inst(*id);
        for (ir::ValueId value : inst.results) live.Erase(value);
        for (ir::ValueId value : inst.operands) live.Insert(value);
        for (const ir::Edge& edge : inst.edges) {
          for (ir::ValueId value : edge.args) live.Insert(value);
        }
      }
      for (ir::ValueId value : code.params) live.Erase(value);
      changed |= result.in[block->index].Merge(live);
    }
  }
  return result;
}

}  // namespace ptx2cpu::analysis
