// Tier T3: the lanes of a warp run one by one until each suspends, at a collective, a barrier, or where it
// yields; a scheduler resumes them. Accepts any control flow graph.
//
// clang-format off
//   before (Simt, ballot alone in bb1)    after (Collapsed, resumes lanes; point 1 = ballot class 0)
//     bb0: %x = ... ; br bb1                entry [warp]: dispatch run, class0     run [warp]: for_lanes body, done
//     bb1: %m = ballot %p, %mask            body [lane]: resume bb0, after1        done [warp]: end_warp
//          br bb2                           bb0 [lane]: %x = ... ; slot_store 2, %x ; br bb1
//     bb2: store ..., %x, %m ; ret          bb1 [lane]: slot_store 0, %p ; slot_store 1, %mask ; suspend 1, %mask
//                                           after1 [lane]: %m = slot_load 3 ; %x' = slot_load 2 ; br bb2(%x')
//                                           bb2(%x): store ..., %x, %m ; exit_lane
//                                           class0 [warp]: ballot of slots 0, 1 into slot 3 ; end_warp
// clang-format on
//
// Collectives with the same operation share one class, whose operands and results are in slots: lanes may
// meet there from different places. A value that is needed after a suspension is stored once, where it is
// defined, and loaded where it is needed first; cheap pure values are computed again instead.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/values/liveness.h"
#include "ir/build.h"
#include "ir/edit.h"
#include "lowering/passes.h"
#include "lowering/passes/barrier_words.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/partings.h"
#include "lowering/passes/ssa_repair.h"
#include "lowering/passes/yield_after_trips.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr uint32_t kRebuildOperations = 4;  // beside constants, symbols, special registers
constexpr uint32_t kNoSlot = ~0u;

bool Suspends(const ir::Inst& inst) {
  return ir::IsBarrier(inst.op) || ir::IsCollective(inst.op) || inst.op == Opcode::kNanosleep;
}

class LanesResumable {
 public:
  // `values`: how many the code for warps has in common with this.
  LanesResumable(ir::Function& f, std::vector<Parting>& partings, size_t values)
      : f_(f), partings_(partings), values_(values) {}

