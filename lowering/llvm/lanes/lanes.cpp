// Control flow of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/emit/warps.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr size_t kCheapInstructions = 12;  // that many run faster than they are jumped over
constexpr size_t kMaxParted = 250;         // of a region that is emitted twice

bool IsTrue(Value condition) {
  auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(condition);
  return constant != nullptr && constant->isOne();
}
}  // namespace

LaneVectors::LaneVectors(FunctionEmitter& e, const LanePlan& plan)
    : e(e),
      f(e.f),
      b(e.b),
      region_(plan.region),
      width_(plan.width),
      is_wide_(plan.is_wide),
      is_open_(f.blocks.size()) {}

Status LaneVectors::Run(Value live, llvm::BasicBlock* mixed) {
  mixed_ = mixed;
  LaneStep lanes = *e.step;
  lanes.level = ir::Level::kLane;
  lanes.width = width_;
  lanes.access_group = nullptr;
  lanes.under_masks = true;
  CurrentStep::Scope scope(e.step, lanes);
  ValueMap::LaneRegionScope sequences(e.values);
  if (live == nullptr) live = llvm::Constant::getAllOnesValue(VectorOf(b.getInt1Ty()));
  return EmitLevel(0, {live, b.getTrue()});
}

LaneStep LaneVectors::ScalarStep() const {
  LaneStep scalar = *e.step;
  scalar.width = 1;
  return scalar;
}

// -- masks --

LaneVectors::Mask LaneVectors::Empty() {
  return {llvm::Constant::getNullValue(VectorOf(b.getInt1Ty())), b.getFalse()};
}

bool LaneVectors::IsAll(const Mask& mask) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(mask.lanes);
  return constant != nullptr && constant->isAllOnesValue();
}

Value LaneVectors::Bits(const Mask& mask) { return b.CreateBitCast(mask.lanes, b.getIntNTy(width_)); }

Value LaneVectors::AnyOf(const Mask& mask) { return mask.any != nullptr ? mask.any : NonZero(Bits(mask)); }

Value LaneVectors::AllOf(const Mask& mask) {
  Value bits = Bits(mask);
  return b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
}

// A lane outside the mask may hold anything, a poison condition too.
LaneVectors::Mask LaneVectors::EdgeMask(const Mask& mask, Value condition) {
  if (condition->getType()->isVectorTy())
    return {IsAll(mask) ? condition : b.CreateLogicalAnd(mask.lanes, condition)};
  Value any = mask.any == nullptr ? nullptr : b.CreateLogicalAnd(mask.any, condition);
  return {b.CreateSelect(condition, mask.lanes, Empty().lanes), any, mask.active()};
}

LaneVectors::Mask LaneVectors::Either(const std::vector<EdgeRef>& edges) {
  Mask all = Empty();
  for (EdgeRef edge : edges) {
    const Mask& mask = edges_.at(edge);
    all.lanes = edge == edges.front() ? mask.lanes : b.CreateOr(all.lanes, mask.lanes);
    bool known = all.any != nullptr && mask.any != nullptr;
    all.any = edge == edges.front() ? mask.any : known ? b.CreateOr(all.any, mask.any) : nullptr;
    all.within = edge == edges.front() || all.within == mask.within ? mask.within : nullptr;
  }
  return all;
}

// -- code that is skipped when no lane is active --

bool LaneVectors::NeedsGuard(BlockId block) const {
  const std::vector<ir::InstId>& insts = f.at_block(block).insts;
  if (insts.size() > kCheapInstructions) return true;
  if (e.alignment.notes() != nullptr && e.alignment.notes()->Has(block)) return true;
  return std::ranges::any_of(insts, [&](ir::InstId id) {
    const ir::Inst& inst = f.at_inst(id);
    if (ir::IsTerminator(inst.op))
      return inst.op != Opcode::kBr && inst.op != Opcode::kCondBr && inst.op != Opcode::kSwitch &&
             inst.op != Opcode::kEndLane;
    return ir::Info(inst.op).effect != ir::Effect::kPure && inst.op != Opcode::kSlotLoad;
  });
}

LaneVectors::Guard LaneVectors::Open(const Mask& mask) {
  if (IsTrue(mask.any)) return {};
  Value any = AnyOf(mask);
  Guard guard{b.GetInsertBlock(), e.body.NewBlock("lanes_skip")};
  llvm::BasicBlock* inside = e.body.NewBlock("lanes");
  b.CreateCondBr(any, inside, guard.skip);
  b.SetInsertPoint(inside);
  return guard;
}

