// Agreements, and barriers of the block. One thread runs the block, region after region, so arrival needs no
// code.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "lowering/llvm/emit/lane_bits.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::Level;
using Value = llvm::Value*;
namespace intrinsic = llvm::Intrinsic;

// -- agreements --

namespace {

// Lanes (of `live`) whose value differs from that of the first live one.
Value Dissenters(Site& s, Value value, Value live, Value* first) {
  *first = s.b.CreateExtractElement(value, FirstLane(s, live));
  return s.b.CreateAnd(Bits(s, s.b.CreateICmpNE(value, Broadcast(s.b, *first, kWarpSize))), live);
}

Status AgreeInWarp(Site& s) {
  Value live = LiveMask(s.e, s.e.step->warp), first;
  Value others = Dissenters(s, s.Raw(0), live, &first);
  s.e.body.Fault(NonZero(s, others), PTX2CPU_FAULT_DIVERGENT_BRANCH, ThreadOf(s, FirstLane(s, others)),
                 s.inst.at);
  s.Return(first);
  return {};
}

// The first live warp's value is kept; every other warp must have the same one.
Status AgreeInBlock(Site& s) {
  llvm::Type* type = s.e.m.MemoryTypeOf(s.e.TypeOf(s.inst.results[0]));
  llvm::AllocaInst *agreed = s.e.body.Scratch(type, 1), *have = s.e.body.Scratch(s.e.I(8), 1);
  s.b.CreateStore(llvm::ConstantInt::get(type, 0), agreed);
  s.b.CreateStore(s.b.getInt8(0), have);
  TRY_STATUS(ForEachWarp(s.e, [&](Value live) {
    Value first;
    Value others = Dissenters(s, Broadcast(s.b, s.Raw(0), kWarpSize), live, &first);
    first = s.b.CreateZExt(first, type);
    Value known = NonZero(s, s.b.CreateLoad(s.e.I(8), have));
    Value other_warp = s.b.CreateAnd(known, s.b.CreateICmpNE(first, s.b.CreateLoad(type, agreed)));
    s.e.body.Fault(s.b.CreateOr(NonZero(s, others), other_warp), PTX2CPU_FAULT_DIVERGENT_BARRIER,
                   ThreadOf(s, s.b.CreateAnd(FirstLane(s, others), s.b.getInt32(31))), s.inst.at);
    s.b.CreateStore(first, agreed);
    s.b.CreateStore(s.b.getInt8(1), have);
    return Status{};
  }));
  Value result = s.b.CreateLoad(type, agreed);
  s.Return(s.e.TypeOf(s.inst.results[0]) == ir::Type::kI1 ? NonZero(s, result) : result);
  return {};
}

Status EmitAgreement(Site& s) {
  if (!s.e.values.IsVarying(s.inst.operands[0])) {
    s.Return(s.Raw(0));
    return {};
  }
  return s.e.step->level == Level::kWarp ? AgreeInWarp(s) : AgreeInBlock(s);
}

}  // namespace

Status EmitAgree(Site& s) { return EmitAgreement(s); }
Status EmitAgreeIndex(Site& s) { return EmitAgreement(s); }

// -- block barriers --

Status EmitBarrierBlock(Site& s) {
  if (s.e.step->level != Level::kBlock) return s.Broken("below block level");
  return {};
}

Status EmitBarrierArrive(Site& s) { return s.Unsupported("needs resumable warps"); }
Status EmitClusterArrive(Site& s) { return s.Unsupported("needs blocks that can be put aside"); }
Status EmitClusterWait(Site& s) { return s.Unsupported("needs blocks that can be put aside"); }

namespace {
// Numbers of live threads, and of those whose predicate holds.
Status Count(Site& s, const std::function<Value(Value holding, Value all)>& result) {
  if (s.e.step->level != Level::kBlock) return s.Broken("below block level");
  llvm::AllocaInst *holding = s.e.body.Scratch(s.e.I(32), 1), *all = s.e.body.Scratch(s.e.I(32), 1);
  s.b.CreateStore(s.b.getInt32(0), holding);
  s.b.CreateStore(s.b.getInt32(0), all);
  auto add = [&](Value to, Value mask) {
    Value ones = s.b.CreateUnaryIntrinsic(intrinsic::ctpop, mask);
    s.b.CreateStore(s.b.CreateAdd(s.b.CreateLoad(s.e.I(32), to), ones), to);
  };
  TRY_STATUS(ForEachWarp(s.e, [&](Value live) {
    add(all, live);
    add(holding, s.b.CreateAnd(live, Bits(s, s.Raw(0))));
    return Status{};
  }));
  s.Return(result(s.b.CreateLoad(s.e.I(32), holding), s.b.CreateLoad(s.e.I(32), all)));
  return {};
}
}  // namespace

Status EmitBarrierReducePopc(Site& s) {
  return Count(s, [](Value holding, Value) { return holding; });
}
Status EmitBarrierReduceAnd(Site& s) {
  return Count(s, [&](Value holding, Value all) { return s.b.CreateICmpEQ(holding, all); });
}
Status EmitBarrierReduceOr(Site& s) {
  return Count(s, [&](Value holding, Value) { return NonZero(s, holding); });
}

}  // namespace ptx2cpu::lowering
