// Instructions that lanes run one after the other, between arrays of their operands and results.
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr unsigned kWordBits = 64;  // of several lanes' elements in one register
constexpr size_t kMaxRemade = 6;    // instructions, each with one operand that differs between lanes

// Repeats the loop that ends before `after` four times in each trip of the machine code. On Zen 4, all 32
// copies of an increment of a word that a byte chooses take a fifth more time than four.
void RepeatFourTimes(llvm::BasicBlock* after) {
  llvm::BasicBlock* head = after->getSinglePredecessor();
  llvm::LLVMContext& context = after->getContext();
  auto* four = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 4));
  llvm::Metadata* count[] = {llvm::MDString::get(context, "llvm.loop.unroll.count"), four};
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, count)});
  loop->replaceOperandWith(0, loop);
  for (llvm::BasicBlock* from : llvm::predecessors(head))
    from->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, loop);
}
}  // namespace

LanesOneByOne::Stored LanesOneByOne::StoredOf(ValueId id) {
  return {id, e.body.Scratch(e.m.MemoryTypeOf(f.type_of(id)), width_), {}};
}

Value LanesOneByOne::ElementOf(const Stored& stored, Value lane) {
  return b.CreateInBoundsGEP(e.m.MemoryTypeOf(f.type_of(stored.id)), stored.array, lane);
}

// An index that was loaded as a byte makes an address of eight bytes in a few instructions, which cost a lane
// less than the vector's, and than to move the address through memory.
ValueId LanesOneByOne::NarrowSource(const ir::Inst& inst, ValueId id,
                                    std::vector<const ir::Inst*>& made) const {
  ValueId source = id;
  while (made.size() < kMaxRemade) {
    const ir::InstId def = f.at_value(source).def;
    if (!def.valid()) break;
    const ir::Inst& of = f.at_inst(def);
    const bool is_simple = ir::Info(of.op).effect == ir::Effect::kPure && of.results.size() == 1 &&
                           ir::Info(of.op).lanes == ir::Lanes::kAlone &&
                           ir::Info(of.op).cost != ir::Cost::kCostly && of.block == inst.block;
    auto is_vector = [&](ValueId operand) { return e.values.Get(operand)->getType()->isVectorTy(); };
    if (!is_simple || std::ranges::count_if(of.operands, is_vector) != 1) break;
    made.insert(made.begin(), &of);
    source = *std::ranges::find_if(of.operands, is_vector);
  }
  const bool is_narrow = f.type_of(source) != ir::Type::kI1 && ir::IsInteger(f.type_of(source)) &&
                         ir::Bits(f.type_of(source)) < ir::Bits(f.type_of(id));
  if (is_narrow) return source;
  made.clear();
  return id;
}

Status LanesOneByOne::Remake(const Stored& operand, ValueMap::Overrides& elements) {
  for (const ir::Inst* inst : operand.remade) {
    elements.Set(inst->results[0], {});  // the vector's value is back when the lane's turn ends
    TRY_STATUS(EmitScalar(*inst));
  }
  return {};
}

// The load of consecutive elements that a vector is, where memory still holds them: nothing but shared memory
// has been written since, nor does the instruction write elsewhere.
const ir::Inst* LanesOneByOne::RowOf(const ir::Inst& inst, ValueId source) const {
  const ir::InstId def = f.at_value(source).def;
  if (!def.valid() || inst.attrs.space != ir::Space::kShared) return nullptr;
  const ir::Inst& load = f.at_inst(def);
  const bool is_far = load.attrs.space == ir::Space::kGlobal || load.attrs.space == ir::Space::kConst;
  if (load.op != Opcode::kLoad || !is_far || load.block != inst.block || load.results.size() != 1)
    return nullptr;
  if (analysis::IsStrong(load, e.private_shared) || FormOf(e, region_, load) != LaneForm::kVector)
    return nullptr;
  if (e.values.Shaped(load.operands[0]).first == nullptr) return nullptr;
  bool is_before = true;  // the load
  for (ir::InstId id : f.at_block(inst.block).insts) {
    const ir::Inst& other = f.at_inst(id);
    if (&other == &inst) break;
    is_before &= &other != &load;
    const ir::Effect effect = ir::Info(other.op).effect;
    const bool keeps = effect == ir::Effect::kPure || effect == ir::Effect::kReads ||
                       other.attrs.space == ir::Space::kShared;
    if (!is_before && !keeps) return nullptr;
  }
  return &load;
}

// i1: whether the loads of rows hold; null: there are none, or they always hold.
Value LanesOneByOne::RowsHold(const ir::Inst& inst) const {
  Value holds = nullptr;
  for (ValueId operand : inst.operands) {
    if (!e.values.Get(operand)->getType()->isVectorTy()) continue;
    std::vector<const ir::Inst*> made;
    const ir::Inst* row = RowOf(inst, NarrowSource(inst, operand, made));
    Value here = row == nullptr ? nullptr : e.values.Shaped(row->operands[0]).holds;
    if (here != nullptr) holds = holds == nullptr ? here : b.CreateLogicalAnd(holds, here);
  }
  return holds;
}