// What no lane has computed is zero: any value would do for inactive lanes, but not an undefined
// one.
void LaneVectors::Close(const Guard& guard, const std::vector<ValueId>& values,
                        const std::vector<EdgeRef>& edges) {
  if (guard.skip == nullptr) return;
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(guard.skip);
  b.SetInsertPoint(guard.skip);
  std::map<Value, Value> joined_values;  // runs of several values are those of the same lanes
  auto join = [&](Value value) -> Value {
    if (value == nullptr || llvm::isa<llvm::Constant>(value)) return value;
    Value& known = joined_values[value];
    if (known != nullptr) return known;
    llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, end);
    phi->addIncoming(llvm::Constant::getNullValue(value->getType()), guard.before);
    return known = phi;
  };
  for (ValueId id : values) {
    ShapedValue forms = e.values.Shaped(id);
    TwoRuns& runs = forms.runs;
    if (runs.second != nullptr) {
      for (Value& first : runs.first) first = join(first);
      runs.second = join(runs.second);
      runs.holds = join(runs.holds);
    }
    e.values.SetShaped(id, {join(forms.value), join(forms.first), join(forms.holds), runs});
  }
  for (EdgeRef edge : edges) {
    Mask& mask = edges_.at(edge);
    // Constants are not the same on both ways here.
    auto joined = [&](Value value) {
      llvm::PHINode* phi = b.CreatePHI(value->getType(), 2);
      phi->addIncoming(value, end);
      phi->addIncoming(llvm::Constant::getNullValue(value->getType()), guard.before);
      return phi;
    };
    mask.lanes = joined(mask.lanes);
    if (mask.any != nullptr) mask.any = joined(mask.any);
    if (mask.within != nullptr && !llvm::isa<llvm::Constant>(mask.within)) mask.within = nullptr;
  }
}

// -- values --

ShapedValue LaneVectors::Merge(const std::vector<EdgeRef>& edges, size_t number, const LaneShape& shape) {
  auto arg = [&](EdgeRef edge) { return f.successors(edge.from)[edge.number].args[number]; };
  bool same = std::ranges::all_of(edges, [&](EdgeRef edge) { return arg(edge) == arg(edges.front()); });
  // What is the same in all lanes is a sequence too where the others are supposed to be.
  auto shaped = [&](EdgeRef edge) {
    ShapedValue value = e.values.Shaped(arg(edge));
    if (!shape.affine()) return ShapedValue{value.value};
    if (!value.value->getType()->isVectorTy()) value = {Vector(value.value), value.value, nullptr};
    return value;
  };
  ShapedValue merged = shaped(edges.back());
  if (shape.varying()) merged.value = Vector(merged.value);
  if (same) return merged;
  merged.runs = {};
  for (size_t i = edges.size() - 1; i-- > 0;) {
    const ShapedValue other = shaped(edges[i]);
    const Mask& mask = edges_.at(edges[i]);
    if (shape.varying()) {
      // A bit, which costs no vector of bits, where it is known that all lanes come this way, or none.
      const bool all_or_none = mask.any != nullptr && mask.within != nullptr && IsAll({mask.within});
      merged.value = b.CreateSelect(all_or_none ? mask.any : mask.lanes, Vector(other.value), merged.value);
      continue;
    }
    Value here = AnyOf(mask);  // all lanes come this way, or none
    merged.value = b.CreateSelect(here, other.value, merged.value);
    if (!shape.affine()) continue;
    merged.first = b.CreateSelect(here, other.first, merged.first);
    auto known = [&](Value holds) -> Value { return holds != nullptr ? holds : b.getTrue(); };
    merged.holds = b.CreateSelect(here, known(other.holds), known(merged.holds));
  }
  return merged;
}

void LaneVectors::MergeParams(BlockId block, const std::vector<EdgeRef>& edges, const Mask& mask) {
  const std::vector<ValueId>& params = f.at_block(block).params;
  std::vector<ShapedValue> merged;
  for (size_t i = 0; i < params.size(); ++i) {
    const bool meet = region_.meets[params[i].index] && ShapeOf(params[i]).affine();
    merged.push_back(Merge(edges, i, meet ? analysis::kVaryingShape : ShapeOf(params[i])));
    if (meet) meet_in_[OnlyReader(params[i])].push_back(params[i]);
  }
  for (size_t i = 0; i < params.size(); ++i) e.values.SetShaped(params[i], merged[i]);
  MeetIn(block, mask);
}

