#include "analysis/lanes/half_pairs.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <ranges>
#include <set>

#include "analysis/lanes/unit_factor.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;
using ir::Inst;
using ir::InstId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

// The greatest number of instructions between the two of a pair, and from them to the word that both become.
constexpr size_t kMaxApart = 12;
constexpr int kMaxConstantDepth = 2;

bool IsHalf(Type type) { return ir::Bits(type) == 16; }

class PairFinder {
 public:
  PairFinder(const ir::Function& f, BlockId block, const std::vector<bool>& elsewhere,
             const HalfPairOptions& options)
      : f_(f), insts_(f.at_block(block).insts), block_(block), elsewhere_(elsewhere), options_(options) {
    for (size_t n = 0; n < insts_.size(); ++n) position_[insts_[n].index] = n;
  }

  std::vector<HalfPair> Run() {
    for (size_t n = 0; n < insts_.size(); ++n) {
      if (!MayPair(f_.at_inst(insts_[n])) || IsPaired(insts_[n])) continue;
      for (size_t other = n + 1; other < std::min(insts_.size(), n + kMaxApart); ++other) {
        if (IsPaired(insts_[other])) continue;
        if (Add(insts_[n], insts_[other], n) || Add(insts_[other], insts_[n], n)) break;
      }
    }
    RemoveTakenApart();
    return pairs_;
  }

 private:
  // What operands of both are: one vector, as many words as lanes are computed for it, or the like.
  struct Joined {
    size_t whole = 0, apart = 0;
  };

  bool IsPaired(InstId id) const { return paired_.contains(id.index); }

  // bf16 is the upper half of an f32, which a shift or a mask makes of each half of a word in place.
  bool MayPair(const Inst& inst) const {
    if (inst.results.size() != 1 || (options_.is_one_for_all && options_.is_one_for_all(inst))) return false;
    const bool f16 = inst.type == Type::kF16 && options_.converts;
    const auto is = [&](std::initializer_list<Opcode> ops) {
      return std::ranges::find(ops, inst.op) != ops.end();
    };
    if (is({Opcode::kFAdd, Opcode::kFSub, Opcode::kFMul, Opcode::kFFma}))
      return inst.attrs.rounding == ir::Rounding::kNearestEven && (f16 || IsPlainFloat(inst));
    if (is({Opcode::kFNeg, Opcode::kFAbs})) return IsHalf(inst.type) || IsPlainFloat(inst);
    if (is({Opcode::kFMin, Opcode::kFMax, Opcode::kSelect})) return IsHalf(inst.type);
    if (is({Opcode::kFRound})) return f16;
    if (is({Opcode::kFcmp})) return options_.converts && inst.from == Type::kF16;
    if (!is({Opcode::kFConvert}) || !options_.converts) return false;
    // Whether an operand is flushed depends on what is known of it.
    return (f16 && inst.from == Type::kF32 && (inst.attrs.flags & ir::kFtz) == 0) ||
           (inst.type == Type::kF32 && inst.from == Type::kF16);
  }

  // What is computed of f32 between conversions. Analyses know more of these where they flush.
  bool IsPlainFloat(const Inst& inst) const {
    return options_.converts && inst.type == Type::kF32 && inst.attrs.flags == 0;
  }

  // Only as a pair throughout: their results would be taken apart by permutations, masks by worse.
  static bool IsOfPairsOnly(const Inst& inst) {
    return inst.op == Opcode::kFcmp || (inst.type == Type::kF32 && inst.op != Opcode::kFConvert);
  }

