// Accesses that cannot race are checked for their bounds only. In shared memory these are the accesses that
// overlap no other thread's access between the same barriers (analysis/memory). In global memory they are
// accesses of an allocation which the kernel only reads, or only changes by atomics that order nothing, or in
// which each thread has an element of its own (analysis/memory/grid_elements).
//
//   before                                       after
//     %x = load i64 param [0]                      (the same)
//     %y = load i64 param [8]
//     check_access reads %a, 4, -1                 check_access reads bounds_only %a, 4, 2
//     %v = load f32 global %a     ; x + i
//     check_access writes %b, 4, -1                check_access writes bounds_only own_elements %b, 4, 1
//     store f32 global %b, %v     ; y + 4 * (ctaid.x * ntid.x + tid.x)
//
// The third operand has a bit for each word of the parameters from which the address of an access that could
// race with this one may come. The runtime compares: an access of an allocation that none of these words
// points into needs no record. This requires that each such address is a pointer parameter plus integers; an
// address that is computed otherwise, for example from loaded parts, may be any address.
//
// Among warp operations that follow each other without an access in between, only the first is announced; for
// barriers of the whole block, only that threads leave them.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "analysis/memory/barrier_intervals.h"
#include "analysis/memory/grid_elements.h"
#include "analysis/values/definitions.h"
#include "ir/build.h"
#include "ir/parameters.h"
#include "lowering/passes.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

constexpr uint64_t kAnywhere = ~uint64_t{0};
constexpr uint64_t kWords = 63;  // of the parameters; the last bit would mean that nothing is known

bool IsReal(uint32_t form) {
  const uint32_t space = PTX2CPU_SPACE_OF_ACCESS(form);
  return space == PTX2CPU_SPACE_REAL || space == PTX2CPU_SPACE_GLOBAL;
}

// For each value the words of the parameters that it may be computed from, as far as they are 64 bits wide,
// and whether it is surely one of them, or the address of a variable, plus integers.
class Origins {
 public:
  explicit Origins(const ir::Function& f) : f_(f), words_(f.values.size()), is_other_(f.values.size()) {
    const auto order = ir::ReversePostOrder(f);
    for (bool changed = true; changed;) {
      changed = false;
      for (ir::BlockId block : order) {
        for (ir::InstId id : f.at_block(block).insts) changed |= Visit(f.at_inst(id));
        for (const ir::Edge& edge : f.successors(block)) {
          for (size_t n = 0; n < edge.args.size(); ++n) {
            const ValueId given = edge.args[n];
            changed |= Join(f.at_block(edge.to).params[n], words_[given.index], is_other_[given.index]);
          }
        }
      }
    }
  }

  uint64_t OfAddress(ValueId value) const { return is_other_[value.index] ? kAnywhere : words_[value.index]; }

 private:
  bool Join(ValueId value, uint64_t words, bool is_other) {
    const uint64_t before = words_[value.index];
    const bool was_other = is_other_[value.index];
    words_[value.index] |= words;
    is_other_[value.index] = was_other || is_other;
    return words_[value.index] != before || is_other_[value.index] != was_other;
  }

  bool Visit(const ir::Inst& inst) {
    if (inst.results.empty()) return false;
    const uint64_t words = WordsOf(inst);
    const bool is_other = !IsPointer(inst);
    bool changed = false;
    for (ValueId result : inst.results) changed |= Join(result, words, is_other);
    return changed;
  }

  const ir::Inst* DefOf(ValueId value) const { return analysis::DefinitionOf(f_, value); }
  std::optional<uint64_t> NumberOf(ValueId value) const { return analysis::NumberOf(f_, value); }

