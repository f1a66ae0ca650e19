// Checked code: before each access of memory, and around each point where threads meet, a call informs the
// runtime (runtime/check), which finds accesses out of bounds, races, missing threads and reads of memory
// that nothing has written.
//
//   before                          after
//     %v = load.f32 shared %a         check_access %a, 4, -1, @tile, 1024
//                                     %v = load.f32 shared %a
//     barrier_block 0                 check_sync arrive 0, 0
//                                     barrier_block 0
//                                     check_sync leave 0, 0
//
// It is the first pass: what the program does is checked, not what other passes make of it. No pass moves a
// barrier over a check_sync, nor removes a check; accesses may move, as they do without checks.
#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/values/address_variable.h"
#include "analysis/values/thread_transfer.h"
#include "ir/build.h"
#include "ir/parameters.h"
#include "ir/tensor.h"
#include "lowering/passes.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr uint32_t kLockstepBefore = 70;  // the first device whose lanes proceed one by one

uint32_t SpaceWord(ir::Space space) {
  const bool global = space == ir::Space::kGlobal || space == ir::Space::kConst;
  const uint32_t word = space == ir::Space::kShared  ? PTX2CPU_SPACE_SHARED
                        : space == ir::Space::kLocal ? PTX2CPU_SPACE_LOCAL
                        : global                     ? PTX2CPU_SPACE_GLOBAL
                                                     : PTX2CPU_SPACE_REAL;
  return word << PTX2CPU_ACCESS_SPACE_SHIFT;
}

uint32_t OrderWord(const ir::Inst& inst) {
  uint32_t word = analysis::IsStrong(inst, false) ? PTX2CPU_ACCESS_STRONG : 0;
  switch (inst.attrs.order) {
    case ir::MemoryOrder::kAcquire:
      return word | PTX2CPU_ACCESS_ACQUIRES;
    case ir::MemoryOrder::kRelease:
      return word | PTX2CPU_ACCESS_RELEASES;
    case ir::MemoryOrder::kAcqRel:
    case ir::MemoryOrder::kSeqCst:
      return word | PTX2CPU_ACCESS_ACQUIRES | PTX2CPU_ACCESS_RELEASES;
    case ir::MemoryOrder::kWeak:
    case ir::MemoryOrder::kVolatile:
    case ir::MemoryOrder::kRelaxed:
      return word;
  }
  return word;
}

uint32_t WordBytes(Type type) { return static_cast<uint32_t>(ir::Bytes(type)) << PTX2CPU_ACCESS_WORD_SHIFT; }

// Steps of synchronisation that translation has noted for checks.
void RemoveNotes(ir::Function& f) {
  for (ir::Block& block : f.blocks) {
    const std::vector<ir::InstId> insts = block.insts;
    for (const ir::InstId id : insts) {
      if (f.at_inst(id).op == Opcode::kCheckSync) ir::Remove(f, id);
    }
  }
}