// What no lane may come to read is not tested.
BlockId LaneVectors::OnlyReader(ValueId value) const {
  const BlockId made = f.at_value(value).block;
  BlockId only;
  for (BlockId block : region_.blocks) {
    const bool reads = std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      return std::ranges::count(inst.operands, value) != 0 ||
             std::ranges::any_of(
                 inst.edges, [&](const ir::Edge& edge) { return std::ranges::count(edge.args, value) != 0; });
    });
    if (!reads) continue;
    if (only.valid() || region_.level_of[block.index] != region_.level_of[made.index]) return made;
    only = block;
  }
  return only.valid() ? only : made;
}

void LaneVectors::MeetIn(BlockId block, const Mask& mask) {
  for (ValueId value : meet_in_[block])
    e.values.SetShaped(value, Met(e.values.Get(value), ShapeOf(value).stride, mask));
  meet_in_[block].clear();
}

// -- blocks and loops --

Status LaneVectors::EmitLevel(uint32_t level, const Mask& all) {
  const std::vector<LaneRegion::Item>& items = region_.levels[level].items;
  std::vector<Mask> masks(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const LaneRegion::Item& item = items[i];
    masks[i] = i == 0 ? all : item.same_as != LaneRegion::kNone ? masks[item.same_as] : Either(item.in);
    if (item.loop != LaneRegion::kNone) {
      TRY_STATUS(EmitLoop(item, masks[i]));
      continue;
    }
    if (i != 0) MergeParams(item.block, item.in, masks[i]);
    bool whole_level = level == 0 && (i == 0 || item.same_as == 0);
    TRY_STATUS(EmitBlock(item.block, masks[i], whole_level));
  }
  return {};
}

Status LaneVectors::EmitBlock(BlockId block, const Mask& mask, bool whole_level) {
  Guard guard;
  if (NeedsGuard(block)) guard = Open(mask);
  is_open_[block.index] = guard.skip == nullptr;
  Mask here = mask;
  if (guard.skip != nullptr) here.any = b.getTrue();
  if (IsTrue(here.any)) here = {here.active(), here.any};
  if (e.alignment.notes() != nullptr) e.alignment.notes()->AtBlock(block);
  MeetIn(block, here);
  std::vector<ValueId> made;
  for (ir::InstId id : f.at_block(block).insts) {
    const ir::Inst& inst = f.at_inst(id);
    if (ir::IsTerminator(inst.op)) {
      TRY_STATUS(EmitEdges(inst, block, here));
      break;
    }
    TRY_STATUS(EmitOne(inst, here, whole_level));
    for (ValueId result : inst.results) {
      if (region_.used_elsewhere[result.index]) made.push_back(result);
    }
  }
  std::vector<EdgeRef> out;
  for (uint32_t k = 0; k < f.successors(block).size(); ++k) out.push_back({block, k});
  Close(guard, made, out);
  return {};
}

Status LaneVectors::EmitEdges(const ir::Inst& inst, BlockId block, const Mask& mask) {
  if (inst.op == Opcode::kBr) {
    edges_[{block, 0}] = mask;
    return {};
  }
  if (inst.op == Opcode::kCondBr) {
    Value condition = e.values.Get(inst.operands[0]);
    if (PartsAtBound(inst, mask)) condition = AllOrNone(inst.operands[0], condition);
    edges_[{block, 0}] = EdgeMask(mask, condition);
    edges_[{block, 1}] = EdgeMask(mask, b.CreateNot(condition));
    return {};
  }
  if (inst.op == Opcode::kSwitch) {
    Value index = e.values.Get(inst.operands[0]);
    auto last = static_cast<uint32_t>(inst.edges.size() - 1);
    // Vectors also where all lanes have one index: of masks selected by compares of one word, LLVM's combiner
    // of nodes makes one form out of the other without end.
    for (uint32_t k = 0; k < last; ++k)
      edges_[{block, k}] = EdgeMask(mask, Vector(b.CreateICmpEQ(index, Literal(index, k))));
    edges_[{block, last}] = EdgeMask(mask, Vector(b.CreateICmpUGE(index, Literal(index, last))));
    return {};
  }
  if (inst.op == Opcode::kEndLane) {
    return {};
  }
  if (inst.op == Opcode::kExitLane) {
    EmitExit(mask);
    return {};
  }
  if (inst.op == Opcode::kTrap) {
    EmitFault(mask, inst, PTX2CPU_FAULT_TRAP);
    return {};
  }
  EmitFault(mask, inst, PTX2CPU_FAULT_UNREACHABLE);
  return {};
}

