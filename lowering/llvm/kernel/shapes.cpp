// Which values of warp- and block-level code differ between lanes: those are vectors there, the rest scalars.
#include <algorithm>

#include "analysis/lanes/lane_shapes.h"
#include "lowering/llvm/kernel/function_emitter.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

llvm::Type* ShapedLike(llvm::Value* like, llvm::Type* element) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType())) {
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  }
  return element;
}

llvm::Value* Broadcast(llvm::IRBuilder<>& b, llvm::Value* value, unsigned width) {
  if (width == 1 || value->getType()->isVectorTy()) return value;
  return b.CreateVectorSplat(width, value);
}

// A loop, which LLVM may make vectors of once it has inlined what is called.
llvm::Value* EachLane(FunctionEmitter& e, const std::vector<llvm::Value*>& arguments,
                      const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& scalar) {
  llvm::IRBuilder<>& b = e.b;
  auto is_vector = [](llvm::Value* value) { return value->getType()->isVectorTy(); };
  if (std::ranges::none_of(arguments, is_vector)) return scalar(arguments);
  std::vector<llvm::AllocaInst*> arrays(arguments.size());
  unsigned width = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(arguments[i]->getType());
    if (type == nullptr) continue;
    width = type->getNumElements();
    arrays[i] = e.Scratch(type->getElementType(), width);
    b.CreateAlignedStore(arguments[i], arrays[i], llvm::Align(64));
  }
  llvm::AllocaInst* results = nullptr;
  llvm::Type* element = nullptr;
  Status status = e.Loop(b.getInt32(width), "each_lane", [&](llvm::Value* lane) {
    std::vector<llvm::Value*> own = arguments;
    for (size_t i = 0; i < own.size(); ++i) {
      if (arrays[i] == nullptr) continue;
      llvm::Type* type = own[i]->getType()->getScalarType();
      own[i] = b.CreateLoad(type, b.CreateInBoundsGEP(type, arrays[i], lane));
    }
    llvm::Value* result = scalar(own);
    element = result->getType();
    results = e.Scratch(element, width);
    b.CreateStore(result, b.CreateInBoundsGEP(element, results, lane));
    return Status{};
  });
  CHECK(status.has_value());
  return b.CreateAlignedLoad(llvm::FixedVectorType::get(element, width), results, llvm::Align(64));
}

namespace {

// Of an instruction above lane level, given which operands vary.
bool ResultVaries(const ir::Function& f, const ir::Inst& inst, size_t number,
                  const std::vector<bool>& varying) {
  auto operand = [&](size_t i) { return varying[inst.operands[i].index]; };
  switch (inst.op) {
    case Opcode::kSlotLoad:
      return f.slots[inst.attrs.index].shape == ir::Level::kLane;
    case Opcode::kSpecialRegister:
      return analysis::DiffersBetweenLanes(inst.attrs.special) ||
             (inst.attrs.special == ir::Special::kWarpId &&
              f.at_block(inst.block).level == ir::Level::kBlock);
    case Opcode::kShuffle:
    case Opcode::kMatchAny:
    case Opcode::kResumeWord:
      return true;
    case Opcode::kAgree:
    case Opcode::kAgreeIndex:
    case Opcode::kActiveMask:
    case Opcode::kLiveMask:
    case Opcode::kBarrierReducePopc:
    case Opcode::kBarrierReduceAnd:
    case Opcode::kBarrierReduceOr:
      return false;
    case Opcode::kVoteAll:
    case Opcode::kVoteAny:
    case Opcode::kVoteUni:
    case Opcode::kBallot:
    case Opcode::kRedux:
    case Opcode::kMatchAll:
      return (inst.attrs.flags & ir::kLegacy) == 0 && operand(inst.operands.size() - 1);
    case Opcode::kElect:
      return number == 1 || operand(0);
    case Opcode::kToGeneric:
    case Opcode::kFromGeneric:
      if (inst.attrs.space == ir::Space::kLocal) return true;
      break;
    default:
      break;
  }
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    if (operand(i)) return true;
  }
  return false;
}

}  // namespace

void FunctionEmitter::FindVarying() {
  varying_.assign(f.values.size(), false);
  bool changed = true;
  auto mark = [&](ir::ValueId value) {
    if (varying_[value.index]) return;
    varying_[value.index] = changed = true;
  };
  while (changed) {
    changed = false;
    for (const ir::Block& block : f.blocks) {
      if (block.removed || block.level == ir::Level::kLane) continue;
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f.at_inst(id);
        for (size_t r = 0; r < inst.results.size(); ++r) {
          if (ResultVaries(f, inst, r, varying_)) mark(inst.results[r]);
        }
        for (const ir::Edge& edge : inst.edges) {
          const ir::Block& to = f.at_block(edge.to);
          for (size_t i = 0; to.level != ir::Level::kLane && i < edge.args.size(); ++i) {
            if (varying_[edge.args[i].index]) mark(to.params[i]);
          }
        }
      }
    }
  }
}

}  // namespace ptx2cpu::lowering