class CheckInserter {
 public:
  CheckInserter(const ir::Module& module, uint32_t kinds) : module_(module), kinds_(kinds) {
    lockstep_ = module.sm < kLockstepBefore ? PTX2CPU_ACCESS_LOCKSTEP : 0;
    only_bounds_ =
        (kinds & (PTX2CPU_CHECKS_RACE | PTX2CPU_CHECKS_INIT)) == 0 ? PTX2CPU_ACCESS_BOUNDS_ONLY : 0;
    has_bulk_copies_ = std::ranges::any_of(module.functions, [](const ir::Function& f) {
      return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
        return inst.op == Opcode::kCopyBulk || inst.op == Opcode::kReduceBulk ||
               inst.op == Opcode::kCopyTensor;
      });
    });
  }

  void Instrument(ir::Function& f) {
    f_ = &f;
    if (!Races()) RemoveNotes(f);
    const bool keeps = f.is_kernel && ((Races() && has_bulk_copies_) || OnlyFrees(f));
    if ((kinds_ & PTX2CPU_CHECKS_MEMORY) != 0) variables_ = analysis::AnalyzeAddressVariables(f);
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      block_ = {b};
      const std::vector<ir::InstId> insts = std::move(f.blocks[b].insts);
      f.blocks[b].insts.clear();
      if (b == 0 && keeps) Sync(PTX2CPU_SYNC_KEEP, {}, {});
      for (const ir::InstId id : insts) {
        const ir::Inst inst = f.at_inst(id);  // a copy: the vector grows
        at_ = inst.at;
        Before(inst);
        f.blocks[b].insts.push_back(id);
        After(inst);
      }
    }
  }

 private:
  bool Races() const { return (kinds_ & PTX2CPU_CHECKS_RACE) != 0; }
  bool Synchronises() const { return (kinds_ & (PTX2CPU_CHECKS_RACE | PTX2CPU_CHECKS_SYNC)) != 0; }
  bool Accesses() const {
    return (kinds_ & (PTX2CPU_CHECKS_MEMORY | PTX2CPU_CHECKS_RACE | PTX2CPU_CHECKS_INIT)) != 0;
  }

  // A kernel with no access of its own has a step too, by which its code counts as checked.
  bool OnlyFrees(const ir::Function& f) const {
    bool calls = false;  // free, or what may call it
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid()) continue;
      calls |= inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect;
      if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
        if (inst.attrs.space != ir::Space::kParam) return false;
      }
    }
    const bool frees =
        std::ranges::any_of(module_.functions, [](const ir::Function& g) { return g.name == "free"; });
    return calls && frees && (kinds_ & PTX2CPU_CHECKS_MEMORY) != 0;
  }

  void Before(const ir::Inst& inst) {
    if (Accesses()) CheckAccesses(inst);
    if (!Synchronises()) return;
    if (inst.op == Opcode::kFence) Sync(PTX2CPU_SYNC_FENCE, {}, {});
    if (inst.op == Opcode::kClusterArrive) Sync(PTX2CPU_SYNC_CLUSTER_ARRIVE, {}, {});
    const uint32_t passes = inst.op == Opcode::kBarrierArrive ? PTX2CPU_SYNC_PASSES : 0;
    if (ir::IsBlockBarrier(inst.op)) BlockStep(inst, PTX2CPU_SYNC_BLOCK_ARRIVE | passes);
    if (ir::IsCollective(inst.op)) WarpStep(inst, PTX2CPU_SYNC_WARP_ARRIVE);
  }
  void After(const ir::Inst& inst) {
    if (Accesses() && inst.op == Opcode::kCopyTensor) CheckBox(inst);
    if (!Synchronises()) return;
    if (inst.op == Opcode::kClusterWait) Sync(PTX2CPU_SYNC_CLUSTER_LEAVE, {}, {});
    if (ir::IsBlockBarrier(inst.op) && inst.op != Opcode::kBarrierArrive)
      BlockStep(inst, PTX2CPU_SYNC_BLOCK_LEAVE);
    if (ir::IsCollective(inst.op)) WarpStep(inst, PTX2CPU_SYNC_WARP_LEAVE);
  }

  void CheckAccesses(const ir::Inst& inst) {
    if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) CheckPlain(inst);
    if (inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas) CheckAtomic(inst);
    if (inst.op == Opcode::kMatrixLoad || inst.op == Opcode::kMatrixStore) CheckRows(inst);
    if (inst.op == Opcode::kCopyAsync) {
      Access(inst.operands[1], PTX2CPU_ACCESS_READS | PTX2CPU_ACCESS_ASYNC, inst.operands[3]);
      Access(inst.operands[0], PTX2CPU_ACCESS_WRITES | PTX2CPU_ACCESS_ASYNC | SpaceWord(ir::Space::kShared),
             inst.operands[2]);
    }
    if (inst.op == Opcode::kCopyBulk || inst.op == Opcode::kReduceBulk) CheckBulk(inst);
  }
  // What has no source, st.bulk, is no copy: it only fills.
  void CheckBulk(const ir::Inst& inst) {
    constexpr uint32_t kCopy = PTX2CPU_ACCESS_ASYNC | PTX2CPU_ACCESS_BULK;
    if (NumberOf(inst.operands.back()) == 0)
      return Access(inst.operands[0], PTX2CPU_ACCESS_WRITES | PTX2CPU_ACCESS_BULK, inst.operands[2]);
    const bool reduces = inst.op == Opcode::kReduceBulk;
    Access(inst.operands[1], PTX2CPU_ACCESS_READS | kCopy, inst.operands.back());
    Access(inst.operands[0], PTX2CPU_ACCESS_WRITES | kCopy | (reduces ? PTX2CPU_ACCESS_STRONG : 0),
           inst.operands[2]);
  }
  // What a copy of a tensor does in shared memory, whose bytes the copy itself finds in the tensor's map. It
  // faults where the box is beyond that memory. The tensor's side is not followed.
  void CheckBox(const ir::Inst& inst) {
    const bool stores = ir::tensor::Decode(inst.attrs.index).to_tensor;
    Access(
        inst.operands[1],
        PTX2CPU_ACCESS_ASYNC | PTX2CPU_ACCESS_BULK | (stores ? PTX2CPU_ACCESS_READS : PTX2CPU_ACCESS_WRITES),
        inst.results[0]);
  }
  void CheckPlain(const ir::Inst& inst) {
    if (inst.attrs.space == ir::Space::kParam) return CheckParameter(inst);
    const bool loads = inst.op == Opcode::kLoad;
    const size_t words = loads ? inst.results.size() : inst.operands.size() - 1;
    const uint32_t what = loads ? PTX2CPU_ACCESS_READS | WordBytes(inst.type) : PTX2CPU_ACCESS_WRITES;
    Access(inst.operands[0], what | SpaceWord(inst.attrs.space) | OrderWord(inst),
           Word(static_cast<uint32_t>(ir::Bytes(inst.type) * words)));
  }
  // Parameters are read only, and always written: only an index can be wrong.
  void CheckParameter(const ir::Inst& load) {
    if ((kinds_ & PTX2CPU_CHECKS_MEMORY) == 0 || load.op != Opcode::kLoad) return;
    const uint64_t bytes = ir::Bytes(load.type) * load.results.size();
    const auto variable = variables_[load.operands[0].index];
    const std::optional<uint64_t> distance = ir::DistanceInParameters(*f_, load.operands[0]);
    if (variable && distance) {
      const ir::Param& param = f_->params[variable->index];
      if (*distance >= param.offset && *distance + bytes <= param.offset + uint64_t{param.size}) return;
    }
    Access(load.operands[0], PTX2CPU_ACCESS_READS | PTX2CPU_ACCESS_BOUNDS_ONLY,
           Word(static_cast<uint32_t>(bytes)));
  }
  void CheckAtomic(const ir::Inst& inst) {
    const bool is_object =
        inst.op == Opcode::kAtomic && inst.attrs.atomic == ir::AtomicOp::kMbarrier && Races();
    Access(inst.operands[0],
           (is_object ? PTX2CPU_ACCESS_MBARRIER : 0) | PTX2CPU_ACCESS_READS | PTX2CPU_ACCESS_WRITES |
               PTX2CPU_ACCESS_STRONG | WordBytes(inst.type) | SpaceWord(inst.attrs.space) | OrderWord(inst),
           Word(static_cast<uint32_t>(ir::Bytes(inst.type))),
           is_object ? NumberOf(inst.operands[1]) : std::nullopt);
  }
  // Lanes 0 to 8 n - 1 have the addresses of the rows of n matrices, 16 bytes each.
  void CheckRows(const ir::Inst& inst) {
    const bool loads = inst.op == Opcode::kMatrixLoad;
    const size_t matrices = loads ? inst.results.size() : inst.operands.size() - 2;
    const auto lanes = static_cast<uint32_t>(std::min<size_t>(8 * matrices, 32));
    Access(inst.operands[0],
           (loads ? PTX2CPU_ACCESS_READS | WordBytes(Type::kI32) : PTX2CPU_ACCESS_WRITES) |
               SpaceWord(inst.attrs.space) | lanes << PTX2CPU_ACCESS_LANES_SHIFT,
           Word(16));
  }

  void BlockStep(const ir::Inst& inst, uint32_t step) {
    // Operands: a predicate for reductions, then the number and the count if there is one.
    const size_t number = ir::Info(inst.op).operands.front() == 'P' ? 1 : 0;
    if ((inst.attrs.flags & ir::kAligned) != 0) step |= PTX2CPU_SYNC_ALIGNED;
    Sync(step, inst.operands[number],
         inst.operands.size() > number + 1 ? std::optional(inst.operands[number + 1]) : std::nullopt);
  }
  void WarpStep(const ir::Inst& inst, uint32_t step) {
    const bool named = ir::HasMembermask(inst.op, inst.attrs.flags);
    Sync(named ? step : step | PTX2CPU_SYNC_CONVERGED, named ? inst.operands.back() : Word(~0u), {});
  }

  ValueId Word(uint32_t bits) { return ir::Builder{*f_, block_, at_}.Const(Type::kI32, bits); }
  ValueId Long(uint64_t bits) { return ir::Builder{*f_, block_, at_}.Const(Type::kI64, bits); }
  // The integer that a value is computed to from constants, by few operations.
  std::optional<uint64_t> NumberOf(ValueId value, int depth = 8) const {
    const ir::InstId def = f_->at_value(value).def;
    if (!def.valid() || depth == 0) return {};
    const ir::Inst& inst = f_->at_inst(def);
    if (inst.op == Opcode::kConst) return inst.attrs.bits;
    if (inst.operands.empty()) return {};
    const auto a = NumberOf(inst.operands[0], depth - 1);
    if (inst.op == Opcode::kZext) return a;
    if (!a || inst.operands.size() != 2) return {};
    const auto b = NumberOf(inst.operands[1], depth - 1);
    if (!b) return {};
    if (inst.op == Opcode::kAnd) return *a & *b;
    if (inst.op == Opcode::kOr) return *a | *b;
    return inst.op == Opcode::kShl && *b < 64 ? std::optional(*a << *b) : std::nullopt;
  }
  void Access(ValueId address, uint32_t form, ValueId bytes, std::optional<uint64_t> change = {}) {
    ir::Attrs attrs;
    attrs.index = form | lockstep_ | only_bounds_;
    const auto [base, extent] = VariableOf(address, PTX2CPU_SPACE_OF_ACCESS(form), bytes);
    ir::Builder{*f_, block_, at_}.Make(Opcode::kCheckAccess, Type::kVoid,
                                       {address, bytes, Long(change.value_or(~uint64_t{0})), base, extent},
                                       attrs);
  }

  // The variable that the address was computed from, as where it begins and its bytes; 0 bytes: not known, of
  // unknown size, or aligned to less than the access, whose address must then be tested as a whole.
  std::pair<ValueId, ValueId> VariableOf(ValueId address, uint32_t space, ValueId bytes) {
    const auto variable = variables_.empty() ? std::nullopt : variables_[address.index];
    uint64_t size = 0, align = 1;
    if (variable) std::tie(size, align) = SizeOf(*variable);
    const ir::Inst* width = f_->at_value(bytes).def.valid() ? &f_->at_inst(f_->at_value(bytes).def) : nullptr;
    const bool is_aligned = width != nullptr && width->op == Opcode::kConst &&
                            align % std::min<uint64_t>(width->attrs.bits & ~uint32_t{0}, 16) == 0;
    const bool is_same_space = variable && SpaceWord(variable->space) >> PTX2CPU_ACCESS_SPACE_SHIFT == space;
    const bool is_generic = space == PTX2CPU_SPACE_REAL;
    if (size == 0 || !is_aligned || !(is_same_space || is_generic)) return {Long(0), Long(0)};
    ir::Builder build{*f_, block_, at_};
    if (variable->space == ir::Space::kParam) {
      const ValueId offset = Long(f_->params[variable->index].offset);
      return {build.Binary(Opcode::kAdd, Type::kI64, build.ParamBase(), offset), Long(size)};
    }
    ValueId base = build.Symbol(variable->space, variable->index);
    if (is_generic && (variable->space == ir::Space::kShared || variable->space == ir::Space::kLocal)) {
      ir::Attrs attrs;
      attrs.space = variable->space;
      base = build.Inst1(Opcode::kToGeneric, Type::kI64, {base}, attrs);
    }
    return {base, Long(size)};
  }
  std::pair<uint64_t, uint64_t> SizeOf(const analysis::VariableRef& ref) const {
    if (ref.space == ir::Space::kLocal) return {f_->locals[ref.index].size, f_->locals[ref.index].align};
    if (ref.space == ir::Space::kParam) return {f_->params[ref.index].size, f_->params[ref.index].align};
    const ir::Variable& variable = module_.variables[ref.index];
    return {variable.linkage == ir::Variable::Linkage::kExtern ? 0 : variable.size, variable.align};
  }
  void Sync(uint32_t step, std::optional<ValueId> a, std::optional<ValueId> b) {
    ir::Attrs attrs;
    attrs.index = step;
    const ValueId first = a ? *a : Word(0), second = b ? *b : Word(0);
    ir::Builder{*f_, block_, at_}.Make(Opcode::kCheckSync, Type::kVoid, {first, second}, attrs);
  }

  const ir::Module& module_;
  const uint32_t kinds_;
  uint32_t lockstep_ = 0, only_bounds_ = 0;
  bool has_bulk_copies_ = false;
  ir::Function* f_ = nullptr;
  std::vector<std::optional<analysis::VariableRef>> variables_;  // of values before checks; empty: not asked
  ir::BlockId block_;
  ir::Position at_;
};

}  // namespace

Status InsertChecks(ir::Module& module, const PassOptions& options) {
  if (options.checks == 0) {
    for (ir::Function& f : module.functions) RemoveNotes(f);
    return {};
  }
  CheckInserter inserter(module, options.checks);
  for (ir::Function& f : module.functions) {
    if (!f.is_declaration) inserter.Instrument(f);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