// Each vector among the operands, once.
std::vector<LanesOneByOne::Stored> LanesOneByOne::StoreOperands(const ir::Inst& inst, bool rows) {
  std::vector<Stored> operands;
  std::vector<ValueId> known;
  for (ValueId operand : inst.operands) {
    if (!e.values.Get(operand)->getType()->isVectorTy() || std::ranges::find(known, operand) != known.end())
      continue;
    known.push_back(operand);
    std::vector<const ir::Inst*> made;
    const ValueId id = NarrowSource(inst, operand, made);
    if (const ir::Inst* row = rows ? RowOf(inst, id) : nullptr; row != nullptr) {
      Memory memory;
      operands.push_back({id, FirstPointer(*row, &memory, 0), std::move(made)});
      continue;
    }
    Value value = e.values.Get(id);
    operands.push_back(StoredOf(id));
    operands.back().remade = std::move(made);
    if (f.type_of(id) == ir::Type::kI1) value = b.CreateZExt(value, VectorOf(b.getInt8Ty()));
    b.CreateAlignedStore(value, operands.back().array, llvm::Align(64));
  }
  return operands;
}

Status LanesOneByOne::AtLane(Value lane, std::span<const Stored> operands,
                             const std::function<Status()>& body) {
  LaneStep one = ScalarStep();
  one.lane = e.step->lane != nullptr ? b.CreateAdd(e.step->lane, lane, "lane", true, true) : lane;
  one.thread = b.CreateAdd(e.step->thread, lane, "thread", true, true);
  if (OfRow()) one.tid[0] = b.CreateAdd(e.step->tid[0], lane, "tid.x", true, true);
  one.end = one.exit = nullptr;
  CurrentStep::Scope scope(e.step, one);
  ValueMap::Overrides elements(e.values);
  for (const Stored& operand : operands) {
    Value value = operand.element;
    if (value == nullptr)
      value = b.CreateLoad(e.m.MemoryTypeOf(f.type_of(operand.id)), ElementOf(operand, lane));
    if (f.type_of(operand.id) == ir::Type::kI1) value = b.CreateICmpNE(value, Literal(value, 0));
    elements.Set(operand.id, {value, nullptr, nullptr});
    TRY_STATUS(Remake(operand, elements));
  }
  return body();
}

// The instruction for one lane, between arrays.
Status LanesOneByOne::EmitLane(const ir::Inst& inst, Value lane, std::span<const Stored> operands,
                               std::span<const Stored> results) {
  return AtLane(lane, operands, [&]() -> Status {
    TRY_STATUS(e.EmitInst(inst));
    for (const Stored& result : results) {
      Value value = e.values.Get(result.id);
      if (f.type_of(result.id) == ir::Type::kI1) value = b.CreateZExt(value, b.getInt8Ty());
      b.CreateStore(value, ElementOf(result, lane));
    }
    return {};
  });
}

Status LanesOneByOne::AllLanes(const std::function<Status(Value lane)>& body) {
  TRY_STATUS(e.body.Loop(b.getInt32(width_), "lane", body));
  RepeatFourTimes(b.GetInsertBlock());
  return {};
}

Status LanesOneByOne::EachOf(const Mask& mask, const std::function<Status(Value lane)>& body) {
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.body.NewBlock("each_lane"),
                   *inside = e.body.NewBlock("lane"), *end = e.body.NewBlock("no_more_lanes");
  Value lanes = Bits(mask);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* rest = b.CreatePHI(lanes->getType(), 2, "rest");
  rest->addIncoming(lanes, before);
  b.CreateCondBr(NonZero(rest), inside, end);
  b.SetInsertPoint(inside);
  Value lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, b.getTrue(), nullptr, "lane");
  TRY_STATUS(body(AsLane(lane)));
  rest->addIncoming(b.CreateAnd(rest, b.CreateSub(rest, Literal(rest, 1))), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(end);
  return {};
}

// What launches that are alone do before they continue at `after`; the builder is where others are then.
Status LanesOneByOne::WhereAlone(const std::function<Status()>& lanes, llvm::BasicBlock* after) {
  llvm::BasicBlock *alone = e.body.NewBlock("alone"), *others = e.body.NewBlock("not_alone");
  b.CreateCondBr(e.lone.Alone(), alone, others);
  b.SetInsertPoint(alone);
  {
    const LoneAtomics::Decided decided(e.lone, true);
    TRY_STATUS(lanes());
  }
  b.CreateBr(after);
  b.SetInsertPoint(others);
  return {};
}

