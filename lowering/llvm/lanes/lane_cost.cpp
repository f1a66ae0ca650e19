#include "lowering/llvm/lanes/lane_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::Type;

namespace {

constexpr int kMaxDepth = 4;         // of a condition, an address
constexpr double kTaken = 0.75;      // share of the lanes that a branch sends each way, of lanes that part
constexpr double kLeave = 0.25;      // ... out of a loop, or to the end
constexpr double kFew = 0.2;         // ... and of those that come through a row of branches, at least
constexpr double kEqual = 0.1;       // ... of those that compare, which find equal words
constexpr double kTrips = 8;         // of a loop, where nothing is known
constexpr double kPartedTrips = 10;  // until the last lane has left
// A processor core starts this many simple scalar operations in the time of one on a vector.
constexpr double kScalarPerVector = 2;
constexpr double kCostlyScalar = 10, kCostlyVector = 10;
// Where an instruction runs lane by lane: to find the lane and to move its operands through memory, for each
// lane, and to move each vector to and from memory.
constexpr double kTurn = 5, kShortTurn = 1, kMove = 2;
constexpr double kApart = 3;  // of an access in a loop of one lane, that vectors have side by side
// An address of a gather: in hardware, and where LLVM takes the lanes apart.
constexpr double kRow = 2;  // several elements side by side: the address, and 16 bytes to or from there
constexpr double kGatheredLane = 0.7, kScalarGatheredLane = 2, kTexturedLane = 4, kLockedLane = 8,
                 kDividedLane = 5, kProductForDivision = 6, kCombined = 8;
constexpr double kCodeOfGather = 3, kCodeOfTurn = 4;
// The cost for bytes or halves in a word: extracting each factor, multiplying and adding. Some machines
// multiply bytes of different signs, others bytes of one sign only.
constexpr double kOfFactor = 2, kByteProducts = 4;

bool IsAtomic(Opcode op) { return op == Opcode::kAtomic || op == Opcode::kAtomicCas; }

class Costs {
 public:
  Costs(const FunctionEmitter& e, const LaneRegion& region, unsigned width)
      : e_(e), f_(e.f), r_(region), width_(width), vector_bits_(8 * e.m.traits.vector_bytes) {}

  LaneCost Run() {
    AddLevel(0, {1, 1});
    return cost_;
  }

 private:
  // How often a lane runs a block, and how often any does.
  struct Frequency {
    double lane = 0, any = 0;
  };

  bool Faults(BlockId block) const {
    const Opcode end = f_.terminator(block).op;
    return end == Opcode::kTrap || end == Opcode::kUnreachable;
  }

  void AddLevel(uint32_t level, const Frequency& all) {
    const std::vector<LaneRegion::Item>& items = r_.levels[level].items;
    for (size_t i = 0; i < items.size(); ++i) {
      const LaneRegion::Item& item = items[i];
      Frequency here = all;
      if (i != 0) {
        here.lane = 0;
        for (EdgeRef edge : item.in) here.lane = std::min(all.lane, here.lane + over_[edge]);
        if (here.lane != 0) here.lane = std::max(here.lane, all.lane * kFew);
        const double share = all.lane == 0 ? 0 : std::min(1.0, here.lane / all.lane);
        here.any = all.any * (item.together ? share : std::min(1.0, share * width_));
      }
      if (item.loop == LaneRegion::kNone)
        AddBlock(item.block, level, here);
      else
        AddLoop(r_.levels[item.loop], item.loop, here);
    }
  }

  void AddLoop(const LaneRegion::Level& loop, uint32_t number, const Frequency& entered) {
    AddLevel(number, {entered.lane * kTrips, entered.any * (loop.leaves_together ? kTrips : kPartedTrips)});
    for (EdgeRef exit : loop.exits) over_[exit] = entered.lane * (loop.exits.size() > 1 ? kTaken : 1);
  }

  // Whether the condition is true (or false) only where words of each lane are equal.
  bool ImpliesEqual(ir::ValueId condition, bool truth, int depth) const {
    const ir::InstId def = f_.at_value(condition).def;
    if (!def.valid() || depth == 0) return false;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kIcmp) return inst.attrs.compare == (truth ? ir::Compare::kEq : ir::Compare::kNe);
    if (inst.op != (truth ? Opcode::kAnd : Opcode::kOr)) return false;
    return std::ranges::any_of(inst.operands,
                               [&](ir::ValueId operand) { return ImpliesEqual(operand, truth, depth - 1); });
  }

  bool IsForEqualLanes(BlockId block, size_t number, uint32_t level) const {
    const ir::Inst& end = f_.terminator(block);
    if (end.op != Opcode::kCondBr || ShapeIn(e_, r_, end.operands[0]).uniform()) return false;
    const BlockId to = end.edges[number].to;
    const bool turns = level != 0 && r_.levels[level].items[0].block == to;
    return !turns && r_.Contains(level, to) && ImpliesEqual(end.operands[0], number == 0, kMaxDepth);
  }