// Whether the condition compares places in the data with the data's bounds: most steps lie on one side.
bool LaneVectors::IsBound(ValueId condition, int depth) const {
  const ir::InstId def = f.at_value(condition).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  const LaneShape shape = ShapeIn(e, region_, condition);
  if (shape.uniform()) return true;
  if (inst.op == Opcode::kAnd || inst.op == Opcode::kOr || inst.op == Opcode::kXor) {
    return std::ranges::all_of(inst.operands, [&](ValueId operand) { return IsBound(operand, depth - 1); });
  }
  if (inst.op != Opcode::kIcmp || inst.attrs.compare == ir::Compare::kEq ||
      inst.attrs.compare == ir::Compare::kNe)
    return false;
  const LaneShape shapes[] = {ShapeIn(e, region_, inst.operands[0]), ShapeIn(e, region_, inst.operands[1])};
  const size_t place = shapes[0].affine() ? 0 : 1;
  const LaneShape& x = shapes[place];
  if (!x.affine() || !(shapes[1 - place].affine() || shapes[1 - place].uniform())) return false;
  // A constant parts the lanes of some step in every block, unless it lies between steps.
  const ir::InstId limit = f.at_value(inst.operands[1 - place]).def;
  if (x.base >= analysis::Uniformity::kBlock || !limit.valid() || f.at_inst(limit).op != Opcode::kConst)
    return true;
  return x.stride == 1 && (uint64_t{1} << x.align) >= width_ && f.at_inst(limit).attrs.bits % width_ == 0;
}

bool LaneVectors::PartsAtBound(const ir::Inst& inst, const Mask& mask) const {
  return mixed_ != nullptr && !has_effects_ && inst.block != bounded_ && IsAll(mask) &&
         region_.level_of[inst.block.index] == mixed_level_ &&
         !ShapeIn(e, region_, inst.operands[0]).uniform() && IsBound(inst.operands[0], kMaxDepthOfBound);
}

// Masks cost little beside accesses of each lane's own address, and in loops that lanes leave apart, where
// there are masks anyway.
bool LaneVectors::NeedsMasksAnyway() const {
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

// The first branch that parts lanes, if nothing has an effect before it. Code for blocks of any shape is
// emitted once: it is the one that must be there soon.
bool LaneVectors::PaysToPart() const {
  size_t instructions = 0;
  for (BlockId block : region_.blocks) instructions += f.at_block(block).insts.size();
  if (f.required_threads[0] == 0 || instructions > kMaxParted || NeedsMasksAnyway()) return false;
  for (const LaneRegion::Item& item : region_.levels[0].items) {
    for (ir::InstId id : f.at_block(item.block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      const ir::Effect effect = ir::Info(inst.op).effect;
      if (inst.op == Opcode::kCondBr && !ShapeIn(e, region_, inst.operands[0]).uniform())
        return IsBound(inst.operands[0], kMaxDepthOfBound);
      const bool stays = effect == ir::Effect::kPure || effect == ir::Effect::kReads ||
                         inst.op == Opcode::kBr || inst.op == Opcode::kCondBr;
      if (!stays) return false;
    }
  }
  return false;
}

void LaneVectors::EmitExit(const Mask& mask) {
  has_effects_ = true;
  EndThreads(e, Bits(mask));
}

void LaneVectors::EmitFault(const Mask& mask, const ir::Inst& inst, uint32_t kind) {
  Value lane = AsLane(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, Bits(mask), b.getFalse()));
  b.CreateCall(
      e.m.Service("ptx2cpu_fault"),
      {e.body.Block(), b.getInt32(kind), b.CreateAdd(e.step->thread, lane), b.getInt32(inst.at.ptx_line)});
  b.CreateUnreachable();
  b.SetInsertPoint(e.body.NewBlock("behind_fault"));
}

}  // namespace ptx2cpu::lowering
