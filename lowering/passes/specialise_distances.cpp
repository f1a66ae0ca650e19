// Regions whose threads exchange elements over a distance get code of their own for each small distance: in
// sorting networks and butterflies of transforms the distance is a uniform number that is known at run time
// only.
//
//   before                                 after
//     b: for_lanes l, x                      b: %k = slot_load 1 ; cond_br %k % 32 == 0 and %k != 0, f, n
//     l: %d = slot_load 1                    f: for_lanes l0, x      n: cond_br %k == 1, f1, n1 ...
//        %m = add %d, -1                     l0: %a = and %tid, -32 ; %b = and %tid, 31
//        %p = and %tid, %m                       %q = and %m, -32 ; %h = and %a, %q ; %p = add %h, %b
//        load shared f(%p)                   l1: %m = const 0 ; %p = and %tid, %m
//                                            (and so for 2, 4, 8, 16; what is left: the code as it was)
//
// With the distance a number, a vector's addresses are a known permutation (analysis/lanes/lane_patterns.h);
// with one that is a multiple of the number of lanes they are a sequence. Ahead of the loop, one comparison
// decides for all threads of the block.
#include "lowering/passes/specialise_distances.h"

#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr size_t kMaxRegions = 4, kMaxInstructions = 120;
constexpr uint32_t kLanes = 32;  // vectors of more are rare, and hold several patterns then

class Specialiser {
 public:
  explicit Specialiser(ir::Function& f) : f_(f) {}

  void Run() {
    size_t versioned = 0;
    const auto blocks = static_cast<uint32_t>(f_.blocks.size());
    for (BlockId block{0}; block.index < blocks && versioned < kMaxRegions; ++block.index) {
      if (f_.at_block(block).removed || f_.at_block(block).level == Level::kLane) continue;
      const ir::Inst& end = f_.terminator(block);
      if (end.op != Opcode::kForLanes || end.edges.size() != 2) continue;
      const std::vector<BlockId> region = SmallRegionFrom(end.edges[0].to);
      if (region.empty()) continue;
      const std::optional<Distance> distance = DistanceFinder(f_, region).Run();
      if (!distance) continue;
      Version(block, region, *distance);
      ++versioned;
    }
  }

 private:
  // Nothing: it has too many instructions.
  std::vector<BlockId> SmallRegionFrom(BlockId entry) const {
    std::vector<BlockId> blocks{entry};
    size_t size = 0;
    for (size_t n = 0; n < blocks.size(); ++n) {
      size += f_.at_block(blocks[n]).insts.size();
      if (size > kMaxInstructions) return {};
      for (const ir::Edge& edge : f_.successors(blocks[n])) {
        if (std::ranges::find(blocks, edge.to) == blocks.end()) blocks.push_back(edge.to);
        if (blocks.size() > kMaxInstructions) return {};
      }
    }
    return blocks;
  }

  // The value again, computed where a loop over the threads begins.
  ValueId Above(ir::Builder& b, ValueId id) {
    const ir::Value value = f_.at_value(id);
    if (!value.def.valid() || f_.at_block(value.block).level != Level::kLane) return id;
    ir::Inst inst = f_.at_inst(value.def);
    for (ValueId& operand : inst.operands) operand = Above(b, operand);
    const auto count = static_cast<uint32_t>(inst.results.size());
    inst.results.clear();
    return b.Result(ir::Append(f_, b.block, std::move(inst), count), value.number);
  }

  void Version(BlockId block, const std::vector<BlockId>& region, const Distance& distance) {
    const ir::Inst loop = f_.terminator(block);
    ir::Remove(f_, f_.at_block(block).insts.back());
    ir::Builder b{f_, block, loop.at};
    const ValueId known = Above(b, distance.value);
    const Level level = f_.at_block(block).level;
    auto otherwise = [&](ValueId condition, auto change) {
      const BlockId version = ir::AddBlock(f_, "distance", level), rest = ir::AddBlock(f_, {}, level);
      b.CondBr(condition, {version, {}}, {rest, {}});
      const Copies copies = CloneBlocks(f_, region);
      change(copies);
      b.block = version;
      ir::Inst own = loop;
      own.edges[0].to = copies.blocks[0];
      ir::Append(f_, version, std::move(own), 0);
      b.block = rest;
    };
    const uint64_t low = distance.kind == Distance::kMask ? kLanes - 1 : 0;
    const ValueId part = b.Binary(Opcode::kAnd, Type::kI32, known, b.Const(Type::kI32, kLanes - 1));
    const ValueId is_long = b.Icmp(ir::Compare::kEq, part, b.Const(Type::kI32, low));
    const ValueId exists = b.Icmp(ir::Compare::kNe, known, b.Const(Type::kI32, 0));
    otherwise(b.Binary(Opcode::kAnd, Type::kI1, is_long, exists),
              [&](const Copies& copies) { DividePlaces(copies, distance); });
    for (uint32_t lanes = 1; lanes < kLanes; lanes *= 2) {
      const uint64_t number = distance.kind == Distance::kMask ? 2 * lanes - 1 : lanes;
      if (number == kLanes - 1 && distance.kind == Distance::kMask) break;  // above
      otherwise(b.Icmp(ir::Compare::kEq, known, b.Const(Type::kI32, number)),
                [&](const Copies& copies) { Replace(copies, distance, number); });
    }
    ir::Append(f_, b.block, loop, 0);
  }

