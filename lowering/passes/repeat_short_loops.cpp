// Where the block's shape shows that some threads take one trip of a loop and others two or three, the loop
// becomes that many copies of its body, each for the threads that reach it.
//
//   before, in blocks of 256 threads      after
//     h(%i):  ... %n = add %i, 256          h:  ... %n = add %tid, 256
//             %c = icmp ult %n, 400             %c = icmp ult %n, 400
//             cond_br %c, h(%n), x              cond_br %c, h2, x
//     (from outside: %i = %tid)             h2: ... br x
//
// Blocks of threads that load a tile with its edge, or a table a little larger than they are, have such
// loops. In a loop the threads diverge from trip to trip, and no lane is known to take part; all threads run
// the first copy, and whole vectors skip the others by one branch.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "analysis/graph/loops.h"
#include "analysis/values/value_ranges.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/ssa_repair.h"

namespace ptx2cpu::lowering {
namespace {

using analysis::ValueRange;
using ir::BlockId;
using ir::Compare;
using ir::InstId;
using ir::Opcode;
using ir::ValueId;

constexpr size_t kMaxTrips = 3;
constexpr size_t kMaxRepeated = 160;       // of all copies of a loop
constexpr size_t kMaxCopiedOfLoop = 1000;  // of a kernel

// One way in, one back edge and one way out, both from the latch, and no loop inside.
struct ShortLoop {
  BlockId header, latch;
  size_t again = 0;  // the latch's edge to the header
  std::vector<BlockId> blocks;
  size_t instructions = 0;
  std::vector<bool> parts;  // by trip: whether threads may part after it; all leave after the last
};

class Repeater {
 public:
  Repeater(ir::Function& f, const PassOptions& options)
      : f_(f),
        ranges_(analysis::FindValueRanges(f, options.launch.value_or(analysis::PromisedShape(f)))),
        g_(analysis::BuildCfg(f)) {}

  bool Run() {
    const analysis::LoopForest forest = analysis::Loops(g_);
    std::vector<ShortLoop> found;
    for (size_t n = 0; n < forest.loops.size(); ++n) {
      if (forest.loops[n].last != n + 1) continue;  // loops inside
      if (std::optional<ShortLoop> loop = Match(forest.loops[n])) found.push_back(std::move(*loop));
    }
    size_t copied = 0;
    for (const ShortLoop& loop : found) {
      copied += loop.instructions * loop.parts.size();
      if (copied > kMaxCopiedOfLoop) return true;
      Repeat(loop);
    }
    return !found.empty();
  }

 private:
  std::optional<ShortLoop> Match(const analysis::Loop& loop) {
    if (loop.irreducible || loop.latches.size() != 1 || loop.only_exit.first != loop.latches[0])
      return std::nullopt;
    ShortLoop match;
    match.header = {loop.header};
    match.latch = {loop.latches[0]};
    const ir::Inst& end = f_.terminator(match.latch);
    if (end.op != Opcode::kCondBr || end.edges[0].to == end.edges[1].to) return std::nullopt;
    match.again = end.edges[0].to == match.header ? 0 : 1;
    for (uint32_t block : loop.blocks) {
      match.blocks.push_back({block});
      match.instructions += f_.at_block({block}).insts.size();
      if (!std::ranges::all_of(f_.at_block({block}).insts,
                               [&](InstId id) { return MayCopy(f_.at_inst(id)); }) ||
          match.instructions > kMaxRepeated)
        return std::nullopt;
    }
    FindTrips(match);
    const bool fits = match.instructions * match.parts.size() <= kMaxRepeated;
    // What all threads repeat alike is better a loop.
    const bool is_better = match.parts.size() == 1 || std::ranges::count(match.parts, true) != 0;
    return fits && is_better ? std::optional(match) : std::nullopt;
  }

  static bool MayCopy(const ir::Inst& inst) {
    if (ir::IsTerminator(inst.op)) return inst.op == Opcode::kBr || inst.op == Opcode::kCondBr;
    if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore)
      return inst.attrs.order == ir::MemoryOrder::kWeak;
    return ir::Info(inst.op).effect == ir::Effect::kPure && ir::Info(inst.op).lanes == ir::Lanes::kAlone;
  }

  // What the parameter is before the first trip, over all ways into the loop.
  std::optional<ValueRange> Entering(const ShortLoop& loop, size_t param) const {
    std::optional<ValueRange> all;
    for (uint32_t from : g_.predecessors[loop.header.index]) {
      if (from == loop.latch.index) continue;
      for (const ir::Edge& edge : f_.successors({from})) {
        if (edge.to != loop.header) continue;
        const auto& one = ranges_[edge.args[param].index];
        if (!one) return std::nullopt;
        all = all ? ValueRange{std::min(all->low, one->low), std::max(all->high, one->high)} : *one;
      }
    }
    return all;
  }

