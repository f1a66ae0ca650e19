// Prefetches for atomics at places that are computed from data, such as slots of a hash table, in loops over
// single lanes. A processor begins no access while a locked one waits for memory, so the table's lines would
// arrive one by one:
//
//   for lanes: update table[hash(key[lane])]
//   ->   for lanes below 16: prefetch table[hash(key[lane])]
//        for lanes: prefetch table[hash(key[lane + 16])] ; update table[hash(key[lane])]
//
// The address is computed again for a later lane, as it is in the first trip of inner loops: by pure
// operations, slots, and loads that the later lane does anyway. If that lane has not yet stored a value that
// it reads, or has exited, only another line is prefetched. So the address of such a load, and the conditions
// under which the lane loads, may only depend on values that are the same whenever they are computed.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <set>

#include "lowering/llvm/kernel/loops.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMaxInsts = 40;     // of what is computed for a later lane
constexpr size_t kMaxAddresses = 3;  // of a region
constexpr uint32_t kLanesAhead = 16;

class Ahead {
 public:
  // `loads`: all lanes are in the region, so that each does the loads whose conditions hold.
  Ahead(FunctionEmitter& e, BlockId entry, bool loads)
      : e_(e), f_(e.f), b_(e.b), entry_(entry), loads_(loads), order_(BlocksOfLevel(e.f, entry)) {
    place_.resize(f_.blocks.size(), order_.size());
    for (size_t n = 0; n < order_.size(); ++n) place_[order_[n].index] = n;
    from_.resize(f_.blocks.size());
    for (BlockId block : order_) {
      for (const ir::Edge& edge : EdgesOfLevel(f_.terminator(block)))
        from_[edge.to.index].push_back({block, &edge});
    }
    Find();
  }

  bool any() const { return !addresses_.empty(); }