  // -- one distance --
  void Replace(const Copies& copies, const Distance& distance, uint64_t number) {
    std::vector<ValueId> map(f_.values.size());
    const BlockId first = copies.blocks[0];
    ir::Inst constant;
    constant.op = Opcode::kConst;
    constant.type = Type::kI32;
    constant.attrs.bits = number;
    const ValueId replacement = f_.at_inst(ir::Insert(f_, first, 0, std::move(constant))).results[0];
    map.resize(f_.values.size());
    for (auto [original, copy] : copies.values) {
      if (std::ranges::find(distance.same, original) != distance.same.end()) map[copy.index] = replacement;
    }
    ReplaceIn(copies, map);
    for (BlockId block : copies.blocks) {
      for (InstId id : f_.at_block(block).insts) Fold(f_.inst(id));
    }
  }

  void ReplaceIn(const Copies& copies, const std::vector<ValueId>& map) {
    auto change = [&](ValueId& value) {
      if (value.index < map.size() && map[value.index].valid()) value = map[value.index];
    };
    for (BlockId block : copies.blocks) {
      for (InstId id : f_.at_block(block).insts) {
        ir::Inst& inst = f_.inst(id);
        std::ranges::for_each(inst.operands, change);
        for (ir::Edge& edge : inst.edges) std::ranges::for_each(edge.args, change);
      }
    }
  }

  void Fold(ir::Inst& inst) {
    const std::optional<uint64_t> result = ConstantOf(f_, inst);
    if (!result || inst.op == Opcode::kConst) return;
    inst.type = f_.type_of(inst.results[0]);
    inst.op = Opcode::kConst;
    inst.operands.clear();
    inst.attrs = {};
    inst.attrs.bits = *result;
  }

  // -- multiples of the number of lanes --
  // x & m, x ^ m, x / m, x % m of a place x: of the place of the first of the lanes, and the lane's own part.
  void DividePlaces(const Copies& copies, const Distance& distance) {
    for (const Distance::Use& use : distance.uses) {
      const auto copy = std::ranges::find_if(
          copies.values, [&](const auto& pair) { return pair.first == f_.at_inst(use.inst).results[0]; });
      const InstId id = f_.at_value(copy->second).def;
      const BlockId block = f_.at_value(copy->second).block;
      const auto& insts = f_.at_block(block).insts;
      auto where = static_cast<size_t>(std::ranges::find(insts, id) - insts.begin());
      auto make = [&](Opcode op, ValueId x, ValueId y) {
        ir::Inst inst;
        inst.op = op;
        inst.type = Type::kI32;
        inst.operands = {x, y};
        inst.at = f_.at_inst(id).at;
        return f_.at_inst(ir::Insert(f_, block, where++, std::move(inst))).results[0];
      };
      auto number = [&](uint32_t bits) {
        ir::Inst inst;
        inst.op = Opcode::kConst;
        inst.type = Type::kI32;
        inst.attrs.bits = bits;
        return f_.at_inst(ir::Insert(f_, block, where++, std::move(inst))).results[0];
      };
      const ir::Inst inst = f_.at_inst(id);
      const ValueId x = inst.operands[use.place], m = inst.operands[1 - use.place];
      const ValueId high = make(Opcode::kAnd, x, number(~(kLanes - 1)));
      ValueId whole = high, rest = number(0);
      if (inst.op == Opcode::kAnd && use.low != 0) {
        whole = make(Opcode::kAnd, high, make(Opcode::kAnd, m, number(~(kLanes - 1))));
        rest = make(Opcode::kAnd, x, number(kLanes - 1));
      } else {
        whole = make(inst.op, high, m);
        if (inst.op == Opcode::kXor && use.low != 0) whole = make(Opcode::kXor, whole, number(kLanes - 1));
        if (inst.op == Opcode::kXor || inst.op == Opcode::kRemU)
          rest = make(Opcode::kAnd, x, number(kLanes - 1));
        if (inst.op == Opcode::kXor && use.low != 0) rest = make(Opcode::kSub, number(kLanes - 1), rest);
      }
      ir::Inst& sum = f_.inst(id);
      sum.op = Opcode::kAdd;
      sum.operands = {whole, rest};
      sum.attrs = {};
    }
  }

  ir::Function& f_;
};

}  // namespace

Status SpecialiseDistances(ir::Module&, ir::Function& f, const PassOptions&) {
  if (f.is_kernel) Specialiser(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