  // An integer of less than 64 bits that was loaded is an index or a size; two of them may be an address.
  uint64_t WordsOf(const ir::Inst& inst) const {
    const bool is_long = ir::Bits(f_.type_of(inst.results[0])) >= 64;
    if (inst.op == Opcode::kLoad && inst.attrs.space == Space::kParam) return is_long ? OfParameter(inst) : 0;
    if (inst.op == Opcode::kSymbol) return inst.attrs.space == Space::kGlobal ? kAnywhere : 0;
    if (inst.op == Opcode::kParamBase || inst.op == Opcode::kFunctionAddress) return 0;
    const ir::Effect effect = ir::Info(inst.op).effect;
    if (effect != ir::Effect::kPure && effect != ir::Effect::kCollective) return is_long ? kAnywhere : 0;
    if (is_long && PutsTogether(inst)) return kAnywhere;
    if (const ir::Inst* extended = ShiftBefore(inst)) return words_[extended->operands[0].index];
    uint64_t words = 0;
    for (ValueId operand : inst.operands) words |= words_[operand.index];
    return words;
  }

  // The shift to the left that this one to the right takes back, which extends a sign or clears upper bits.
  const ir::Inst* ShiftBefore(const ir::Inst& inst) const {
    if (inst.op != Opcode::kShrS && inst.op != Opcode::kShrU) return nullptr;
    const ir::Inst* before = DefOf(inst.operands[0]);
    const auto places = NumberOf(inst.operands[1]);
    return before != nullptr && before->op == Opcode::kShl && places && *places >= 24 ? before : nullptr;
  }

  // Whether parts of a word may become the upper half of a longer one.
  bool PutsTogether(const ir::Inst& inst) const {
    if (inst.op == Opcode::kPack || inst.op == Opcode::kBfi) return true;
    if (inst.op == Opcode::kMul) {
      constexpr uint64_t kHalf = uint64_t{1} << 32;
      const auto is_half = [&](ValueId value) {
        const auto number = NumberOf(value);
        return number && *number >= kHalf && *number < ~uint64_t{0} - kHalf;
      };
      return std::ranges::any_of(inst.operands, is_half);
    }
    if (inst.op != Opcode::kShl || NumberOf(inst.operands[0])) return false;
    const auto places = NumberOf(inst.operands[1]);
    return !places || *places >= 32;
  }

  // Whether a possible address is a pointer plus integers, given that its operands are.
  bool IsPointer(const ir::Inst& inst) const {
    const auto is = [&](size_t n) { return !is_other_[inst.operands[n].index]; };
    const auto is_one_of = [&](std::initializer_list<Opcode> ops) {
      return std::ranges::find(ops, inst.op) != ops.end();
    };
    // WordsOf decides for loads.
    if (is_one_of(
            {Opcode::kLoad, Opcode::kSymbol, Opcode::kParamBase, Opcode::kFunctionAddress, Opcode::kUndef}))
      return true;
    if (is_one_of({Opcode::kToGeneric, Opcode::kFromGeneric}))
      return inst.attrs.space != Space::kGlobal || is(0);
    if (is_one_of({Opcode::kAdd, Opcode::kAnd, Opcode::kOr, Opcode::kXor})) return is(0) || is(1);
    if (is_one_of({Opcode::kMinS, Opcode::kMinU, Opcode::kMaxS, Opcode::kMaxU})) return is(0) && is(1);
    if (is_one_of({Opcode::kSub, Opcode::kBitcast})) return is(0);
    return inst.op == Opcode::kSelect && is(1) && is(2);
  }

  uint64_t OfParameter(const ir::Inst& load) const {
    const std::optional<uint64_t> offset = ir::DistanceInParameters(f_, load.operands[0]);
    if (!offset || *offset % 8 != 0 || load.results.size() != 1 || *offset / 8 >= kWords) return kAnywhere;
    return uint64_t{1} << *offset / 8;
  }

  const ir::Function& f_;
  std::vector<uint64_t> words_;
  std::vector<bool> is_other_;  // not surely a pointer
};

