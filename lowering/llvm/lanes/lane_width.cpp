#include "lowering/llvm/lanes/lane_width.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "analysis/lanes/load_rows.h"
#include "lowering/llvm/lanes/counters.h"
#include "lowering/llvm/lanes/kept_bytes.h"
#include "lowering/llvm/lanes/lane_cost.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;

namespace {

constexpr int64_t kMaxBytesOfTrip = 32;  // of an element's row: half a line
constexpr unsigned kMaxWidth = analysis::LaneRegionOptions::kMaxVector;
struct RegionFacts {
  size_t words = 0, longs = 0;  // operations of floats of 32 and 64 bits
  size_t kept = 0;              // values of lanes that a loop keeps, at most
  size_t kept_words = 0;        // the same, where most of them have 64 bits: in words
  bool keeps_longs = false;     // they do, and do not fit where a vector of words takes one register
  size_t computed = 0;          // instructions whose results differ between lanes
  bool walks = false;           // memory outside the block is accessed side by side ...
  bool parts = false;           // ... and some memory otherwise
  bool apart = false;           // ... by an address of each lane, or something is done lane by lane
  bool updates = false;         // words that atomics of each lane combine with
  bool steps = false;           // places are divided into rows and columns
  bool in_rows = false;         // each lane reads a row of its own, from trip to trip of a loop,
  bool in_rows_one = false;     // ... an element at a time
  bool has_loops = false;
  bool divides = false;   // some lanes come to a loop, others do not
  bool in_words = false;  // lanes are bits of a word of 32
};

unsigned RegistersOf(const TargetTraits& traits) { return traits.has_avx512 || traits.is_aarch64 ? 32 : 16; }

class Finder {
 public:
  Finder(const FunctionEmitter& e, const LaneRegion& region) : e_(e), f_(e.f), r_(region) {
    kept_.resize(region.levels.size());
  }

  RegionFacts Run() {
    facts_.in_words = f_.has_early_exit;
    facts_.has_loops = r_.levels.size() > 1;
    facts_.divides = std::ranges::any_of(r_.levels, [](const LaneRegion::Level& level) {
      return std::ranges::any_of(level.items, [](const LaneRegion::Item& item) {
        return item.loop != LaneRegion::kNone && !item.together;
      });
    });
    for (BlockId block : r_.blocks) FindVectors(block);
    for (BlockId block : r_.blocks) AddBlock(block);
    for (const std::set<uint32_t>& kept : kept_) AddKept(kept);
    return facts_;
  }

 private:
  bool Varies(ValueId value) const { return !ShapeIn(e_, r_, value).uniform(); }
  bool IsVector(ValueId value) const {
    return ShapeIn(e_, r_, value).varying() || vectors_.contains(value.index);
  }

  void AddKept(const std::set<uint32_t>& kept) {
    if (kept.size() <= facts_.kept) return;
    const auto is_long = [&](uint32_t value) { return ir::Bytes(f_.type_of(ValueId{value})) == 8; };
    const auto longs = static_cast<size_t>(std::ranges::count_if(kept, is_long));
    const size_t all = RegistersOf(e_.m.traits), words = kept.size() + longs;
    const bool are_long = 2 * longs > kept.size();
    facts_.kept = kept.size(), facts_.kept_words = are_long ? words : kept.size();
    facts_.keeps_longs = are_long && words > all && kept.size() < 2 * all;
  }

  // Sequences are their first lane's value in addresses, and in what other sequences are computed from.
  void FindVectors(BlockId block) {
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
      const bool by_first = access && FormOf(e_, r_, inst) == LaneForm::kVector;
      const bool is_sequence =
          !inst.results.empty() && std::ranges::none_of(inst.results, [&](ValueId result) {
            return ShapeIn(e_, r_, result).varying();
          });
      for (size_t i = 0; i < inst.operands.size(); ++i) {
        if ((by_first && i == 0) || (!access && is_sequence) || !Varies(inst.operands[i])) continue;
        vectors_.insert(inst.operands[i].index);
      }
      for (const ir::Edge& edge : inst.edges) {
        const std::vector<ValueId>& params = f_.at_block(edge.to).params;
        for (size_t i = 0; i < params.size(); ++i) {
          if (ShapeIn(e_, r_, params[i]).varying()) vectors_.insert(edge.args[i].index);
        }
      }
    }
  }

  // A value from outside a loop that is used in it.
  void Keep(ValueId value, uint32_t used_in) {
    if (!IsVector(value)) return;
    const BlockId made = f_.at_value(value).block;
    for (uint32_t at = used_in; at != 0; at = r_.levels[at].parent) {
      if (made.valid() && r_.level_of[made.index] != LaneRegion::kNone && r_.Contains(at, made)) return;
      if (!kept_[at].insert(value.index).second) return;  // the loops around it keep it, too
    }
  }

