#include "analysis/values/liveness.h"

#include <utility>

namespace ptx2cpu::analysis {

namespace {

// Blocks that use each value and do not define it.
std::vector<std::vector<ir::BlockId>> UsesElsewhere(const ir::Function& f) {
  std::vector<std::vector<ir::BlockId>> uses(f.values.size());
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    auto use = [&](ir::ValueId value) {
      auto& list = uses[value.index];
      if (f.at_value(value).block != block && (list.empty() || list.back() != block)) list.push_back(block);
    };
    for (ir::InstId id : f.at_block(block).insts) {
      for (ir::ValueId value : f.at_inst(id).operands) use(value);
      for (const ir::Edge& edge : f.at_inst(id).edges) {
        for (ir::ValueId value : edge.args) use(value);
      }
    }
  }
  return uses;
}

}  // namespace

// Value by value, from its uses back to its definition: no more steps than the result has members.
LivenessResult AnalyzeLiveness(const ir::Function& f) {
  LivenessResult result;
  result.in.resize(f.blocks.size());
  result.out.resize(f.blocks.size());
  const std::vector<std::vector<ir::BlockId>> predecessors = ir::Predecessors(f);
  std::vector<std::vector<ir::BlockId>> uses = UsesElsewhere(f);
  for (uint32_t v = 0; v < uses.size(); ++v) {
    std::vector<ir::BlockId> work = std::exchange(uses[v], {});
    while (!work.empty()) {
      const ir::BlockId block = work.back();
      work.pop_back();
      if (!result.in[block.index].Append({v})) continue;
      for (ir::BlockId from : predecessors[block.index]) {
        if (result.out[from.index].Append({v}) && f.at_value({v}).block != from) work.push_back(from);
      }
    }
  }
  return result;
}

}  // namespace ptx2cpu::analysis