  bool Add(InstId low, InstId high, size_t first) {
    const Inst &x = f_.at_inst(low), &y = f_.at_inst(high);
    if (!MayPair(x) || !MayPair(y) || x.op != y.op || x.type != y.type || x.from != y.from ||
        x.attrs != y.attrs || x.operands.size() != y.operands.size() || y.results.size() != 1)
      return false;
    Joined joined;
    for (size_t k = 0; k < x.operands.size(); ++k) {
      for (size_t l = 0; l < k; ++l) {
        if (x.operands[k] == x.operands[l] && y.operands[k] != y.operands[l]) return false;
      }
      if (!Joins(x.operands[k], y.operands[k], first, joined)) return false;
      // What is computed otherwise with such a factor is computed so of both.
      if (x.op == Opcode::kFFma && IsUnitFactor(f_, x.operands[k]) != IsUnitFactor(f_, y.operands[k]))
        return false;
    }
    if (!Pays(x, y, joined)) return false;
    paired_.insert({low.index, high.index});
    pairs_.push_back({low, high});
    high_of_[x.results[0].index] = y.results[0];
    return true;
  }

  bool Joins(ValueId low, ValueId high, size_t first, Joined& joined) const {
    if (const ValueId word = WholeWord(f_, block_, elsewhere_, low, high); word.valid()) {
      ++joined.whole;
      return IsKnown(word, first);
    }
    if (IsPair(low, high)) return ++joined.whole, true;
    if (low != high && !(IsConstant(low, kMaxConstantDepth) && IsConstant(high, kMaxConstantDepth)))
      ++joined.apart;
    return IsKnown(low, first) && IsKnown(high, first);
  }

  bool IsPair(ValueId low, ValueId high) const {
    const auto found = high_of_.find(WithoutBitcasts(f_, low).index);
    return found != high_of_.end() && found->second == WithoutBitcasts(f_, high);
  }

  bool IsKnown(ValueId value, size_t first) const {
    const ir::Value& made = f_.at_value(value);
    return !made.def.valid() || made.block != block_ || position_.at(made.def.index) < first;
  }

  bool IsConstant(ValueId value, int depth) const {
    const InstId def = f_.at_value(value).def;
    if (!def.valid()) return false;
    const Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kConst) return true;
    return depth > 0 && inst.operands.size() == 1 && ir::Info(inst.op).effect == ir::Effect::kPure &&
           IsConstant(inst.operands[0], depth - 1);
  }

  bool Pays(const Inst& low, const Inst& high, const Joined& joined) const {
    if (low.op == Opcode::kSelect) {
      const InstId condition = f_.at_value(low.operands[0]).def;
      return condition.valid() && f_.at_inst(condition).op == Opcode::kFcmp &&
             IsPair(low.operands[0], high.operands[0]);
    }
    if (low.op == Opcode::kFConvert && low.type == Type::kF16)
      return (joined.whole > 0 && joined.apart == 0) || MakesWord(low, high);
    if (low.type == Type::kF32) return joined.whole > 0 && joined.apart == 0;
    return joined.whole > 0 && joined.whole >= joined.apart;
  }

  bool MakesWord(const Inst& low, const Inst& high) const {
    const size_t from = 1 + std::max(PositionOf(low), PositionOf(high));
    for (size_t n = from; n < std::min(insts_.size(), from + kMaxApart); ++n) {
      const Inst& pack = f_.at_inst(insts_[n]);
      if (pack.op == Opcode::kPack && pack.operands.size() == 2 &&
          WithoutBitcasts(f_, pack.operands[0]) == low.results[0] &&
          WithoutBitcasts(f_, pack.operands[1]) == high.results[0])
        return true;
    }
    return false;
  }

  size_t PositionOf(const Inst& inst) const { return position_.at(f_.at_value(inst.results[0]).def.index); }

  // Whether only pairs read the results.
  bool StaysJoined(const HalfPair& pair) const {
    return std::ranges::all_of(std::array{pair.low, pair.high}, [&](InstId id) {
      const ValueId result = f_.at_inst(id).results[0];
      const auto [first, last] = readers_.equal_range(result.index);
      return !elsewhere_[result.index] &&
             std::all_of(first, last, [&](const auto& reader) { return IsPaired(reader.second); });
    });
  }

  void FindReaders() {
    for (InstId id : insts_) {
      for (ValueId operand : f_.at_inst(id).operands) readers_.emplace(operand.index, id);
    }
  }

  void Remove(const HalfPair& pair) {
    paired_.erase(pair.low.index);
    paired_.erase(pair.high.index);
    high_of_.erase(f_.at_inst(pair.low).results[0].index);
  }

  // From the last to the first: whether the readers are pairs is settled. A choice between halves needs its
  // condition as a pair.
  void RemoveTakenApart() {
    const auto only_as_pair = [&](const HalfPair& pair) { return IsOfPairsOnly(f_.at_inst(pair.low)); };
    if (!std::ranges::any_of(pairs_, only_as_pair)) return;
    FindReaders();
    for (const HalfPair& pair : std::views::reverse(pairs_)) {
      if (only_as_pair(pair) && !StaysJoined(pair)) Remove(pair);
    }
    // Without one of them, another may read a half that is computed after its first instruction.
    for (bool changed = true; changed;) {
      changed = false;
      for (const HalfPair& pair : pairs_) {
        if (!IsPaired(pair.low) || AreOperandsThere(f_.at_inst(pair.low), f_.at_inst(pair.high))) continue;
        Remove(pair);
        changed = true;
      }
    }
    std::erase_if(pairs_, [&](const HalfPair& pair) { return !IsPaired(pair.low); });
  }

  bool AreOperandsThere(const Inst& low, const Inst& high) const {
    if (low.op == Opcode::kSelect && !IsPair(low.operands[0], high.operands[0])) return false;
    const size_t first = std::min(PositionOf(low), PositionOf(high));
    Joined joined;
    for (size_t k = 0; k < low.operands.size(); ++k) {
      if (!Joins(low.operands[k], high.operands[k], first, joined)) return false;
    }
    return true;
  }

  const ir::Function& f_;
  const std::vector<InstId>& insts_;
  const BlockId block_;
  const std::vector<bool>& elsewhere_;
  const HalfPairOptions options_;
  std::map<uint32_t, size_t> position_;
  std::set<uint32_t> paired_;
  std::map<uint32_t, ValueId> high_of_;      // by the low result of a pair
  std::multimap<uint32_t, InstId> readers_;  // by value, in this block
  std::vector<HalfPair> pairs_;
};

