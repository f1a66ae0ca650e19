#include "lowering/llvm/lanes/partings.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <utility>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr size_t kMaxParted = 250;  // instructions of a region that is emitted twice
}

LanePartings::Trip::Trip(LanePartings& partings, uint32_t level, llvm::BasicBlock* mixed, BlockId bounded)
    : partings_(partings),
      outer_mixed_(std::exchange(partings.mixed_, mixed)),
      outer_level_(std::exchange(partings.mixed_level_, level)),
      had_effects_(std::exchange(partings.has_effects_, false)),
      outer_bounded_(std::exchange(partings.bounded_, bounded)) {}

LanePartings::Trip::~Trip() {
  partings_.bounded_ = outer_bounded_;
  partings_.mixed_ = outer_mixed_;
  partings_.mixed_level_ = outer_level_;
  partings_.has_effects_ |= had_effects_;
}

Status LanePartings::Choose(Value holds, const std::function<Status()>& yes,
                            const std::function<Status()>& no, const std::vector<ValueId>& results) {
  if (holds == nullptr) return yes();
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(holds)) return known->isOne() ? yes() : no();
  // A wide step takes a trip together only if no lane diverges in it.
  if (is_wide_ && mixed_ != nullptr && mixed_level_ != 0 && !has_effects_) {
    llvm::BasicBlock* together = e.body.NewBlock("together");
    b.CreateCondBr(holds, together, mixed_);
    b.SetInsertPoint(together);
    return yes();
  }
  llvm::BasicBlock *together = e.body.NewBlock("together"), *apart = e.body.NewBlock("apart"),
                   *done = e.body.NewBlock("accessed");
  b.CreateCondBr(holds, together, apart, llvm::MDBuilder(e.m.context).createLikelyBranchWeights());
  std::vector<std::vector<Value>> values(2);
  llvm::BasicBlock* ends[2];
  for (int way = 0; way < 2; ++way) {
    b.SetInsertPoint(way == 0 ? together : apart);
    TRY_STATUS(way == 0 ? yes() : no());
    for (ValueId id : results) values[static_cast<size_t>(way)].push_back(e.values.Get(id));
    ends[way] = b.GetInsertBlock();
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  for (size_t i = 0; i < results.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(values[0][i]->getType(), 2);
    for (size_t way = 0; way < 2; ++way) phi->addIncoming(values[way][i], ends[way]);
    e.values.SetShaped(results[i], {phi, nullptr, nullptr});
  }
  return {};
}

bool LanePartings::PartsAtBound(const ir::Inst& inst, const Mask& mask) const {
  const bool all_or_none =
      IsAll(mask) || (mask.any != nullptr && mask.within != nullptr && IsAll({mask.within}));
  return mixed_ != nullptr && !has_effects_ && inst.block != bounded_ && all_or_none &&
         region_.level_of[inst.block.index] == mixed_level_ &&
         !ShapeIn(e, region_, inst.operands[0]).uniform() && v.sides.PartsRarely(inst.operands[0]);
}

// Masks cost little beside accesses of each lane's own address, and in loops that lanes leave apart, where
// there are masks anyway.
bool LanePartings::NeedsMasksAnyway() const {
  const auto leaves_apart = [](const LaneRegion::Level& level) { return !level.leaves_together; };
  if (std::ranges::any_of(region_.levels, leaves_apart)) return true;
  return std::ranges::any_of(region_.blocks, [&](BlockId block) {
    return std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op != Opcode::kLoad && inst.op != Opcode::kStore) return false;
      const LaneForm form = FormOf(e, region_, inst);
      return form == LaneForm::kVectorIfSeen || form == LaneForm::kGather;
    });
  });
}

// What lanes do one by one looks for all of them itself.
bool LanePartings::UpdatesOneByOne() const {
  return std::ranges::any_of(region_.blocks, [&](BlockId block) {
    return std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      return inst.op == Opcode::kAtomic && FormOf(e, region_, inst) == LaneForm::kEachLane;
    });
  });
}

// The first branch that parts lanes, if nothing has an effect before it. Code for blocks of any shape is
// emitted once: it is the one that must be there soon.
bool LanePartings::PaysToPart() const {
  size_t instructions = 0;
  for (BlockId block : region_.blocks) instructions += f.at_block(block).insts.size();
  if (f.required_threads[0] == 0 || instructions > kMaxParted || NeedsMasksAnyway()) return false;
  for (const LaneRegion::Item& item : region_.levels[0].items) {
    for (ir::InstId id : f.at_block(item.block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      const ir::Effect effect = ir::Info(inst.op).effect;
      if (inst.op == Opcode::kCondBr && !ShapeIn(e, region_, inst.operands[0]).uniform())
        return v.sides.PartsRarely(inst.operands[0]) &&
               !(v.sides.IsFlagOfTrips(inst.operands[0]) && UpdatesOneByOne());
      const bool stays = effect == ir::Effect::kPure || effect == ir::Effect::kReads ||
                         inst.op == Opcode::kBr || inst.op == Opcode::kCondBr;
      if (!stays) return false;
    }
  }
  return false;
}

// The condition as one bit; steps in which it is true for some lanes only leave. So do those that are no
// longer in a loop: after that, all lanes are active.
Value LanePartings::AllOrNone(const ir::Inst& branch, Value condition, const Mask& mask) {
  const ValueId id = branch.operands[0];
  using Sides = LaneSides::Sides;
  const bool is_flag = v.sides.IsFlagOfTrips(id);
  std::optional<Sides> sides = is_flag ? std::nullopt : v.sides.Of(id, branch.block);
  if (!sides) {
    Value bits = Bits({condition});
    sides = Sides{b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType())),
                  b.CreateICmpEQ(bits, Literal(bits, 0))};
  }
  llvm::BasicBlock* together = e.body.NewBlock("together");
  Value is_one = is_flag ? sides->all : b.CreateOr(sides->all, sides->none);
  if (!IsAll(mask)) is_one = b.CreateLogicalOr(b.CreateNot(mask.any), is_one);
  b.CreateCondBr(is_one, together, mixed_);
  b.SetInsertPoint(together);
  return is_flag && IsAll(mask) ? b.getTrue() : sides->all;
}

}  // namespace ptx2cpu::lowering