  void AddBlock(BlockId block) {
    const uint32_t level = r_.level_of[block.index];
    if (level != 0 && r_.levels[level].items[0].block == block) {
      for (ValueId param : f_.at_block(block).params) {
        if (IsVector(param)) kept_[level].insert(param.index);
      }
    }
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      for (ValueId operand : inst.operands) Keep(operand, level);
      for (const ir::Edge& edge : inst.edges) {
        for (ValueId arg : edge.args) Keep(arg, level);
      }
      facts_.in_words |= inst.op == Opcode::kTexture;
      facts_.computed += std::ranges::any_of(inst.results, [&](ValueId result) { return IsVector(result); });
      if (!ir::IsTerminator(inst.op)) AddForm(inst);
      facts_.words += inst.type == ir::Type::kF32;
      facts_.longs += inst.type == ir::Type::kF64;
    }
  }

  void AddForm(const ir::Inst& inst) {
    const LaneForm form = FormOf(e_, r_, inst);
    const bool far = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
    const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
    facts_.walks |= access && far && form == LaneForm::kVector;
    facts_.parts |= form != LaneForm::kVector && form != LaneForm::kUniform;
    facts_.apart |= form == LaneForm::kGather || form == LaneForm::kEachLane;
    facts_.updates |= inst.op == Opcode::kAtomic && form == LaneForm::kEachLane;
    facts_.steps |= IsDivision(inst.op) && ShapeIn(e_, r_, inst.operands[0]).affine();
    const bool one_run =
        form == LaneForm::kVector || form == LaneForm::kStrided || form == LaneForm::kUniform;
    if (inst.op == Opcode::kLoad && far && !one_run && WalksOwnRow(inst, form))
      (inst.results.size() == 1 ? facts_.in_rows_one : facts_.in_rows) = true;
  }

  // Elements of a line, of which a trip reads the next ones; one at a time where its place is computed.
  bool WalksOwnRow(const ir::Inst& load, LaneForm form) const {
    const bool is_one = load.results.size() == 1;
    if (is_one && form != LaneForm::kVectorIfSeen) return false;
    const auto counter = CounterIn(f_, load.operands[0], kDepth);
    if (!counter || !counter->param || !counter->factors.empty()) return false;
    const ir::Inst* step = DefinitionOf(f_, counter->step);
    if (step == nullptr || step->op != Opcode::kConst) return false;
    const int64_t bytes = static_cast<int64_t>(step->attrs.bits) * counter->factor;
    return is_one ? bytes > 0 && bytes <= kMaxBytesOfTrip
                  : bytes == ir::Bytes(load.type) * static_cast<int64_t>(load.results.size());
  }

  const FunctionEmitter& e_;
  const ir::Function& f_;
  const LaneRegion& r_;
  std::set<uint32_t> vectors_;            // sequences of which vectors are needed, and what varies
  std::vector<std::set<uint32_t>> kept_;  // by level
  RegionFacts facts_;
};

// Rows whose distance is a multiple of a page share one set of the first cache, which holds so many lines of
// them until the next trips have read the rest of each.
constexpr unsigned kMaxRows = 8;
constexpr size_t kMaxComputed = 120;  // in a loop whose values take four registers ...
constexpr size_t kMaxStraight = 256;  // ... and in code without loops
constexpr unsigned kMaxWideWidth = 256, kWideWidthOfAnyRow = 128;
constexpr size_t kMaxOutside = 120;         // instructions of such a region outside its loop
constexpr unsigned kRegistersOfCostly = 4;  // of a value in such a loop that computes exponentials
constexpr size_t kScratchRegisters = 4;     // for what lives shortly, and for what is the same in all lanes
// For rows that are read in the order of memory: the bytes that the largest register file holds. Other
// machines keep a part on the stack, which costs a fraction of the time of two streams of memory.
constexpr size_t kMaxBytesOfRows = 28 * 64;

