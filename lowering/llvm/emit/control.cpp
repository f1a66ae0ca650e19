// Terminators. The loops are in kernel/loops.cpp.
#include <llvm/IR/Constants.h>

#include <map>
#include <utility>
#include <vector>

#include "lowering/llvm/emit/function_emitter.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

namespace {

// A block of its own for an edge, so that two edges to one block may carry different arguments.
llvm::BasicBlock* EdgeBlock(Site& s, const ir::Edge& edge) {
  llvm::BasicBlock* block = s.e.body.NewBlock("edge");
  llvm::IRBuilder<>::InsertPointGuard guard(s.b);
  s.b.SetInsertPoint(block);
  s.e.blocks.Jump(edge);
  return block;
}

Status FaultAlways(Site& s, uint32_t kind) {
  llvm::Value* thread = s.e.step->thread != nullptr ? s.e.step->thread : s.b.getInt32(0);
  s.b.CreateCall(s.e.m.Service("ptx2cpu_fault"),
                 {s.e.body.Block(), s.b.getInt32(kind), thread, s.b.getInt32(s.inst.at.ptx_line)});
  s.b.CreateUnreachable();
  return {};
}

bool InKernel(const Site& s) { return s.e.f.is_kernel; }

}  // namespace

Status EmitBr(Site& s) {
  s.e.blocks.Jump(s.inst.edges[0]);
  return {};
}

Status EmitCondBr(Site& s) {
  llvm::Value* condition = s.Raw(0);
  if (condition->getType()->isVectorTy()) return s.Broken("lanes may differ; an agree must come before");
  s.b.CreateCondBr(condition, EdgeBlock(s, s.inst.edges[0]), EdgeBlock(s, s.inst.edges[1]));
  return {};
}

Status EmitSwitch(Site& s) {
  llvm::Value* index = s.Raw(0);
  if (index->getType()->isVectorTy()) return s.Broken("lanes may differ; an agree_index must come before");
  // Edges that are the same share a block: a table of many entries often has few targets.
  std::map<std::pair<ir::BlockId, std::vector<ir::ValueId>>, llvm::BasicBlock*> ways;
  auto way = [&](const ir::Edge& edge) {
    llvm::BasicBlock*& block = ways[{edge.to, edge.args}];
    return block != nullptr ? block : block = EdgeBlock(s, edge);
  };
  const size_t last = s.inst.edges.size() - 1;
  llvm::SwitchInst* choice = s.b.CreateSwitch(index, way(s.inst.edges[last]), static_cast<unsigned>(last));
  for (size_t i = 0; i < last; ++i) {
    llvm::BasicBlock* block = way(s.inst.edges[i]);
    if (block != choice->getDefaultDest()) choice->addCase(s.b.getInt32(static_cast<uint32_t>(i)), block);
  }
  return {};
}

Status EmitRet(Site& s) {
  if (InKernel(s)) {
    if (s.e.step->level != ir::Level::kBlock) return s.Broken("below block level");
    s.b.CreateBr(s.e.step->end);
    return {};
  }
  llvm::Type* type = s.e.body.function->getReturnType();
  if (type->isVoidTy()) {
    s.b.CreateRetVoid();
  } else if (!type->isStructTy()) {
    s.b.CreateRet(s.Raw(0));
  } else {
    llvm::Value* all = llvm::PoisonValue::get(type);
    for (size_t i = 0; i < type->getStructNumElements(); ++i)
      all = s.b.CreateInsertValue(all, s.Raw(i), static_cast<unsigned>(i));
    s.b.CreateRet(all);
  }
  return {};
}

Status EmitExit(Site& s) {
  if (!InKernel(s)) return s.Unsupported("in a function that is not inlined");
  s.b.CreateBr(s.e.step->level == ir::Level::kLane ? s.e.step->exit : s.e.step->end);
  return {};
}

Status EmitTrap(Site& s) { return FaultAlways(s, PTX2CPU_FAULT_TRAP); }
Status EmitUnreachable(Site& s) { return FaultAlways(s, PTX2CPU_FAULT_UNREACHABLE); }

Status EmitEndLane(Site& s) {
  if (s.e.step->level != ir::Level::kLane || !InKernel(s)) return s.Broken("outside a lane loop");
  s.b.CreateBr(s.e.step->end);
  return {};
}

Status EmitExitLane(Site& s) {
  if (s.e.step->level != ir::Level::kLane || !InKernel(s)) return s.Broken("outside a lane loop");
  s.b.CreateBr(s.e.step->exit);
  return {};
}

Status EmitEndWarp(Site& s) {
  if (s.e.step->level != ir::Level::kWarp) return s.Broken("outside a warp loop");
  s.b.CreateBr(s.e.step->end);
  return {};
}

}  // namespace ptx2cpu::lowering