  // By comparing what the parameter is next with a number. `parts` stays empty where that does not end the
  // loop soon.
  void FindTrips(ShortLoop& loop) const {
    const ir::Inst& end = f_.terminator(loop.latch);
    const InstId test = f_.at_value(end.operands[0]).def;
    if (!test.valid() || f_.at_inst(test).op != Opcode::kIcmp) return;
    const ir::Inst& comparison = f_.at_inst(test);
    const ValueId next = comparison.operands[0];
    const std::vector<ValueId>& handed = end.edges[loop.again].args;
    const auto at = std::ranges::find(handed, next);
    const auto& bound = ranges_[comparison.operands[1].index];
    if (at == handed.end() || !bound || !bound->exact()) return;
    const auto param = static_cast<size_t>(at - handed.begin());
    const InstId sum = f_.at_value(next).def;
    if (!sum.valid() || f_.at_inst(sum).op != Opcode::kAdd) return;
    const ir::Inst& add = f_.at_inst(sum);
    const auto& step = ranges_[add.operands[1].index];
    std::optional<ValueRange> range = Entering(loop, param);
    if (add.operands[0] != f_.at_block(loop.header).params[param] || !step || !step->exact() || !range)
      return;
    const Compare compare = loop.again == 0 ? comparison.attrs.compare : Negated(comparison.attrs.compare);
    Count(loop, *range, step->low, compare, *bound, static_cast<unsigned>(ir::Bits(f_.type_of(next))));
  }

  static void Count(ShortLoop& loop, ValueRange range, uint64_t step, Compare compare,
                    const ValueRange& bound, unsigned bits) {
    const uint64_t sign = uint64_t{1} << (bits - 1), all = sign + (sign - 1);
    std::vector<bool> parts;
    for (size_t trip = 0; trip < kMaxTrips; ++trip) {
      const bool down = step >= sign;
      const uint64_t by = down ? (all - step) + 1 : step;
      if (down ? range.low < by : range.high >= sign || by >= sign - range.high) return;
      range =
          down ? ValueRange{range.low - by, range.high - by} : ValueRange{range.low + by, range.high + by};
      const std::optional<bool> goes_on = analysis::Decided(compare, range, bound, bits);
      parts.push_back(!goes_on);
      if (goes_on && !*goes_on) {
        loop.parts = std::move(parts);
        return;
      }
      if (!goes_on && !KeepWhere(compare, bound.low, range)) return;
    }
  }

  // Leaves of a range what satisfies the comparison, which some of it does.
  static bool KeepWhere(Compare compare, uint64_t bound, ValueRange& range) {
    using enum ir::CompareInfo::Outcome;
    const uint8_t holds = Info(compare).holds;
    const bool equal = (holds & kEqual) != 0, less = (holds & kLess) != 0, greater = (holds & kGreater) != 0;
    if (less == greater) {
      if (equal) return false;
      if (range.low == bound) ++range.low;
      if (range.high == bound) --range.high;
    } else if (less) {
      range.high = equal ? bound : bound - 1;
    } else {
      range.low = equal ? bound : bound + 1;
    }
    return true;
  }

  void Repeat(const ShortLoop& loop) {
    std::vector<bool> outside(f_.blocks.size(), true);
    for (BlockId block : loop.blocks) outside[block.index] = false;
    const auto latch_at = std::ranges::find(loop.blocks, loop.latch) - loop.blocks.begin();
    std::vector<BlockId> headers{loop.header}, latches{loop.latch};
    std::map<ValueId, Versions> versions;
    for (size_t trip = 1; trip < loop.parts.size(); ++trip) {
      const Copies copies = CloneBlocks(f_, loop.blocks);
      headers.push_back(copies.blocks[0]);
      latches.push_back(copies.blocks[static_cast<size_t>(latch_at)]);
      for (auto [original, made] : copies.values)
        versions.try_emplace(original, Versions{original}).first->second.push_back(made);
    }
    for (size_t trip = 0; trip < latches.size(); ++trip) {
      const bool last = trip + 1 == latches.size();
      ir::Inst end = f_.terminator(latches[trip]);
      if (!last) end.edges[loop.again].to = headers[trip + 1];
      if (last || !loop.parts[trip]) {
        end.op = Opcode::kBr;
        end.operands.clear();
        end.edges = {end.edges[last ? 1 - loop.again : loop.again]};
      }
      f_.inst(f_.at_block(latches[trip]).insts.back()) = std::move(end);
    }
    std::vector<Versions> values;
    for (auto& [original, list] : versions) values.push_back(std::move(list));
    RepairSsa(f_, values, outside);
  }

  ir::Function& f_;
  const std::vector<std::optional<ValueRange>> ranges_;
  const analysis::Cfg g_;
};

}  // namespace

Status RepeatShortLoops(ir::Module& module, ir::Function& f, const PassOptions& options) {
  return Repeater(f, options).Run() ? Simplify(module, f, options) : Status{};
}

}  // namespace ptx2cpu::lowering