// Registers that a value takes: two, so that long chains of operations overlap; one where a loop's values
// then do not fit. Where rows are known:
// - Four where little is computed besides accesses side by side, so that rows of tiles and columns that lie
//   far apart are taken by several lines of memory at a time, and chains overlap that are longer than what a
//   processor looks ahead. Registers of half the size take four wherever they hold what loops keep, but not
//   where masks are missing, since more threads would run one by one wherever some part, nor where some lanes
//   take a loop that others do not.
//   Where places are divided into rows of data, longer vectors hold more than two of these (two_runs.cpp).
// - A warp's lanes where values would not fit by far if they took one register: they are on the stack then,
//   and more lanes share what is the same for all of them.
// (Four gain in loops of integer hashes too, and double the time of compiling.)
unsigned RegistersFor(const TargetTraits& traits, const RegionFacts& facts, bool in_rows) {
  const unsigned all = RegistersOf(traits);
  const bool fits =
      facts.computed <= (facts.has_loops ? kMaxComputed : kMaxStraight) && facts.kept * 4 <= all;
  if (in_rows && fits && !facts.steps &&
      (traits.has_avx512 ? facts.walks && !facts.parts : !facts.apart && !facts.divides))
    return 4;
  // What is done lane by lane gains nothing by vectors; what leads there is done less often.
  if (in_rows && fits && traits.has_avx512 && facts.walks && facts.updates) return 4;
  if (in_rows && !facts.apart && facts.kept >= 2 * all)
    return std::min(4u, kWarpSize * 4 / traits.vector_bytes);
  return facts.kept_words * 2 <= all ? 2 : 1;
}

// The block that a wide step is for: the region's one loop, or what loads the rows of a block (load_rows.h).
std::optional<BlockId> WideBlock(const FunctionEmitter& e, const LaneRegion& region) {
  if (region.levels.size() == 2) {
    const std::vector<LaneRegion::Item>& items = region.levels[1].items;
    return items.size() == 1 ? std::optional(items[0].block) : std::nullopt;
  }
  const uint32_t* threads = e.f.required_threads;
  for (BlockId block : region.blocks) {
    if (!analysis::RowsLoaded(e.f, block, {threads[0], threads[1], threads[2]}).empty()) return block;
  }
  return std::nullopt;
}

// What the value adds to the parameter, where that is a number; 0: something else.
uint64_t StepOf(const FunctionEmitter& e, ValueId value, ValueId param) {
  const ir::InstId def = e.f.at_value(value).def;
  if (!def.valid() || e.f.at_inst(def).op != Opcode::kAdd) return 0;
  const std::vector<ValueId>& operands = e.f.at_inst(def).operands;
  const size_t step = operands[0] == param ? 1 : 0;
  const ir::InstId number = e.f.at_value(operands[step]).def;
  if (operands[1 - step] != param || !number.valid()) return 0;
  const ir::Inst& inst = e.f.at_inst(number);
  const bool is_row = inst.op == Opcode::kSpecialRegister && inst.attrs.special == ir::Special::kNtidX;
  return is_row ? e.f.required_threads[0] : inst.op == Opcode::kConst ? inst.attrs.bits : 0;
}

// Whether a trip accesses the elements next to those of the trip before: those of the next row of threads.
bool GoesOnByRows(const FunctionEmitter& e, const LaneRegion& region, BlockId loop, unsigned row) {
  if (row == 0 || region.levels.size() != 2 || region.levels[1].latches.size() != 1) return false;
  std::set<uint64_t> steps{row};
  for (ir::InstId id : e.f.at_block(loop).insts) {
    const ir::Inst& inst = e.f.at_inst(id);
    const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
    if (access && FormOf(e, region, inst) == LaneForm::kVector)
      steps.insert(uint64_t{row} * static_cast<uint64_t>(ir::Bytes(inst.type)));
  }
  const EdgeRef latch = region.levels[1].latches[0];
  const std::vector<ValueId>& params = e.f.at_block(loop).params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (steps.contains(StepOf(e, e.f.successors(latch.from)[latch.number].args[i], params[i]))) return true;
  }
  return false;
}

// What is widened or narrowed.
ValueId WithoutWidth(const FunctionEmitter& e, ValueId value) {
  for (ir::InstId def = e.f.at_value(value).def; def.valid(); def = e.f.at_value(value).def) {
    const Opcode op = e.f.at_inst(def).op;
    if (op != Opcode::kZext && op != Opcode::kSext && op != Opcode::kTrunc) break;
    value = e.f.at_inst(def).operands[0];
  }
  return value;
}

// Whether a trip is a number of elements on that is known at run time only, such as those of the grid: each
// visit of a lane's loop to memory is to another page then.
bool GoesFar(const FunctionEmitter& e, const LaneRegion& region, BlockId loop) {
  if (region.levels.size() != 2 || region.levels[1].latches.size() != 1) return false;
  const EdgeRef latch = region.levels[1].latches[0];
  const std::vector<ValueId>& params = e.f.at_block(loop).params;
  const std::vector<ValueId>& next = e.f.successors(latch.from)[latch.number].args;
  for (size_t i = 0; i < params.size(); ++i) {
    const ir::InstId def = e.f.at_value(next[i]).def;
    if (!def.valid() || e.f.at_inst(def).op != Opcode::kAdd) continue;
    const std::vector<ValueId>& sum = e.f.at_inst(def).operands;
    const size_t step = WithoutWidth(e, sum[0]) == params[i] ? 1 : 0;
    if (WithoutWidth(e, sum[1 - step]) != params[i] || !ShapeIn(e, region, sum[step]).uniform()) continue;
    const ir::InstId by = e.f.at_value(sum[step]).def;
    if (!by.valid() || e.f.at_inst(by).op != Opcode::kConst) return true;
  }
  return false;
}

}  // namespace