// The intervals between barriers of the block, and what accesses of shared memory may meet in them.
class SharedAccesses {
 public:
  SharedAccesses(const ir::Module& module, const ir::Function& f, std::optional<analysis::LaunchShape> launch)
      : f_(f),
        effects_(module, f, launch, analysis::MemoryEffects::Of::kChecks),
        intervals_(module, f, effects_) {}

  // All threads of the block that have not left come to the same barrier each time.
  bool AllTogether() const { return intervals_.known() && intervals_.AllTogether(); }

  // The accesses that overlap no access of another thread in their intervals.
  std::vector<ir::InstId> Apart() const {
    std::vector<ir::InstId> apart;
    // No barrier waits for a copy.
    const bool copies = std::ranges::any_of(f_.insts, [](const ir::Inst& inst) {
      return inst.block.valid() && inst.op == Opcode::kCheckAccess &&
             (inst.attrs.index & PTX2CPU_ACCESS_ASYNC) != 0;
    });
    if (copies || !AllTogether()) return apart;
    for (uint32_t s = 0; s < intervals_.stretches().size(); ++s) {
      for (const uint32_t e : intervals_.stretches()[s].effects) {
        if (effects_.all()[e].access == analysis::Access::kUnknown) continue;
        const bool meets = std::ranges::any_of(intervals_.effects_around(s),
                                               [&](uint32_t other) { return effects_.Conflict(e, other); });
        if (!meets) apart.push_back(effects_.all()[e].inst);
      }
    }
    return apart;
  }

 private:
  const ir::Function& f_;
  analysis::MemoryEffects effects_;
  analysis::BarrierIntervals intervals_;
};

// Barriers of the whole block: arriving at one orders nothing, leaving it does, and where all threads leave
// together one call serves all. For operations of whole warps one call may serve both.
void JoinSteps(ir::Function& f, bool all_together) {
  constexpr uint32_t kWarp = 0xffffffff;
  std::vector<ir::InstId> arrivals;
  for (uint32_t n = 0; n < f.insts.size(); ++n) {
    ir::Inst& inst = f.insts[n];
    if (!inst.block.valid() || inst.op != Opcode::kCheckSync) continue;
    const uint32_t step = PTX2CPU_SYNC_STEP(inst.attrs.index);
    const bool is_named = (inst.attrs.index & PTX2CPU_SYNC_CONVERGED) == 0;
    if ((step == PTX2CPU_SYNC_WARP_ARRIVE || step == PTX2CPU_SYNC_WARP_LEAVE) && is_named &&
        analysis::NumberOf(f, inst.operands[0]) == std::optional<uint64_t>(kWarp))
      inst.attrs.index |= PTX2CPU_SYNC_TOGETHER;
    if (analysis::NumberOf(f, inst.operands[1]) != std::optional<uint64_t>(0)) continue;
    if (step == PTX2CPU_SYNC_BLOCK_ARRIVE) arrivals.push_back({n});
    if (step == PTX2CPU_SYNC_BLOCK_LEAVE && all_together) inst.attrs.index |= PTX2CPU_SYNC_TOGETHER;
  }
  for (const ir::InstId id : arrivals) ir::Remove(f, id);
}

// Callees, and what writes to images and other objects.
bool IsFollowed(const ir::Inst& inst) {
  return inst.op != Opcode::kCall && inst.op != Opcode::kCallIndirect && inst.op != Opcode::kSurfaceStore &&
         inst.op != Opcode::kCopyTensor && inst.op != Opcode::kCopyTensorMulticast &&
         inst.op != Opcode::kCopyMulticast && inst.op != Opcode::kCopyMasked;
}

// What orders accesses of different threads but barriers: then an atomic may be more than an access.
bool Orders(const ir::Inst& inst) {
  constexpr uint32_t kOrdering = PTX2CPU_ACCESS_RELEASES | PTX2CPU_ACCESS_ACQUIRES;
  if (inst.op == Opcode::kCheckAccess) return (inst.attrs.index & kOrdering) != 0;
  if (inst.op != Opcode::kCheckSync) return inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect;
  const uint32_t step = PTX2CPU_SYNC_STEP(inst.attrs.index);
  return step == PTX2CPU_SYNC_FENCE || step == PTX2CPU_SYNC_CLUSTER_ARRIVE ||
         step == PTX2CPU_SYNC_CLUSTER_LEAVE;
}

