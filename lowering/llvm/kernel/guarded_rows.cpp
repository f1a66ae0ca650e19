// Rows in which only the threads below a bound have work:
//
//   for x < width step W: if (tid.x + base < bound) {...}   ->   for x < min(width, bound - base) step W: ...
//
// This skips the steps that the later levels of a tree or `if (tid == 0)` leave empty. The last step tests
// its lanes as before. The place must be a sequence along the whole row, not only along each of its vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/kernel/loops.h"
#include "lowering/llvm/kernel/row_begin.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

// Threads do something where the place, one more from thread to thread, compares so with the limit.
struct Bound {
  ValueId place, limit;
  bool is_signed = false, includes_limit = false;
};

class Guard {
 public:
  Guard(const FunctionEmitter& e, const LaneRegion& region) : e_(e), f_(e.f), r_(region) { Find(); }

  const std::vector<Bound>& bounds() const { return bounds_; }

  // Pure code before the branch, and the block's own values there, such as a tree's level: what a bound is
  // computed from.
  bool Computes(const ir::Inst& inst) const {
    return std::ranges::find(blocks_, inst.block) != blocks_.end() && (IsPure(inst) || IsOfBlock(inst));
  }

 private:
  static bool IsPure(const ir::Inst& inst) {
    return ir::Info(inst.op).effect == ir::Effect::kPure || IsParameter(inst);
  }
  bool IsOfBlock(const ir::Inst& inst) const {
    return inst.op == Opcode::kSlotLoad && f_.slots[inst.attrs.index].shape == ir::Level::kBlock;
  }
  static bool IsParameter(const ir::Inst& inst) {
    return inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam;
  }

  bool Ends(ir::BlockId block) const {
    const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
    const ir::Inst& end = f_.terminator(block);
    if (insts.size() != 1 || r_.level_of[block.index] != 0) return false;  // no loop without end
    return end.op == Opcode::kEndLane || (end.op == Opcode::kBr && Ends(end.edges[0].to));
  }

  // The branch that the region begins with, after code without effects, leads to its end or into it.
  void Find() {
    ir::BlockId block = r_.blocks[0];
    for (;;) {
      blocks_.push_back(block);
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (!ir::IsTerminator(inst.op) && !IsPure(inst) && inst.op != Opcode::kSlotLoad) return;
      }
      const ir::Inst& end = f_.terminator(block);
      if (end.op == Opcode::kCondBr) {
        const bool ends_if_true = Ends(end.edges[0].to);
        if (ends_if_true != Ends(end.edges[1].to)) AddAll(end.operands[0], !ends_if_true, kMaxDepth);
        return;
      }
      if (end.op != Opcode::kBr || !end.edges[0].args.empty()) return;
      block = end.edges[0].to;
      if (r_.level_of[block.index] != 0) return;
    }
  }

  // The bounds that hold wherever the condition has this truth.
  void AddAll(ValueId condition, bool truth, int depth) {
    const ir::InstId def = f_.at_value(condition).def;
    if (!def.valid() || depth == 0) return;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kNot) return AddAll(inst.operands[0], !truth, depth - 1);
    if (inst.op == (truth ? Opcode::kAnd : Opcode::kOr)) {
      for (ValueId operand : inst.operands) AddAll(operand, truth, depth - 1);
    }
    if (inst.op == Opcode::kIcmp) AddBound(inst, truth);
  }

  void AddBound(const ir::Inst& compare, bool truth) {
    const ir::Compare holding = compare.attrs.compare;
    const ir::CompareInfo& info = Info(truth ? holding : Negated(holding));
    for (const bool place_is_first : {true, false}) {
      // The place must not be beyond the limit.
      if ((info.holds & (place_is_first ? ir::CompareInfo::kGreater : ir::CompareInfo::kLess)) != 0) continue;
      const Bound bound{compare.operands[place_is_first ? 0 : 1], compare.operands[place_is_first ? 1 : 0],
                        info.of == ir::CompareInfo::kSigned, (info.holds & ir::CompareInfo::kEqual) != 0};
      const LaneShape place = ShapeIn(e_, r_, bound.place), limit = ShapeIn(e_, r_, bound.limit);
      // Places that depend on the block are those of data, of which all blocks but the last have all.
      const bool in_block = place.base != analysis::Uniformity::kBlock;
      if (place.affine() && place.stride == 1 && !place.guess && in_block && limit.uniform())
        bounds_.push_back(bound);
    }
  }

  static constexpr int kMaxDepth = 4;
  const FunctionEmitter& e_;
  const ir::Function& f_;
  const LaneRegion& r_;
  std::vector<ir::BlockId> blocks_;
  std::vector<Bound> bounds_;
};

}  // namespace

// How many threads of the row may do something, from its first one on. Null: all.
Value LoopEmitter::GuardedThreads(const LaneRegion& region, const LaneStep& row_step, Value width) {
  if (Guard(e, region).bounds().empty()) return nullptr;  // then the row has none either
  const std::optional<LaneRegion> row = RegionOfRow(e, region.blocks[0]);
  if (!row) return nullptr;
  const Guard guard(e, *row);
  Value threads = nullptr;
  for (const Bound& bound : guard.bounds()) {
    LaneStep first_thread = row_step;
    first_thread.width = 1;
    CurrentStep::Scope scope(e.step, first_thread);
    RowBegin begin(e, [&](const ir::Inst& inst) { return guard.Computes(inst); });
    Value place = begin.Of(bound.place), limit = place == nullptr ? nullptr : begin.Of(bound.limit);
    if (limit == nullptr || place->getType()->isVectorTy() || limit->getType()->isVectorTy()) continue;
    // Below the limit: in the type of the places a distance, whatever their sign. Where the places wrap
    // around on the row, any thread may be below it.
    llvm::Type* type = place->getType();
    const unsigned bits = type->getIntegerBitWidth();
    if (bits < 32) continue;
    Value last = b.CreateZExt(b.CreateSub(width, b.getInt32(1)), type);
    const auto below = bound.is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
    Value wraps = b.CreateICmp(below, b.CreateAdd(place, last), place);
    Value none = b.CreateICmp(below, limit, place);
    Value most = bound.includes_limit ? last : b.CreateZExt(width, type);
    Value count = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateSub(limit, place), most);
    count = b.CreateTrunc(count, b.getInt32Ty());
    if (bound.includes_limit) count = b.CreateAdd(count, b.getInt32(1));
    count = b.CreateSelect(none, b.getInt32(0), count);
    count = b.CreateSelect(wraps, width, count);
    threads = threads == nullptr ? count : b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, threads, count);
  }
  if (threads != nullptr) threads->setName("guarded_threads");
  return threads;
}

// A width of 1 is what others are compared with: it walks all threads.
Status LoopEmitter::GuardedThreadsOneByOne(const ir::Inst& inst, const LaneStep& row_step, Value width) {
  const std::optional<LaneRegion> region =
      e.m.lane_width == 1 ? std::nullopt : RegionOfRow(e, inst.edges[0].to);
  Value threads = region ? GuardedThreads(*region, row_step, width) : nullptr;
  if (threads == nullptr) return ThreadsOneByOne(inst, row_step, nullptr, width);
  llvm::BasicBlock *some = e.body.NewBlock("guarded"), *after = e.body.NewBlock("after_guarded");
  b.CreateCondBr(b.CreateICmpNE(threads, b.getInt32(0)), some, after);
  b.SetInsertPoint(some);
  TRY_STATUS(ThreadsOneByOne(inst, row_step, nullptr, threads));
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

}  // namespace ptx2cpu::lowering