// Words of halves exist in the block.
bool HasHalves(const ir::Function& f, BlockId block) {
  return std::ranges::any_of(f.at_block(block).insts, [&](InstId id) {
    const Inst& inst = f.at_inst(id);
    const bool parts = inst.op == Opcode::kUnpack || inst.op == Opcode::kPack;
    return parts && IsHalf(inst.op == Opcode::kPack ? inst.from : inst.type);
  });
}

}  // namespace

ValueId WithoutBitcasts(const ir::Function& f, ValueId value) {
  for (;;) {
    const InstId def = f.at_value(value).def;
    if (!def.valid() || f.at_inst(def).op != Opcode::kBitcast) return value;
    value = f.at_inst(def).operands[0];
  }
}

HalfOfWord WordOf(const ir::Function& f, ValueId half) {
  const ValueId part = WithoutBitcasts(f, half);
  const InstId def = f.at_value(part).def;
  if (!def.valid()) return {};
  const Inst& inst = f.at_inst(def);
  const bool halves = inst.op == Opcode::kUnpack && IsHalf(inst.type) && inst.results.size() == 2;
  return halves ? HalfOfWord{inst.operands[0], f.at_value(part).number} : HalfOfWord{};
}

ValueId WholeWord(const ir::Function& f, BlockId block, const std::vector<bool>& elsewhere, ValueId low,
                  ValueId high) {
  const HalfOfWord x = WordOf(f, low), y = WordOf(f, high);
  if (!x.word.valid() || x.word != y.word || x.number != 0 || y.number != 1) return {};
  return f.at_value(x.word).block == block || elsewhere[x.word.index] ? x.word : ValueId{};
}

std::vector<HalfPair> FindHalfPairs(const ir::Function& f, BlockId block, const std::vector<bool>& elsewhere,
                                    const HalfPairOptions& options) {
  if (!HasHalves(f, block)) return {};
  return PairFinder(f, block, elsewhere, options).Run();
}

}  // namespace ptx2cpu::analysis