// An access of memory that all threads of the launch share.
struct RealAccess {
  ir::InstId check;
  uint32_t form = 0;
  uint64_t words = 0;                            // of the parameters, which the address may come from
  uint64_t bytes = 0;                            // 0: not known
  std::optional<analysis::GridElement> element;  // that the thread may have to itself

  bool Is(uint32_t what) const { return (form & what) != 0; }
  bool IsPlainRead() const {
    return !Is(PTX2CPU_ACCESS_WRITES | PTX2CPU_ACCESS_STRONG | PTX2CPU_ACCESS_RELEASES |
               PTX2CPU_ACCESS_ACQUIRES);
  }
};

class RealAccesses {
 public:
  RealAccesses(ir::Function& f, std::optional<analysis::LaunchShape> launch) : f_(f) {
    const Origins origins(f);
    for (uint32_t n = 0; n < f.insts.size(); ++n) {
      const ir::Inst& inst = f.insts[n];
      if (!inst.block.valid()) continue;
      is_followed_ &= IsFollowed(inst);
      orders_ |= Orders(inst);
      if (inst.op != Opcode::kCheckAccess || !IsReal(inst.attrs.index)) continue;
      RealAccess access{
          {n}, inst.attrs.index, origins.OfAddress(inst.operands[0]), BytesOf(inst), std::nullopt};
      if (access.bytes != 0) access.element = analysis::GridElementAt(f, inst.operands[0], launch);
      all_.push_back(access);
    }
  }

  void Settle() {
    if (!is_followed_) return;
    for (const RealAccess& access : all_) {
      bool own = false;
      const uint64_t words = Meets(access, own);
      if (words == kAnywhere || !CanSettle(access, words)) continue;
      ir::Inst& check = f_.inst(access.check);
      check.attrs.index |= PTX2CPU_ACCESS_BOUNDS_ONLY | (own ? PTX2CPU_ACCESS_OWN_ELEMENTS : 0);
      words_.emplace_back(access.check, words);
    }
    WriteWords();
  }

 private:
  // The number of bytes of an access by each thread at its own address.
  uint64_t BytesOf(const ir::Inst& check) const {
    constexpr uint32_t kOthers =
        PTX2CPU_ACCESS_STRONG | PTX2CPU_ACCESS_ASYNC | 63u << PTX2CPU_ACCESS_LANES_SHIFT;
    const ir::InstId bytes = f_.at_value(check.operands[1]).def;
    const bool known = bytes.valid() && f_.at_inst(bytes).op == Opcode::kConst;
    return known && (check.attrs.index & kOthers) == 0 ? f_.at_inst(bytes).attrs.bits : 0;
  }

  // The words that accesses which could race with this one come from. `own`: others do not only because
  // threads have elements of their own.
  uint64_t Meets(const RealAccess& access, bool& own) const {
    uint64_t words = 0;
    for (const RealAccess& other : all_) {
      if (!access.Is(PTX2CPU_ACCESS_WRITES) && !other.Is(PTX2CPU_ACCESS_WRITES)) continue;
      if (access.Is(PTX2CPU_ACCESS_STRONG) && other.Is(PTX2CPU_ACCESS_STRONG)) continue;
      if (access.element && other.element &&
          analysis::AreApart(*access.element, access.bytes, *other.element, other.bytes)) {
        own = true;
        continue;
      }
      words |= other.words;
    }
    return words;
  }