unsigned WidthOf(const FunctionEmitter& e, const LaneRegion& region, unsigned row, Rows rows) {
  const TargetTraits& traits = e.m.traits;
  const RegionFacts facts = Finder(e, region).Run();
  const bool of_warp = e.step->level == ir::Level::kWarp;
  unsigned most = facts.in_words || of_warp ? kWarpSize : kMaxWidth;
  if (e.m.lane_width != 0) return std::min(e.m.lane_width, most);
  // Chains through tables that lanes read elsewhere overlap in more lanes. So do those of windows, each of
  // which has a place of its own, of 64 bits.
  const bool in_rows = facts.in_rows || (facts.in_rows_one && !facts.apart);
  if (in_rows)
    most = std::min(most, rows == Rows::kShared && facts.steps ? traits.vector_bytes / 4 : kMaxRows);
  // Parts of what the warp's own code computes come from memory: more than a loop pays for.
  if (of_warp && region.levels.size() == 1) return kWarpSize;
  const unsigned bytes = facts.longs > facts.words || facts.keeps_longs ? 8 : 4;
  auto width_of = [&](bool in_rows) {
    return std::clamp(traits.vector_bytes / bytes * RegistersFor(traits, facts, in_rows), 4u, most);
  };
  unsigned width = width_of(!of_warp && row != 0);
  if (row % width != 0) width = width_of(false);
  // Steps that the row does not fill are masked, or run lane by lane.
  if (row % width == 0 || (traits.has_avx512 && row >= width)) return width;
  while (width > 4 && row % width != 0) width /= 2;
  return width;
}

unsigned WideWidthOf(const FunctionEmitter& e, const LaneRegion& region, unsigned row) {
  if (region.levels.size() > 2 || e.m.lane_width != 0 || e.lanes_missing) return 0;
  const std::optional<BlockId> wide = WideBlock(e, region);
  if (!wide) return 0;
  const BlockId loop = *wide;
  // Where all lanes take the same trips, narrower vectors are as good, except for the order of memory.
  const bool goes_on = GoesOnByRows(e, region, loop, row);
  if (region.levels.size() == 2 && region.levels[1].leaves_together && !goes_on) return 0;
  size_t outside = 0;
  for (BlockId block : region.blocks) {
    if (block == loop) continue;
    if (e.f.terminator(block).op == Opcode::kExitLane) return 0;
    for (ir::InstId id : e.f.at_block(block).insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      const bool apart = !ir::IsTerminator(inst.op) && (FormOf(e, region, inst) == LaneForm::kEachLane ||
                                                        FormOf(e, region, inst) == LaneForm::kGather);
      if (apart || ++outside > kMaxOutside) return 0;
    }
  }
  KeptBytes keeper(e, region);
  const std::optional<size_t> kept = keeper.Of(loop);
  if (!kept) return 0;
  const TargetTraits& traits = e.m.traits;
  size_t bytes = traits.vector_bytes * (RegistersOf(traits) - kScratchRegisters);
  if (region.levels.size() == 1 || goes_on) {
    bytes = std::max(bytes, kMaxBytesOfRows);
  } else if (GoesFar(e, region, loop)) {
    bytes = std::max(bytes, std::min(2 * bytes, kMaxBytesOfRows));
  }
  auto width = static_cast<unsigned>(std::bit_floor(bytes / std::max<size_t>(*kept, 4)));
  width = std::min(width, row == 0 ? kWideWidthOfAnyRow : kMaxWideWidth);
  if (keeper.is_costly()) width = std::min(width, traits.vector_bytes / 4 * kRegistersOfCostly);
  while (row % width != 0) width /= 2;
  // Parts of rows would be streams of their own.
  if (region.levels.size() == 1 && width != row) return 0;
  // Lanes of warps would otherwise be vectors of at most a warp.
  const unsigned otherwise = WidthOf(e, region, row);
  return width > (e.f.is_flat ? otherwise : std::min(otherwise, kWarpSize)) ? width : 0;
}

}  // namespace ptx2cpu::lowering