  bool Stays(const ir::Edge& edge, uint32_t level) const {
    return !Faults(edge.to) && r_.Contains(level, edge.to) && !f_.successors(edge.to).empty();
  }

  // The share of the lanes that take an edge of a block. Few lanes leave a loop, and fewer stop.
  double ShareOf(BlockId block, size_t number, uint32_t level, size_t staying) const {
    const std::vector<ir::Edge>& edges = f_.terminator(block).edges;
    if (Faults(edges[number].to)) return 0;
    if (IsForEqualLanes(block, number, level)) return kEqual;
    if (staying == 0 || edges.size() == 1) return 1;
    return Stays(edges[number], level) ? (staying == 1 ? 1 : kTaken) : kLeave;
  }

  void AddBlock(BlockId block, uint32_t level, const Frequency& here) {
    const std::vector<ir::Edge>& edges = f_.terminator(block).edges;
    const auto staying = static_cast<size_t>(
        std::ranges::count_if(edges, [&](const ir::Edge& edge) { return Stays(edge, level); }));
    for (uint32_t number = 0; number < edges.size(); ++number)
      over_[{block, number}] = here.lane * ShareOf(block, number, level, staying);
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      const double scalar = ScalarOf(inst), vector = VectorOf(inst, here);
      cost_.one_by_one +=
          here.lane * width_ * (scalar / kScalarPerVector + (level != 0 && IsRow(inst, level) ? kApart : 0));
      cost_.together += vector;
      (level == 0 ? cost_.code_outside : cost_.code_in_loops) += static_cast<size_t>(CodeOf(inst) + 0.5);
    }
  }

  // Whether trips of the loop may change the value.
  bool Moves(ir::ValueId value, uint32_t level, int depth) const {
    const ir::Value& made = f_.at_value(value);
    if (!made.block.valid() || !r_.Contains(level, made.block)) return false;
    if (!made.def.valid() || depth == 0) return true;
    const ir::Inst& inst = f_.at_inst(made.def);
    return ir::Info(inst.op).effect != ir::Effect::kPure ||
           std::ranges::any_of(inst.operands,
                               [&](ir::ValueId operand) { return Moves(operand, level, depth - 1); });
  }

  // Neighbouring lanes access neighbouring memory: a lane that runs its loop alone walks over lines of which
  // it uses one element each. What is at one place in all trips stays in the cache.
  bool IsRow(const ir::Inst& inst, uint32_t level) const {
    if (inst.op != Opcode::kLoad && inst.op != Opcode::kStore) return false;
    if (!Moves(inst.operands[0], level, kMaxDepth)) return false;
    const LaneForm form = FormOf(e_, r_, inst);
    return form == LaneForm::kVector || form == LaneForm::kVectorIfSeen || form == LaneForm::kStrided;
  }

  // -- one instruction --
  static double FactorsOf(Opcode op) { return op == Opcode::kDp4a ? 8 : op == Opcode::kDp2a ? 4 : 0; }

  double ScalarOf(const ir::Inst& inst) const {
    if (inst.op == Opcode::kTexture) return kTexturedLane * kCostlyScalar;
    if (IsAtomic(inst.op))
      return e_.private_shared && inst.attrs.space == ir::Space::kShared ? 2 : kLockedLane;
    if (const double factors = FactorsOf(inst.op); factors != 0) return factors * kOfFactor;
    switch (ir::Info(inst.op).cost) {
      case ir::Cost::kFree:
        return 0;
      case ir::Cost::kCheap:
        return inst.op == Opcode::kStore ? static_cast<double>(inst.operands.size() - 1)
                                         : std::max(1.0, static_cast<double>(inst.results.size()));
      case ir::Cost::kCostly:
        return kCostlyScalar;
    }
    return 1;
  }

  double PartsOf(Type type) const {
    return std::max(1.0, static_cast<double>(ir::Bits(type)) * width_ / vector_bits_);
  }

  double AccessOf(const ir::Inst& inst, LaneForm form) const {
    const auto count =
        static_cast<double>(inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1);
    switch (form) {
      case LaneForm::kUniform:
        return count;
      case LaneForm::kVector:
        return count * PartsOf(inst.type) * (count > 1 ? 2 : 1);
      case LaneForm::kUniformIfSeen:
        return 2 * count + 2;
      case LaneForm::kVectorIfSeen:
        return count * PartsOf(inst.type) * (count > 1 ? 2 : 1) + PartsOf(Type::kI64) + 2;
      case LaneForm::kStrided:
        return static_cast<double>(2 * std::abs(ElementsApart(ShapeIn(e_, r_, inst.operands[0]), inst))) *
               PartsOf(inst.type) * count;
      case LaneForm::kInGroups:
        return 2 * count * PartsOf(inst.type) + PartsOf(Type::kI64) +
               2 * static_cast<double>(GroupsOfAccess(r_, inst)->begin.size());
      case LaneForm::kGather:
        if (count > 1 && ir::Bits(inst.type) >= 32 && (inst.op == Opcode::kLoad || IsWholeRows(inst)))
          return std::ceil(count * ir::Bytes(inst.type) / 16) * width_ * kRow +
                 2 * count * PartsOf(inst.type);
        return count * width_ * (e_.m.traits.has_avx512 ? kGatheredLane : kScalarGatheredLane);
      case LaneForm::kEachLane:
        break;
    }
    return 0;
  }

  // What goes from lane to lane is a loop, and a gather or scatter of a machine that has them is a few
  // instructions, whatever time they take.
  double CodeOf(const ir::Inst& inst) const {
    const double once = VectorOf(inst, {0, 1});
    if (ir::IsTerminator(inst.op)) return once;
    const LaneForm form = FormOf(e_, r_, inst);
    if (form == LaneForm::kEachLane) return once + ScalarOf(inst) + kCodeOfTurn;
    const bool accesses = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
    if (!accesses || form != LaneForm::kGather || !e_.m.traits.has_avx512) return once;
    const size_t count = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
    return static_cast<double>(count) * kCodeOfGather * PartsOf(Type::kI64);
  }

  double VectorOf(const ir::Inst& inst, const Frequency& here) const {
    if (ir::IsTerminator(inst.op)) return here.any * static_cast<double>(inst.edges.size());
    const LaneForm form = FormOf(e_, r_, inst);
    const bool parts = inst.op == Opcode::kStore && form == LaneForm::kGather && !e_.m.traits.has_avx512 &&
                       here.lane < here.any;
    if (form == LaneForm::kEachLane || parts) {
      const auto moved = static_cast<double>(inst.operands.size() + inst.results.size());
      const bool is_short = inst.op == Opcode::kStore && IsShortTurn(e_, inst) && here.lane == here.any;
      return here.lane * width_ * (ScalarOf(inst) / kScalarPerVector + (is_short ? kShortTurn : kTurn)) +
             here.any * (kTurn + moved * kMove * PartsOf(inst.type));
    }
    if (inst.op == Opcode::kTexture) return here.any * kTexturedLane * width_;
    if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) return here.any * AccessOf(inst, form);
    if (IsAtomic(inst.op)) return here.any * (ScalarOf(inst) + kCombined * PartsOf(inst.type));
    return here.any * ComputedOf(inst);
  }

  // Whether the product is one that vectors have no instruction for, unless its factors have 32 bits.
  bool IsLongProduct(const ir::Inst& inst) const {
    if (inst.op == Opcode::kMulHiS || inst.op == Opcode::kMulHiU) return true;
    auto is_widened = [&](ir::ValueId factor) {
      const ir::InstId def = f_.at_value(factor).def;
      if (!def.valid()) return false;
      const Opcode op = f_.at_inst(def).op;
      return op == Opcode::kZext || op == Opcode::kSext || op == Opcode::kConst;
    };
    return inst.op == Opcode::kMul && ir::Bits(inst.type) > 32 &&
           !std::ranges::all_of(inst.operands, is_widened);
  }

  // By constants: products. Up to 32 bits: in f64. No machine divides vectors of wider integers.
  double DivisionOf(const ir::Inst& inst) const {
    const ir::InstId divisor = f_.at_value(inst.operands[1]).def;
    if (divisor.valid() && f_.at_inst(divisor).op == Opcode::kConst)
      return kProductForDivision * PartsOf(inst.type);
    if (ir::Bits(inst.type) <= 32) return kCostlyVector * PartsOf(Type::kF64);
    return kDividedLane * width_;
  }

  double ComputedOf(const ir::Inst& inst) const {
    const ir::Cost cost = ir::Info(inst.op).cost;
    if (cost == ir::Cost::kFree) return 0;
    const bool uniform = std::ranges::all_of(
        inst.results, [&](ir::ValueId result) { return r_.shapes[result.index].uniform(); });
    if (uniform && !inst.results.empty()) return ScalarOf(inst) / kScalarPerVector;
    if (IsDivision(inst.op)) return DivisionOf(inst);
    const double parts = std::max(PartsOf(inst.type), PartsOf(inst.from));
    if (inst.op == Opcode::kDp4a && e_.m.traits.has_vnni) return kByteProducts * parts;
    if (const double factors = FactorsOf(inst.op); factors != 0) return factors * kOfFactor * parts;
    if (cost == ir::Cost::kCostly) return kCostlyVector * parts;
    return parts * (IsLongProduct(inst) ? 4 : 1);
  }

  const FunctionEmitter& e_;
  const ir::Function& f_;
  const LaneRegion& r_;
  const unsigned width_, vector_bits_;
  std::map<EdgeRef, double> over_;  // how often a lane takes an edge
  LaneCost cost_;
};

}  // namespace

LaneCost CostOf(const FunctionEmitter& e, const LaneRegion& region, unsigned width) {
  return Costs(e, region, width).Run();
}

}  // namespace ptx2cpu::lowering
