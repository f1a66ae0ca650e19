#include "lowering/llvm/emit/warps.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/module/steps.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

Value Thread(FunctionEmitter& e) { return Consecutive(e.b, e.step->thread, e.step->width); }
Value Lane(FunctionEmitter& e) { return Consecutive(e.b, e.step->lane, e.step->width); }

namespace {
Value LiveWord(FunctionEmitter& e, Value warp) {
  Value live = e.body.Field(offsetof(ptx2cpu_block, live), e.b.getPtrTy(), "live");
  return e.b.CreateInBoundsGEP(e.b.getInt32Ty(), live, e.b.CreateZExt(warp, e.b.getInt64Ty()));
}
}  // namespace

Value LiveMask(FunctionEmitter& e, Value warp) {
  if (!e.lanes_missing) return LanesOf(e, warp);
  return e.memory.Load(e.b.getInt32Ty(), LiveWord(e, warp), llvm::Align(4), Memory::kContext);
}

void StoreLiveMask(FunctionEmitter& e, Value warp, Value mask) {
  e.memory.Store(mask, LiveWord(e, warp), llvm::Align(4), Memory::kContext);
}

namespace {
// The live words that hold the step's first thread and 31 more; the second may be the first again.
std::pair<Value, Value> LiveWords(FunctionEmitter& e) {
  llvm::IRBuilder<>& b = e.b;
  Value warps = e.body.Field(offsetof(ptx2cpu_block, warp_count), b.getInt32Ty(), "warp_count");
  Value first = b.CreateLShr(e.step->thread, 5), last = b.CreateSub(warps, b.getInt32(1));
  Value second = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateAdd(first, b.getInt32(1)), last);
  return {LiveWord(e, first), LiveWord(e, second)};
}
Value ShiftOfStep(FunctionEmitter& e) {
  return e.b.CreateZExt(e.b.CreateAnd(e.step->thread, e.b.getInt32(31)), e.b.getInt64Ty());
}
}  // namespace

Value LiveThreads(FunctionEmitter& e, unsigned count) {
  llvm::IRBuilder<>& b = e.b;
  auto [first, second] = LiveWords(e);
  auto load = [&](Value word) {
    return b.CreateZExt(e.memory.Load(b.getInt32Ty(), word, llvm::Align(4), Memory::kContext),
                        b.getInt64Ty());
  };
  Value both = b.CreateOr(load(first), b.CreateShl(load(second), 32));
  return b.CreateTrunc(b.CreateLShr(both, ShiftOfStep(e)), b.getIntNTy(count));
}

void EndThreads(FunctionEmitter& e, Value bits) {
  llvm::IRBuilder<>& b = e.b;
  auto [first, second] = LiveWords(e);
  Value both = b.CreateShl(b.CreateZExt(bits, b.getInt64Ty()), ShiftOfStep(e));
  auto clear = [&](Value word, Value ended) {
    Value old = e.memory.Load(b.getInt32Ty(), word, llvm::Align(4), Memory::kContext);
    Value rest = b.CreateAnd(old, b.CreateNot(b.CreateTrunc(ended, b.getInt32Ty())));
    e.memory.Store(rest, word, llvm::Align(4), Memory::kContext);
  };
  clear(first, both);
  clear(second, b.CreateLShr(both, 32));
}

Value LanesOf(FunctionEmitter& e, Value warp) {
  Value threads = e.body.Field(offsetof(ptx2cpu_block, thread_count), e.b.getInt32Ty(), "thread_count");
  const auto* count = llvm::dyn_cast<llvm::ConstantInt>(threads);
  if (count != nullptr && count->getZExtValue() % kWarpSize == 0) return e.b.getInt32(~0u);
  // Once, where the warp's number is known.
  Value& lanes = e.lanes_of[warp];
  if (lanes != nullptr) return lanes;
  llvm::IRBuilder<>::InsertPointGuard guard(e.b);
  if (auto* number = llvm::dyn_cast<llvm::Instruction>(warp)) {
    e.b.SetInsertPoint(number->getParent(), *number->getInsertionPointAfterDef());
  } else {
    e.b.SetInsertPoint(e.body.function->getEntryBlock().getTerminator());
  }
  return lanes = FirstLanes(e, e.b.CreateSub(threads, e.b.CreateShl(warp, 5)));
}

Value FirstLanes(FunctionEmitter& e, Value count) {
  llvm::IRBuilder<>& b = e.b;
  Value tail = b.CreateSub(b.CreateShl(b.getInt32(1), b.CreateAnd(count, b.getInt32(31))), b.getInt32(1));
  return b.CreateSelect(b.CreateICmpUGE(count, b.getInt32(kWarpSize)), b.getInt32(~0u), tail, "live");
}

