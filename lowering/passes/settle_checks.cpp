// Accesses that cannot race are checked for their bounds only: those of shared memory that no thread's access
// between the same barriers meets (analysis/memory), and reads of memory that the kernel does not write.
//
//   before                                       after
//     %x = load i64 param [0]                      (the same)
//     %y = load i64 param [8]
//     check_access reads %a, 4, -1                 check_access reads bounds_only %a, 4, 2
//     %v = load f32 global %a     ; x + i
//     check_access writes %b, 4, -1                (the same)
//     store f32 global %b, %v     ; y + j
//
// The third operand has a bit for each word of the parameters that may be part of an address the kernel
// writes to. The runtime compares: a read of an allocation that none of these words points into needs no
// record of who read it. Not done where a written address may come from elsewhere.
#include <algorithm>
#include <vector>

#include "analysis/memory/barrier_intervals.h"
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
constexpr uint64_t kWords = 63;  // of the parameters; the last bit would say that nothing is known

bool IsReal(uint32_t form) {
  const uint32_t space = PTX2CPU_SPACE_OF_ACCESS(form);
  return space == PTX2CPU_SPACE_REAL || space == PTX2CPU_SPACE_GLOBAL;
}

// For each value the words of the parameters that it may be computed from, as far as they are 64 bits wide.
class Origins {
 public:
  explicit Origins(const ir::Function& f) : f_(f), words_(f.values.size()) {
    const auto order = ir::ReversePostOrder(f);
    for (bool changed = true; changed;) {
      changed = false;
      for (ir::BlockId block : order) {
        for (ir::InstId id : f.at_block(block).insts) changed |= Visit(f.at_inst(id));
        for (const ir::Edge& edge : f.successors(block)) {
          for (size_t n = 0; n < edge.args.size(); ++n)
            changed |= Join(f.at_block(edge.to).params[n], words_[edge.args[n].index]);
        }
      }
    }
  }

  // Of all that the kernel writes to, but its own windows.
  uint64_t Written() const {
    uint64_t written = 0;
    for (const ir::Inst& inst : f_.insts) {
      if (!inst.block.valid()) continue;
      if (inst.op == Opcode::kCheckAccess) {
        if (IsReal(inst.attrs.index) && (inst.attrs.index & PTX2CPU_ACCESS_WRITES) != 0)
          written |= words_[inst.operands[0].index];
      } else if (!IsFollowed(inst)) {
        return kAnywhere;
      }
    }
    return written;
  }

 private:
  // Callees, and what writes to images and other objects.
  static bool IsFollowed(const ir::Inst& inst) {
    return inst.op != Opcode::kCall && inst.op != Opcode::kCallIndirect && inst.op != Opcode::kSurfaceStore &&
           inst.op != Opcode::kCopyTensor && inst.op != Opcode::kCopyTensorMulticast &&
           inst.op != Opcode::kCopyMulticast && inst.op != Opcode::kCopyMasked;
  }

  bool Join(ValueId value, uint64_t words) {
    const uint64_t before = words_[value.index];
    words_[value.index] |= words;
    return words_[value.index] != before;
  }

  bool Visit(const ir::Inst& inst) {
    if (inst.results.empty()) return false;
    const uint64_t words = WordsOf(inst);
    bool changed = false;
    for (ValueId result : inst.results) changed |= Join(result, words);
    return changed;
  }

  // An integer of less than 64 bits that was loaded is an index or a size; two of them may be an address.
  uint64_t WordsOf(const ir::Inst& inst) const {
    const bool is_long = ir::Bits(f_.type_of(inst.results[0])) >= 64;
    if (inst.op == Opcode::kLoad && inst.attrs.space == Space::kParam) return is_long ? OfParameter(inst) : 0;
    if (inst.op == Opcode::kSymbol)
      return inst.attrs.space == Space::kShared || inst.attrs.space == Space::kLocal ? 0 : kAnywhere;
    if (inst.op == Opcode::kParamBase || inst.op == Opcode::kFunctionAddress) return 0;
    const ir::Effect effect = ir::Info(inst.op).effect;
    if (effect != ir::Effect::kPure && effect != ir::Effect::kCollective) return is_long ? kAnywhere : 0;
    if (inst.op == Opcode::kPack && is_long) return kAnywhere;
    uint64_t words = 0;
    for (ValueId operand : inst.operands) words |= words_[operand.index];
    return words;
  }

  uint64_t OfParameter(const ir::Inst& load) const {
    const std::optional<uint64_t> offset = ir::DistanceInParameters(f_, load.operands[0]);
    if (!offset || *offset % 8 != 0 || load.results.size() != 1 || *offset / 8 >= kWords) return kAnywhere;
    return uint64_t{1} << *offset / 8;
  }

  const ir::Function& f_;
  std::vector<uint64_t> words_;
};

// Of shared memory: those that meet no access of another thread in the intervals they are in.
std::vector<ir::InstId> ApartInShared(const ir::Module& module, const ir::Function& f,
                                      std::optional<analysis::LaunchShape> launch) {
  using Effects = analysis::MemoryEffects;
  const Effects effects(module, f, launch, Effects::Of::kChecks);
  const analysis::BarrierIntervals intervals(module, f, effects);
  std::vector<ir::InstId> apart;
  if (!intervals.known() || !intervals.AllTogether()) return apart;
  for (uint32_t s = 0; s < intervals.stretches().size(); ++s) {
    for (const uint32_t e : intervals.stretches()[s].effects) {
      if (effects.all()[e].access == analysis::Access::kUnknown) continue;
      const bool meets = std::ranges::any_of(intervals.effects_around(s),
                                             [&](uint32_t other) { return effects.Conflict(e, other); });
      if (!meets) apart.push_back(effects.all()[e].inst);
    }
  }
  return apart;
}

bool IsPlainRead(const ir::Inst& inst) {
  if (inst.op != Opcode::kCheckAccess) return false;
  const uint32_t form = inst.attrs.index;
  constexpr uint32_t kMore = PTX2CPU_ACCESS_WRITES | PTX2CPU_ACCESS_STRONG | PTX2CPU_ACCESS_ASYNC |
                             PTX2CPU_ACCESS_RELEASES | PTX2CPU_ACCESS_ACQUIRES;
  return IsReal(form) && (form & kMore) == 0;
}

}  // namespace

Status SettleChecks(ir::Module& module, ir::Function& f, const PassOptions& options) {
  const bool races = (options.checks & PTX2CPU_CHECKS_RACE) != 0;
  if (!races || (options.checks & PTX2CPU_CHECKS_INIT) != 0) return {};
  for (const ir::InstId id : ApartInShared(module, f, options.launch))
    f.inst(id).attrs.index |= PTX2CPU_ACCESS_BOUNDS_ONLY;
  const uint64_t written = Origins(f).Written();
  if (written == kAnywhere) return {};
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks[b].removed) continue;
    const std::vector<ir::InstId> insts = std::move(f.blocks[b].insts);
    f.blocks[b].insts.clear();
    for (const ir::InstId id : insts) {
      if (IsPlainRead(f.at_inst(id))) {
        const ValueId words = ir::Builder{f, {b}, f.at_inst(id).at}.Const(ir::Type::kI64, written);
        f.inst(id).attrs.index |= PTX2CPU_ACCESS_BOUNDS_ONLY;
        f.inst(id).operands[2] = words;
      }
      f.blocks[b].insts.push_back(id);
    }
  }
  return {};
}

}  // namespace ptx2cpu::lowering