Status LanesOneByOne::EmitEachLane(const ir::Inst& inst, const Mask& mask) {
  std::vector<Stored> operands, results;
  for (ValueId id : inst.results) {
    results.push_back(StoredOf(id));
    b.CreateAlignedStore(llvm::Constant::getNullValue(VectorOf(e.m.MemoryTypeOf(f.type_of(id)))),
                         results.back().array, llvm::Align(64));
  }
  llvm::BasicBlock* after = e.body.NewBlock("after");
  bool waits = false;
  auto one_of = [&](Value lane) { return EmitLane(inst, lane, operands, results); };
  auto each = [&]() -> Status {
    operands = StoreOperands(inst, false);
    if (!waits) TRY_STATUS(v.prefetch.PrefetchUpdated(inst, mask, operands));
    return EachOf(mask, one_of);
  };
  auto short_ones = [&]() -> Status {
    llvm::BasicBlock *all = e.body.NewBlock("all_lanes"), *some = e.body.NewBlock("some_lanes");
    Value rows_hold = RowsHold(inst);
    b.CreateCondBr(rows_hold == nullptr ? AllOf(mask) : b.CreateLogicalAnd(rows_hold, AllOf(mask)), all,
                   some);
    b.SetInsertPoint(all);
    operands = StoreOperands(inst, true);
    TRY_STATUS(AllLanesFrom(operands, [&](Value lane, std::span<const Stored> from) {
      return EmitLane(inst, lane, from, results);
    }));
    b.CreateBr(after);
    b.SetInsertPoint(some);
    return each();
  };
  std::optional<LoneAtomics::Decided> others;
  if (e.lone.IsOpen(inst)) {
    TRY_STATUS(WhereAlone(short_ones, after));
    others.emplace(e.lone, false);
  }
  if (e.deferred.Waits(inst)) {
    TRY_STATUS(v.atomics.CombineInWindow(inst, mask, after));
    llvm::BasicBlock *wait = e.body.NewBlock("wait"), *direct = e.body.NewBlock("at_once");
    b.CreateCondBr(e.deferred.TakeCredit(width_), wait, direct);
    b.SetInsertPoint(wait);
    {
      DeferredAtomics::Decided decided(e.deferred, waits = true);
      TRY_STATUS(short_ones());
      waits = false;
    }
    b.CreateBr(after);
    b.SetInsertPoint(direct);
    DeferredAtomics::Decided decided(e.deferred, false);
    TRY_STATUS(each());
  } else if (IsShortTurn(e, inst)) {
    TRY_STATUS(short_ones());
  } else {
    TRY_STATUS(each());
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
  LoadResults(results);
  return {};
}

void LanesOneByOne::LoadResults(std::span<const Stored> results) {
  for (const Stored& result : results) {
    Value all =
        b.CreateAlignedLoad(VectorOf(e.m.MemoryTypeOf(f.type_of(result.id))), result.array, llvm::Align(64));
    if (f.type_of(result.id) == ir::Type::kI1) all = b.CreateICmpNE(all, Literal(all, 0));
    e.values.SetShaped(result.id, {all, nullptr, nullptr});
  }
}

// A load for each byte, one for the word that it chooses, and a store are all accesses that a processor
// begins in a cycle; where other code accesses memory, too, that is what the loop waits for.
Status LanesOneByOne::AllLanesFrom(std::span<const Stored> operands, const OfLane& body) {
  const auto narrow = std::ranges::find_if(operands, [&](const Stored& operand) {
    const ir::Type type = f.type_of(operand.id);
    return type != ir::Type::kI1 && static_cast<unsigned>(ir::Bits(type)) <= kWordBits / 4 &&
           e.m.MemoryTypeOf(type)->isIntegerTy();
  });
  const auto bits =
      narrow == operands.end() ? kWordBits : static_cast<unsigned>(ir::Bits(f.type_of(narrow->id)));
  const unsigned lanes = kWordBits / bits;
  if (lanes == 1 || width_ % lanes != 0) return AllLanes([&](Value lane) { return body(lane, operands); });
  return e.body.Loop(b.getInt32(width_ / lanes), "word", [&](Value number) -> Status {
    Value first = b.CreateMul(number, Literal(number, lanes), "", true, true);
    Value word = b.CreateAlignedLoad(b.getInt64Ty(), ElementOf(*narrow, first), llvm::Align(bits / 8));
    std::vector<Stored> here(operands.begin(), operands.end());
    for (unsigned n = 0; n < lanes; ++n) {
      here[static_cast<size_t>(narrow - operands.begin())].element =
          b.CreateTrunc(b.CreateLShr(word, Literal(word, uint64_t{n} * bits)), b.getIntNTy(bits));
      TRY_STATUS(body(b.CreateAdd(first, Literal(first, n), "lane", true, true), here));
    }
    return {};
  });
}

}  // namespace ptx2cpu::lowering