  // For the step's lane, from the builder's block on.
  Status Emit() {
    ValueMap::Overrides values(e_.values);
    values_ = &values;
    for (const Condition& condition : conditions_) {
      Value holds = TRY(At(condition.value));
      llvm::BasicBlock *goes_on = e_.body.NewBlock("ahead"), *ends = e_.step->end;
      b_.CreateCondBr(holds, condition.truth ? goes_on : ends, condition.truth ? ends : goes_on);
      b_.SetInsertPoint(goes_on);
    }
    for (ValueId address : addresses_) {
      Value pointer = b_.CreateIntToPtr(TRY(At(address)), b_.getPtrTy());
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {pointer, b_.getInt32(kWrites), b_.getInt32(kFirstCache), b_.getInt32(1)});
    }
    return {};
  }

 private:
  static constexpr unsigned kWrites = 1, kFirstCache = 3;
  struct Condition {
    ValueId value;
    bool truth;
  };
  struct Entry {
    BlockId block;
    const ir::Edge* edge;
  };

  void Find() {
    if (std::ranges::none_of(order_, [&](BlockId block) {
          return std::ranges::any_of(f_.at_block(block).insts,
                                     [&](ir::InstId id) { return IsLocked(f_.at_inst(id)); });
        }))
      return;
    // A locked access also waits for the stores before it.
    for (const bool locked : {true, false}) {
      for (BlockId block : order_) {
        for (ir::InstId id : f_.at_block(block).insts) {
          const ir::Inst& inst = f_.at_inst(id);
          const bool stores = inst.op == Opcode::kStore && inst.attrs.space == ir::Space::kGlobal;
          if ((locked ? IsLocked(inst) : stores) && addresses_.size() < kMaxAddresses)
            AddAddress(inst.operands[0]);
        }
      }
      if (addresses_.empty()) return;
    }
  }

  bool IsLocked(const ir::Inst& inst) const {
    const bool updates = inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas;
    return updates && inst.attrs.space == ir::Space::kGlobal && inst.attrs.scope != ir::Scope::kCta &&
           !e_.deferred.Waits(inst);
  }

  void AddAddress(ValueId address) {
    const std::set<uint32_t> needed = needed_, steady = steady_;
    const std::vector<Condition> conditions = conditions_;
    reads_ = false;
    if (Needs(address, false) && reads_ && needed_.size() <= kMaxInsts) return addresses_.push_back(address);
    needed_ = needed;
    steady_ = steady;
    conditions_ = conditions;
  }

  // Whether the value can be computed for a later lane; `steady`: it is the same whenever that happens.
  bool Needs(ValueId id, bool steady) {
    const ir::Value& value = f_.at_value(id);
    if (!value.block.valid()) return true;  // a parameter of the function
    if (f_.at_block(value.block).level != ir::Level::kLane) return !e_.values.IsVarying(id);
    if (needed_.size() > kMaxInsts) return false;
    if (!(steady ? steady_ : needed_).insert(id.index).second) return true;  // that is being asked
    if (steady) needed_.insert(id.index);
    if (!value.def.valid()) {
      const ValueId* argument = FirstArgument(value);
      return argument != nullptr && Needs(*argument, steady);
    }
    if (place_[value.block.index] == order_.size()) return false;
    const ir::Inst& inst = f_.at_inst(value.def);
    if (inst.op == Opcode::kSlotLoad) {
      reads_ = true;
      return !steady;
    }
    if (inst.op == Opcode::kLoad && inst.attrs.space != ir::Space::kParam) {
      if (steady || !IsLoaded(inst)) return false;
      reads_ = true;
      steady = true;
    } else if (inst.op != Opcode::kLoad && (ir::Info(inst.op).effect != ir::Effect::kPure ||
                                            ir::Info(inst.op).lanes != ir::Lanes::kAlone)) {
      return false;
    }
    return std::ranges::all_of(inst.operands, [&](ValueId operand) { return Needs(operand, steady); });
  }

  // Whether the later lane does the load too: nothing but steady conditions lead there.
  bool IsLoaded(const ir::Inst& load) {
    const bool is_far = load.attrs.space == ir::Space::kGlobal || load.attrs.space == ir::Space::kConst;
    if (!loads_ || !is_far || load.results.size() != 1 || analysis::IsStrong(load, e_.private_shared))
      return false;
    for (BlockId block = load.block; block != entry_;) {
      const std::vector<Entry>& entries = from_[block.index];
      if (entries.size() != 1) return false;
      const ir::Inst& end = f_.terminator(entries[0].block);
      if (end.op == Opcode::kCondBr) {
        if (!Needs(end.operands[0], true)) return false;
        Condition condition{end.operands[0], entries[0].edge == &end.edges[0]};
        const bool known = std::ranges::any_of(
            conditions_, [&](const Condition& other) { return other.value == condition.value; });
        if (!known) conditions_.push_back(condition);
      } else if (end.op != Opcode::kBr) {
        return false;
      }
      block = entries[0].block;
    }
    return from_[entry_.index].empty();
  }

  // The argument for a parameter of a block that is entered at one place, or of a loop's head in its first
  // trip.
  const ValueId* FirstArgument(const ir::Value& param) const {
    const size_t place = place_[param.block.index];
    if (place == order_.size() || param.block == entry_) return nullptr;
    const ir::Edge* first = nullptr;
    for (const Entry& entry : from_[param.block.index]) {
      if (place_[entry.block.index] >= place) continue;
      if (first != nullptr) return nullptr;
      first = entry.edge;
    }
    if (first == nullptr) return nullptr;
    const std::vector<ValueId>& params = f_.at_block(param.block).params;
    for (size_t n = 0; n < params.size(); ++n) {
      if (&f_.at_value(params[n]) == &param) return &first->args[n];
    }
    return nullptr;
  }

  Result<Value> At(ValueId id) {
    const ir::Value& value = f_.at_value(id);
    const bool outside = !value.block.valid() || f_.at_block(value.block).level != ir::Level::kLane;
    if (outside || done_.contains(id.index)) return e_.values.Get(id);
    if (!value.def.valid()) {
      Value first = TRY(At(*FirstArgument(value)));
      values_->Set(id, {first, nullptr, nullptr});
    } else {
      const ir::Inst& inst = f_.at_inst(value.def);
      for (ValueId operand : inst.operands) TRY_STATUS(At(operand));
      for (ValueId result : inst.results) {
        values_->Set(result, ShapedValue{});
        done_.insert(result.index);
      }
      if (inst.op == Opcode::kLoad && inst.attrs.space != ir::Space::kParam) {
        Load(inst);
      } else {
        TRY_STATUS(e_.EmitInst(inst));
      }
    }
    done_.insert(id.index);
    return e_.values.Get(id);
  }

  // The load has any alignment: a misaligned access is a fault where the lane itself loads.
  void Load(const ir::Inst& inst) {
    Value pointer = b_.CreateIntToPtr(e_.values.Get(inst.operands[0]), b_.getPtrTy());
    llvm::Type* type = e_.m.MemoryTypeOf(inst.type);
    e_.values.Set(inst.results[0], b_.CreateAlignedLoad(type, pointer, llvm::Align(1)));
  }

  FunctionEmitter& e_;
  const ir::Function& f_;
  llvm::IRBuilder<>& b_;
  const BlockId entry_;
  const bool loads_;
  const std::vector<BlockId> order_;
  std::vector<size_t> place_;             // in the order, by block
  std::vector<std::vector<Entry>> from_;  // by block
  std::vector<ValueId> addresses_;
  std::vector<Condition> conditions_;
  std::set<uint32_t> needed_, steady_, done_;  // values
  bool reads_ = false;
  ValueMap::Overrides* values_ = nullptr;
};

}  // namespace