  bool CanSettle(const RealAccess& access, uint64_t words) const {
    // An address that no parameter gives may be one of shared memory.
    if (access.words == 0 && PTX2CPU_SPACE_OF_ACCESS(access.form) == PTX2CPU_SPACE_REAL) return false;
    if (access.IsPlainRead()) return true;
    constexpr uint32_t kNever = PTX2CPU_ACCESS_ASYNC | PTX2CPU_ACCESS_RELEASES | PTX2CPU_ACCESS_ACQUIRES;
    if (access.Is(kNever) || access.words == 0 || (access.words & words) != 0) return false;
    return !access.Is(PTX2CPU_ACCESS_STRONG) || !orders_;
  }

  void WriteWords() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (f_.blocks[b].removed) continue;
      const std::vector<ir::InstId> insts = std::move(f_.blocks[b].insts);
      f_.blocks[b].insts.clear();
      for (const ir::InstId id : insts) {
        const auto settled = std::ranges::find(words_, id, &std::pair<ir::InstId, uint64_t>::first);
        if (settled != words_.end()) {
          const ValueId words =
              ir::Builder{f_, {b}, f_.at_inst(id).at}.Const(ir::Type::kI64, settled->second);
          f_.inst(id).operands[2] = words;
        }
        f_.blocks[b].insts.push_back(id);
      }
    }
  }

  ir::Function& f_;
  bool is_followed_ = true, orders_ = false;
  std::vector<RealAccess> all_;
  std::vector<std::pair<ir::InstId, uint64_t>> words_;
};

bool SameMask(const ir::Function& f, ValueId a, ValueId b) {
  if (a == b) return true;
  const ir::InstId x = f.at_value(a).def, y = f.at_value(b).def;
  const bool numbers =
      x.valid() && y.valid() && f.at_inst(x).op == Opcode::kConst && f.at_inst(y).op == Opcode::kConst;
  return numbers && f.at_inst(x).attrs.bits == f.at_inst(y).attrs.bits;
}

// Warp operations that follow each other without an access in between order what the first one orders.
void DropRepeatedMeetings(ir::Function& f) {
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    std::vector<ir::InstId> repeated;
    std::optional<ir::Inst> met;  // the arrival after which no thread has accessed memory
    bool drops = false;
    for (const ir::InstId id : block.insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op == Opcode::kCheckAccess || Orders(inst) || ir::IsBlockBarrier(inst.op)) met.reset();
      if (inst.op != Opcode::kCheckSync) continue;
      const uint32_t step = PTX2CPU_SYNC_STEP(inst.attrs.index);
      if (step == PTX2CPU_SYNC_WARP_ARRIVE) {
        drops =
            met && met->attrs.index == inst.attrs.index && SameMask(f, met->operands[0], inst.operands[0]);
        met = inst;
      } else if (step != PTX2CPU_SYNC_WARP_LEAVE) {
        met.reset();
        drops = false;
      }
      if (drops) repeated.push_back(id);
    }
    for (const ir::InstId id : repeated) ir::Remove(f, id);
  }
}

}  // namespace

Status SettleChecks(ir::Module& module, ir::Function& f, const PassOptions& options) {
  const bool races = (options.checks & PTX2CPU_CHECKS_RACE) != 0;
  if (!races || (options.checks & PTX2CPU_CHECKS_INIT) != 0) return {};
  const bool orders =
      std::ranges::any_of(f.insts, [](const ir::Inst& inst) { return inst.block.valid() && Orders(inst); });
  bool all_together = false;
  {
    const SharedAccesses shared(module, f, options.launch);
    all_together = shared.AllTogether();
    for (const ir::InstId id : shared.Apart()) {
      if (!orders || (f.at_inst(id).attrs.index & PTX2CPU_ACCESS_STRONG) == 0)
        f.inst(id).attrs.index |= PTX2CPU_ACCESS_BOUNDS_ONLY;
    }
  }
  RealAccesses(f, options.launch).Settle();
  if ((options.checks & PTX2CPU_CHECKS_SYNC) != 0) return {};
  DropRepeatedMeetings(f);
  JoinSteps(f, all_together);
  return {};
}

}  // namespace ptx2cpu::lowering