Value AnyLive(FunctionEmitter& e) {
  llvm::IRBuilder<>& b = e.b;
  llvm::AllocaInst* any = e.body.Scratch(b.getInt32Ty(), 1);
  b.CreateStore(b.getInt32(0), any);
  Status status = ForCountOfWarps(e, "any_live", [&](Value warp) {
    b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), any), LiveMask(e, warp)), any);
    return Status{};
  });
  CHECK(status.has_value());
  return b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), any), b.getInt32(0));
}

Value ParkedMask(FunctionEmitter& e) {
  return e.memory.Load(e.I(32), e.memory.SlotAddress(e.f.parked_slot), llvm::Align(4), Memory::kSlot);
}

void StoreParkedMask(FunctionEmitter& e, Value mask) {
  e.memory.Store(mask, e.memory.SlotAddress(e.f.parked_slot), llvm::Align(4), Memory::kSlot);
}

void ContinueWhileLive(FunctionEmitter& e, Value any_live, llvm::BasicBlock* otherwise) {
  llvm::BasicBlock* go_on = e.body.NewBlock("live");
  e.b.CreateCondBr(any_live, go_on, otherwise);
  e.b.SetInsertPoint(go_on);
}

Status ForCountOfWarps(FunctionEmitter& e, const char* name, const std::function<Status(Value)>& body) {
  Value count = e.body.Field(offsetof(ptx2cpu_block, warp_count), e.b.getInt32Ty(), "warp_count");
  TRY_STATUS(e.body.Loop(count, name, body));
  MarkSteps(e.b);
  return {};
}

Status ForEachWarp(FunctionEmitter& e, const std::function<Status(Value)>& body) {
  return ForCountOfWarps(e, "each_warp", [&](Value warp) -> Status {
    LaneStep of_warp = *e.step;
    of_warp.width = kWarpSize;
    of_warp.warp = warp;
    of_warp.lane = e.b.getInt32(0);
    of_warp.thread = e.b.CreateShl(warp, 5, "", true, true);
    CurrentStep::Scope scope(e.step, of_warp);
    llvm::BasicBlock *inside = e.body.NewBlock("warp"), *next = e.body.NewBlock("next");
    Value live = LiveMask(e, warp);
    e.b.CreateCondBr(e.b.CreateICmpNE(live, e.b.getInt32(0)), inside, next);
    e.b.SetInsertPoint(inside);
    {
      ValueMap::WarpScope forgets(e.values);
      TRY_STATUS(body(live));
    }
    e.b.CreateBr(next);
    e.b.SetInsertPoint(next);
    return Status{};
  });
}

bool NobodyWaits(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever || f.has_early_exit) return false;
  size_t loops = 0;
  for (const ir::Block& block : f.blocks) {
    if (!block.removed && !block.insts.empty() && f.at_inst(block.insts.back()).op == ir::Opcode::kForLanes)
      ++loops;
  }
  return loops == 1;
}

bool LaneMayEnd(const FunctionEmitter& e) {
  return NobodyWaits(e.f) && e.step->level == ir::Level::kLane && e.step->width == 1 &&
         e.step->end != nullptr;
}

// A loop, which LLVM may make vectors of once it has inlined what is called.
Value EachLane(FunctionEmitter& e, const std::vector<Value>& arguments,
               const std::function<Value(const std::vector<Value>&)>& scalar) {
  llvm::IRBuilder<>& b = e.b;
  auto is_vector = [](Value value) { return value->getType()->isVectorTy(); };
  if (std::ranges::none_of(arguments, is_vector)) return scalar(arguments);
  std::vector<llvm::AllocaInst*> arrays(arguments.size());
  unsigned width = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(arguments[i]->getType());
    if (type == nullptr) continue;
    width = type->getNumElements();
    arrays[i] = e.body.Scratch(type->getElementType(), width);
    b.CreateAlignedStore(arguments[i], arrays[i], llvm::Align(64));
  }
  llvm::AllocaInst* results = nullptr;
  llvm::Type* element = nullptr;
  Status status = e.body.Loop(b.getInt32(width), "each_lane", [&](Value lane) {
    std::vector<Value> own = arguments;
    for (size_t i = 0; i < own.size(); ++i) {
      if (arrays[i] == nullptr) continue;
      llvm::Type* type = own[i]->getType()->getScalarType();
      own[i] = b.CreateLoad(type, b.CreateInBoundsGEP(type, arrays[i], lane));
    }
    Value result = scalar(own);
    element = result->getType();
    results = e.body.Scratch(element, width);
    b.CreateStore(result, b.CreateInBoundsGEP(element, results, lane));
    return Status{};
  });
  CHECK(status.has_value());
  return b.CreateAlignedLoad(llvm::FixedVectorType::get(element, width), results, llvm::Align(64));
}

}  // namespace ptx2cpu::lowering