  void Run() {
    Isolate(f_, Suspends);
    f_.has_early_exit = true;
    f_.resume_points.assign(1, {});
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (Suspends(f_.at_inst(f_.at_block(block).insts.front()))) Suspend(block);
      const auto parting = std::ranges::find(partings_, block, &Parting::branch);
      if (parting != partings_.end()) MayBegin(*parting);
      EndLane(block);
    }
    std::vector<ValueId> map(f_.values.size());
    for (auto [old, fresh] : replaced_) map[old.index] = fresh;
    ir::ReplaceUses(f_, map);
    ir::RemoveAll(f_, gone_);
    BuildEntry();
    CarryValues();
    if (!partings_.empty()) ListSlots();
    f_.phase = ir::Phase::kCollapsed;
  }

 private:
  // A collective's operation, whose lanes may be at different places.
  struct Class {
    ir::Inst inst;                            // operands and results are those of its first place
    std::vector<uint32_t> operands, results;  // slots
  };

  // -- suspensions --

  void Suspend(BlockId block) {
    const ir::InstId id = f_.at_block(block).insts.front();
    const ir::Inst inst = f_.at_inst(id);
    const ir::Inst end = f_.terminator(block);
    const auto point = static_cast<uint32_t>(f_.resume_points.size());
    BlockId after = ir::AddBlock(f_, f_.at_block(block).label);
    std::vector<ValueId> words;
    ir::ResumePoint entry{inst.op, ir::ResumePoint::kNoClass, inst.attrs.flags & (ir::kLegacy | ir::kAligned),
                          inst.at};
    ir::Builder before{f_, block, inst.at}, resumed{f_, after, inst.at};
    ir::Remove(f_, f_.at_block(block).insts.back());
    std::vector<ValueId> results;
    if (inst.op == Opcode::kNanosleep) {
      entry.op = Opcode::kUndef;
    } else if (ir::IsBarrier(inst.op)) {
      words = BarrierWords(before, inst);
      if (!inst.results.empty()) results.push_back(BarrierResult(resumed, inst));
    } else {
      entry.collective = ClassOf(inst);
      words = Deliver(before, inst, entry.collective);
      for (uint32_t slot : classes_[entry.collective].results) results.push_back(resumed.SlotLoad(slot));
    }
    for (size_t n = 0; n < results.size(); ++n) replaced_.push_back({inst.results[n], results[n]});
    gone_.push_back(id);
    before.Terminate(Opcode::kSuspend, std::move(words), {}, {.index = point});
    resumed.at = end.at;
    resumed.Br(end.edges[0].to, end.edges[0].args);
    f_.resume_points.push_back(entry);
    after_.push_back(after);
  }

  // Lanes continue at the branch whose warp has left other code there.
  void MayBegin(Parting& parting) {
    parting.point = static_cast<uint32_t>(f_.resume_points.size());
    const ir::Position at = f_.terminator(parting.branch).at;
    const BlockId after = ir::AddBlock(f_);
    ir::Builder{f_, after, at}.Br(parting.branch);
    f_.resume_points.push_back({Opcode::kUndef, ir::ResumePoint::kNoClass, 0, at});
    after_.push_back(after);
  }

  ValueId BarrierResult(ir::Builder& b, const ir::Inst& inst) {
    ValueId word = b.Inst1(Opcode::kResumeWord, Type::kVoid, {}, {.index = 0});
    if (f_.type_of(inst.results[0]) == Type::kI32) return word;
    return b.Icmp(ir::Compare::kNe, word, b.Const(Type::kI32, 0));
  }

  uint32_t ClassOf(const ir::Inst& inst) {
    auto same = [&](const Class& c) { return ir::SameOperation(c.inst, inst); };
    const auto found = std::ranges::find_if(classes_, same);
    const auto number = static_cast<uint32_t>(found - classes_.begin());
    if (found != classes_.end()) return number;
    Class fresh{inst, {}, {}};
    for (ValueId operand : inst.operands)
      fresh.operands.push_back(MailSlot(f_.type_of(operand), fresh.operands.size()));
    for (ValueId result : inst.results)
      fresh.results.push_back(MailSlot(f_.type_of(result), 16 + fresh.results.size()));
    classes_.push_back(std::move(fresh));
    return number;
  }

  // A lane is at one place at a time, so all classes share these.
  uint32_t MailSlot(Type type, size_t number) {
    auto [it, made] = mail_.try_emplace({type, number}, static_cast<uint32_t>(f_.slots.size()));
    if (made) f_.slots.push_back({type, Level::kLane});
    return it->second;
  }

  std::vector<ValueId> Deliver(ir::Builder& b, const ir::Inst& inst, uint32_t number) {
    for (size_t n = 0; n < inst.operands.size(); ++n)
      b.SlotStore(classes_[number].operands[n], inst.operands[n]);
    if (!ir::HasMembermask(inst.op, inst.attrs.flags)) return {};
    return {inst.operands.back()};
  }

  // -- frame --

  void EndLane(BlockId block) {
    const ir::Inst& end = f_.terminator(block);
    if (end.op != Opcode::kRet && end.op != Opcode::kExit) return;
    const ir::Position at = end.at;
    ir::Remove(f_, f_.at_block(block).insts.back());
    ir::Builder{f_, block, at}.Terminate(Opcode::kExitLane);
  }

  void BuildEntry() {
    BlockId entry = ir::AddBlock(f_, "", Level::kWarp), run = ir::AddBlock(f_, "", Level::kWarp),
            done = ir::AddBlock(f_, "", Level::kWarp);
    body_ = ir::AddBlock(f_, "");
    std::vector<ir::Edge> ways{{run, {}}}, points{{f_.entry, {}}};
    for (const Class& c : classes_) ways.push_back({BuildClass(c), {}});
    for (BlockId after : after_) points.push_back({after, {}});
    ir::Builder{f_, entry}.Terminate(Opcode::kDispatch, {}, std::move(ways));
    ir::Builder{f_, run}.Terminate(Opcode::kForLanes, {}, {{body_, {}}, {done, {}}});
    ir::Builder{f_, done}.Terminate(Opcode::kEndWarp);
    ir::Builder{f_, body_}.Terminate(Opcode::kResume, {}, std::move(points));
    f_.entry = entry;
  }

  BlockId BuildClass(const Class& c) {
    BlockId block = ir::AddBlock(f_, "", Level::kWarp);
    ir::Builder b{f_, block, c.inst.at};
    ir::Inst inst = c.inst;
    for (size_t n = 0; n < c.operands.size(); ++n) inst.operands[n] = b.SlotLoad(c.operands[n]);
    inst.results.clear();
    for (uint32_t slot : c.results)
      inst.results.push_back(ir::AddValue(f_, f_.slots[slot].type, {}, block, 0));
    const ir::InstId id = ir::Append(f_, block, std::move(inst), static_cast<uint32_t>(c.results.size()));
    const std::vector<ValueId> made = f_.at_inst(id).results;
    for (size_t n = 0; n < c.results.size(); ++n) b.SlotStore(c.results[n], made[n]);
    b.Terminate(Opcode::kEndWarp);
    return block;
  }

  // -- values that are needed after a suspension --

  void CarryValues() {
    const analysis::LivenessResult live = analysis::AnalyzeLiveness(f_);
    slot_of_.assign(f_.values.size(), kNoSlot);
    std::map<ValueId, Versions> versions;
    for (BlockId after : after_) {
      std::map<ValueId, ValueId> here;
      front_ = 0;
      for (ValueId value : live.in[after.index].Values()) {
        ValueId fresh = Cost(value, kRebuildOperations) <= kRebuildOperations ? Rebuild(after, value, here)
                                                                              : Load(after, value);
        here[value] = fresh;
        versions.try_emplace(value, Versions{value}).first->second.push_back(fresh);
      }
      Rewrite(after, here);
    }
    StoreAtDefinitions();
    std::vector<Versions> all;
    for (auto& [value, list] : versions) all.push_back(std::move(list));
    RepairSsa(f_, all, std::vector<bool>(f_.blocks.size(), true));
  }

  bool IsSource(const ir::Inst& inst) const {
    return inst.op == Opcode::kConst || inst.op == Opcode::kSymbol || inst.op == Opcode::kParamBase ||
           inst.op == Opcode::kKernelNumber || inst.op == Opcode::kFunctionAddress ||
           inst.op == Opcode::kTensorMemory ||
           (inst.op == Opcode::kSpecialRegister && (inst.attrs.flags & ir::kVolatile) == 0);
  }

  uint32_t Cost(ValueId value, uint32_t limit) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return limit + 1;
    const ir::Inst& inst = f_.at_inst(def);
    if (IsSource(inst)) return 0;
    const bool reads_parameter = inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam;
    if (inst.results.size() != 1 || (ir::Info(inst.op).effect != ir::Effect::kPure && !reads_parameter))
      return limit + 1;
    uint32_t cost = 1;
    for (ValueId operand : inst.operands) {
      if (cost > limit) return cost;
      cost += Cost(operand, limit - cost);
    }
    return cost;
  }

  ValueId Rebuild(BlockId after, ValueId value, std::map<ValueId, ValueId>& here) {
    if (auto it = here.find(value); it != here.end()) return it->second;
    ir::Inst inst = f_.at_inst(f_.at_value(value).def);
    for (ValueId& operand : inst.operands) operand = Rebuild(after, operand, here);
    return here[value] = Prepend(after, std::move(inst), f_.type_of(value));
  }

  ValueId Load(BlockId after, ValueId value) {
    if (slot_of_[value.index] == kNoSlot) {
      slot_of_[value.index] = static_cast<uint32_t>(f_.slots.size());
      f_.slots.push_back({f_.type_of(value), Level::kLane});
      carried_.push_back(value);
    }
    ir::Inst inst;
    inst.op = Opcode::kSlotLoad;
    inst.type = f_.type_of(value);
    inst.attrs.index = slot_of_[value.index];
    return Prepend(after, std::move(inst), f_.type_of(value));
  }

  // After what was put there before, in front of the rest.
  ValueId Prepend(BlockId block, ir::Inst inst, Type type) {
    inst.results = {ir::AddValue(f_, type, {}, block, 0)};
    const ir::InstId id = ir::Insert(f_, block, front_++, std::move(inst), 1);
    return f_.at_inst(id).results[0];
  }

  void Rewrite(BlockId block, const std::map<ValueId, ValueId>& here) {
    auto map = [&](ValueId& value) {
      if (auto it = here.find(value); it != here.end()) value = it->second;
    };
    for (ir::InstId id : f_.at_block(block).insts) {
      for (ValueId& operand : f_.inst(id).operands) map(operand);
      for (ir::Edge& edge : f_.inst(id).edges) std::ranges::for_each(edge.args, map);
    }
  }

  void StoreAtDefinitions() {
    for (ValueId value : carried_) {
      const ir::Value& info = f_.at_value(value);
      const auto& insts = f_.at_block(info.block).insts;
      size_t where = 0;
      if (info.def.valid())
        where = static_cast<size_t>(std::ranges::find(insts, info.def) - insts.begin()) + 1;
      ir::Inst store;
      store.op = Opcode::kSlotStore;
      store.type = info.type;
      store.attrs.index = slot_of_[value.index];
      store.operands = {value};
      store.at = info.def.valid() ? f_.at_inst(info.def).at : ir::Position{};
      ir::Insert(f_, info.block, where, std::move(store), 0);
    }
  }

  // -- slots that lanes need from a point on --

  // By block: those of carried values that some way from its start loads before it stores them.
  std::vector<std::vector<bool>> SlotsNeeded() const {
    std::vector<std::vector<bool>> needed(f_.blocks.size(), std::vector<bool>(f_.slots.size()));
    const std::vector<BlockId> order = ir::ReversePostOrder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto block = order.rbegin(); block != order.rend(); ++block) {
        if (f_.at_block(*block).level != Level::kLane) continue;
        std::vector<bool> slots = NeededAfter(*block, needed);
        const std::vector<ir::InstId>& insts = f_.at_block(*block).insts;
        for (auto id = insts.rbegin(); id != insts.rend(); ++id) {
          const ir::Inst& inst = f_.at_inst(*id);
          if (inst.op == Opcode::kSlotStore) slots[inst.attrs.index] = false;
          if (inst.op == Opcode::kSlotLoad) slots[inst.attrs.index] = true;
        }
        changed |= slots != needed[block->index];
        needed[block->index] = std::move(slots);
      }
    }
    return needed;
  }

  std::vector<bool> NeededAfter(BlockId block, const std::vector<std::vector<bool>>& needed) const {
    std::vector<bool> slots(f_.slots.size());
    const ir::Inst& end = f_.terminator(block);
    const auto add = [&](BlockId next) {
      for (size_t n = 0; n < slots.size(); ++n) slots[n] = slots[n] || needed[next.index][n];
    };
    if (end.op == Opcode::kSuspend) add(after_[end.attrs.index - 1]);
    for (const ir::Edge& edge : end.edges) {
      if (end.op != Opcode::kResume) add(edge.to);
    }
    return slots;
  }

  void ListSlots() {
    const std::vector<std::vector<bool>> needed = SlotsNeeded();
    for (Parting& parting : partings_) {
      const std::vector<bool>& slots = needed[after_[parting.point - 1].index];
      for (ValueId value : carried_) {
        const uint32_t slot = slot_of_[value.index];
        if (!slots[slot]) continue;
        const auto result = std::ranges::find(replaced_, value, &std::pair<ValueId, ValueId>::second);
        const ValueId kept = result == replaced_.end() ? value : result->first;
        // Counts of trips between yields, which only lanes have, begin anew.
        parting.slots.push_back({slot, f_.type_of(value), kept.index < values_ ? kept : ValueId{}});
      }
    }
  }

  ir::Function& f_;
  std::vector<Parting>& partings_;
  const size_t values_;
  BlockId body_;
  std::vector<BlockId> after_;  // of point i + 1
  std::vector<Class> classes_;
  std::map<std::pair<Type, size_t>, uint32_t> mail_;
  std::vector<uint32_t> slot_of_;
  std::vector<ValueId> carried_;
  size_t front_ = 0;                                   // instructions put in front of the current block
  std::vector<std::pair<ValueId, ValueId>> replaced_;  // results of suspensions
  std::vector<ir::InstId> gone_;
};

}  // namespace

Status MakeLanesResumable(ir::Module& module, const PassOptions& options) {
  const size_t count = module.functions.size();
  for (size_t n = 0; n < count; ++n) {
    ir::Function& f = module.functions[n];
    if (!f.is_kernel || f.is_declaration || f.resumes != ir::Resumes::kLanes) continue;
    std::vector<Parting> partings;
    std::optional<ir::Function> together;
    if (TriesTogether(options)) {
      if (auto found = DivideAtPartings(module, f, options)) {
        partings = std::move(*found);
        together.emplace(f);
      }
      YieldWhereLanesWait(f);
    }
    LanesResumable(f, partings, together ? together->values.size() : 0).Run();
    if (!together) continue;
    together->name += ".together";
    together->together_of = static_cast<uint32_t>(n);
    TRY_STATUS(RunTogether(module, *together, partings));
    module.functions.push_back(std::move(*together));
  }
  return {};
}

}  // namespace ptx2cpu::lowering
