#include "lowering/llvm/emit/region_blocks.h"

#include <algorithm>

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// Edge 0 of the loop terminators leads to a lower level.
std::span<const ir::Edge> EdgesOfLevel(const ir::Inst& inst) {
  std::span<const ir::Edge> edges = inst.edges;
  bool loop = inst.op == ir::Opcode::kForWarps || inst.op == ir::Opcode::kForLanes;
  return loop ? edges.subspan(1) : edges;
}

std::vector<ir::BlockId> BlocksOfLevel(const ir::Function& f, ir::BlockId entry) {
  return ReversePostOrder(f, entry, EdgesOfLevel);
}

RegionBlocks::RegionBlocks(FunctionEmitter& e)
    : e_(e), blocks_(e.f.blocks.size()), phis_(e.f.values.size()) {}

Status RegionBlocks::Open(std::span<const ir::BlockId> order, const std::vector<llvm::Value*>& arguments) {
  llvm::BasicBlock* from = e_.b.GetInsertBlock();
  for (ir::BlockId id : order) {
    const ir::Block& block = e_.f.at_block(id);
    if (block.level != e_.step->level) {
      return Fail(ErrorCode::kInternal, "function " + e_.f.name + ": block " + std::to_string(id.index) +
                                            " of " + std::string(Name(block.level)) +
                                            " level is reached at " + std::string(Name(e_.step->level)) +
                                            " level");
    }
    blocks_[id.index] = e_.body.NewBlock(block.label.empty() ? "bb" : block.label.c_str());
    llvm::IRBuilder<> at(blocks_[id.index]);
    for (ir::ValueId param : block.params) {
      llvm::Type* type = e_.m.TypeOf(e_.f.type_of(param));
      if (e_.step->width > 1 && e_.values.IsVarying(param))
        type = llvm::FixedVectorType::get(type, e_.step->width);
      phis_[param.index] = at.CreatePHI(type, 2);
      e_.values.Set(param, phis_[param.index]);
    }
  }
  e_.b.CreateBr(Of(order.front()));
  const std::vector<ir::ValueId>& params = e_.f.at_block(order.front()).params;
  for (size_t i = 0; i < params.size(); ++i) {
    llvm::PHINode* phi = phis_[params[i].index];
    phi->addIncoming(Broadcast(e_.b, arguments[i], phi->getType()->isVectorTy() ? e_.step->width : 1), from);
  }
  return {};
}

void RegionBlocks::Jump(const ir::Edge& edge) {
  llvm::BasicBlock* from = e_.b.GetInsertBlock();
  const std::vector<ir::ValueId>& params = e_.f.at_block(edge.to).params;
  for (size_t i = 0; i < params.size(); ++i) {
    llvm::PHINode* phi = phis_[params[i].index];
    llvm::Value* value = e_.values.Get(edge.args[i]);
    phi->addIncoming(phi->getType()->isVectorTy() ? Broadcast(e_.b, value, e_.step->width) : value, from);
  }
  e_.b.CreateBr(Of(edge.to));
}

}  // namespace ptx2cpu::lowering
