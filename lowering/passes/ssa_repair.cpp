#include "lowering/passes/ssa_repair.h"

#include <unordered_map>

#include "ir/result.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {
namespace {

class Reader {
 public:
  Reader(ir::Function& f, const std::vector<std::vector<ir::BlockId>>& predecessors, const Versions& versions)
      : f_(f), predecessors_(predecessors) {
    for (ir::ValueId version : versions) defined_[f.at_value(version).block.index] = version;
  }

  ir::ValueId AtExit(ir::BlockId block) {
    auto it = defined_.find(block.index);
    return it != defined_.end() ? it->second : AtEntry(block);
  }

  ir::ValueId AtEntry(ir::BlockId block) {
    if (auto it = entered_.find(block.index); it != entered_.end()) return it->second;
    const std::vector<ir::BlockId>& from = predecessors_[block.index];
    CHECK(!from.empty(), "a use that no definition reaches");
    if (from.size() == 1) {
      ir::ValueId value = AtExit(from[0]);
      entered_[block.index] = value;
      return value;
    }
    ir::ValueId param = ir::AddParam(f_, block, f_.type_of(defined_.begin()->second));
    entered_[block.index] = param;
    for (ir::BlockId pred : from) {
      ir::ValueId value = AtExit(pred);
      for (ir::Edge& edge : f_.inst(f_.at_block(pred).insts.back()).edges) {
        if (edge.to == block) edge.args.push_back(value);
      }
    }
    return param;
  }

 private:
  ir::Function& f_;
  const std::vector<std::vector<ir::BlockId>>& predecessors_;
  std::unordered_map<uint32_t, ir::ValueId> defined_, entered_;
};

}  // namespace

void RepairSsa(ir::Function& f, const std::vector<Versions>& values, const std::vector<bool>& outside) {
  std::vector<std::vector<ir::BlockId>> predecessors = ir::Predecessors(f);
  std::vector<ir::BlockId> order = ir::ReversePostOrder(f);
  std::vector<const Versions*> versions_of(f.values.size(), nullptr);
  for (const Versions& versions : values) versions_of[versions[0].index] = &versions;
  std::unordered_map<uint32_t, Reader> readers;
  auto repair = [&](ir::ValueId value, ir::BlockId block) {
    if (value.index >= versions_of.size() || versions_of[value.index] == nullptr) return value;
    if (f.at_value(value).block == block) return value;  // after its definition
    auto [it, made] = readers.try_emplace(value.index, f, predecessors, *versions_of[value.index]);
    return it->second.AtEntry(block);
  };
  for (ir::BlockId block : order) {
    if (block.index >= outside.size() || !outside[block.index]) continue;
    std::vector<ir::InstId> insts = f.at_block(block).insts;
    for (ir::InstId id : insts) {
      for (ir::ValueId& operand : f.inst(id).operands) operand = repair(operand, block);
      for (size_t e = 0; e < f.at_inst(id).edges.size(); ++e) {
        for (size_t n = 0; n < f.at_inst(id).edges[e].args.size(); ++n) {
          ir::ValueId arg = repair(f.at_inst(id).edges[e].args[n], block);
          f.inst(id).edges[e].args[n] = arg;
        }
      }
    }
  }
  DropRedundantParams(f);
}

}  // namespace ptx2cpu::lowering