bool LoopEmitter::PrefetchesLater(const ir::Inst& inst) const {
  return Ahead(e, inst.edges[0].to, !MasksLanes(inst)).any();
}

Status LoopEmitter::PrefetchForLane(const ir::Inst& inst, LaneStep step, Value by, Value is_there) {
  Ahead ahead(e, inst.edges[0].to, !MasksLanes(inst));
  if (!ahead.any()) return {};
  llvm::BasicBlock *later = e.body.NewBlock("later_lane"), *after = e.body.NewBlock("prefetched");
  b.CreateCondBr(is_there, later, after);
  b.SetInsertPoint(later);
  step.thread = b.CreateAdd(step.thread, by, "thread", true, true);
  if (step.tid[0] != nullptr) {
    step.tid[0] = b.CreateAdd(step.tid[0], by, "tid.x", true, true);
    step.lane = b.CreateAnd(step.thread, b.getInt32(31));
    step.warp = b.CreateLShr(step.thread, 5);
  } else {
    step.lane = b.CreateAdd(step.lane, by, "lane", true, true);
  }
  step.access_group = nullptr;
  step.end = step.exit = after;
  {
    CurrentStep::Scope scope(e.step, step);
    TRY_STATUS(ahead.Emit());
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
  return {};
}

// The first lanes' lines, before the loop from `first` (null: 0) up to `end`, of which `step` is the first.
Status LoopEmitter::PrefetchFirst(const ir::Inst& inst, const LaneStep& step, Value first, Value end) {
  if (!PrefetchesLater(inst)) return {};
  Value count = first == nullptr ? end : b.CreateSub(end, first);
  count = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, b.getInt32(kLanesAhead));
  return e.body.Loop(count, "first_lane",
                     [&](Value index) { return PrefetchForLane(inst, step, index, b.getTrue()); });
}

Status LoopEmitter::PrefetchLater(const ir::Inst& inst, const LaneStep& step, const LaneLoop& loop) {
  Value by = b.getInt32(kLanesAhead);
  return PrefetchForLane(inst, step, by, b.CreateICmpULT(b.CreateAdd(loop.index, by), loop.count));
}

}  // namespace ptx2cpu::lowering
