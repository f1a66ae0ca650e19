// Two halves that are passed from block to block and packed into a word there are passed as that word.
//
//   before                                      after
//     br ^loop(%zero, %zero)                      %0 = pack i32 %zero, %zero
//   ^loop(%a: f16, %b: f16):                      br ^loop(%0)
//     %w = pack i32 %a, %b                      ^loop(%w: i32):
//     ...                                         %a, %b = unpack f16 from i32 %w
//     %s = pack i32 ... (sums)                    ...
//     %x, %y = unpack f16 from i32 %s             %s = pack i32 ... (sums)
//     cond_br %more, ^loop(%x, %y), ...           cond_br %more, ^loop(%s), ...
//
// Compilers keep a half2 as its two members between the instructions that compute with both. Vectors compute
// with both at once (analysis/lanes/half_pairs.h), and would unpack and pack them in each trip.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/lanes/half_pairs.h"
#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

bool IsWordOfHalves(const ir::Inst& pack) {
  return pack.block.valid() && pack.op == Opcode::kPack && pack.type == Type::kI32 &&
         pack.operands.size() == 2;
}

class HalfJoiner {
 public:
  explicit HalfJoiner(ir::Function& f) : f_(f), incoming_(f.blocks.size()) {
    for (uint32_t n = 0; n < f.insts.size(); ++n) {
      if (!f.insts[n].block.valid()) continue;
      for (uint32_t k = 0; k < f.insts[n].edges.size(); ++k)
        incoming_[f.insts[n].edges[k].to.index].push_back({{n}, k});
    }
  }

  void Run() {
    FindPairs();
    if (!words_.empty()) JoinPairs();
    UseWords();
  }

 private:
  struct EdgeOf {
    InstId terminator;
    uint32_t number;
  };
  using Pair = std::pair<ValueId, ValueId>;

  // The word whose low and high half these are. Invalid: of none.
  ValueId WholeOf(const Pair& halves) const {
    const analysis::HalfOfWord low = analysis::WordOf(f_, halves.first),
                               high = analysis::WordOf(f_, halves.second);
    const bool whole = low.word.valid() && low.word == high.word && low.number == 0 && high.number == 1;
    return whole && f_.type_of(low.word) == Type::kI32 ? low.word : ValueId{};
  }

  Pair ArgumentsFor(const Pair& params, const EdgeOf& edge) const {
    const std::vector<ValueId>& args = f_.at_inst(edge.terminator).edges[edge.number].args;
    return {args[f_.at_value(params.first).number], args[f_.at_value(params.second).number]};
  }

  bool ArriveTogether(const Pair& halves) const {
    const ir::Value &low = f_.at_value(halves.first), &high = f_.at_value(halves.second);
    if (low.def.valid() || high.def.valid() || !low.block.valid() || low.block != high.block ||
        low.block == f_.entry || low.type != high.type || halves.first == halves.second)
      return false;
    return std::ranges::any_of(incoming_[low.block.index], [&](const EdgeOf& edge) {
      return WholeOf(ArgumentsFor(halves, edge)).valid();
    });
  }

  void FindPairs() {
    std::vector<bool> taken(f_.values.size());
    for (const ir::Inst& inst : f_.insts) {
      if (!IsWordOfHalves(inst)) continue;
      const Pair halves = {analysis::WithoutBitcasts(f_, inst.operands[0]),
                           analysis::WithoutBitcasts(f_, inst.operands[1])};
      if (!ArriveTogether(halves) || taken[halves.first.index] || taken[halves.second.index]) continue;
      taken[halves.first.index] = taken[halves.second.index] = true;
      words_[halves] = {};
    }
  }

  void JoinPairs() {
    for (auto& [halves, word] : words_) word = ir::AddParam(f_, f_.at_value(halves.first).block, Type::kI32);
    std::vector<ValueId> map(f_.values.size());
    for (const auto& [halves, word] : words_) {
      const BlockId block = f_.at_value(halves.first).block;
      for (const EdgeOf& edge : incoming_[block.index]) {
        const ValueId given = GivenFor(halves, edge);
        f_.inst(edge.terminator).edges[edge.number].args.push_back(given);
      }
      ir::Inst unpack;
      unpack.op = Opcode::kUnpack;
      unpack.type = f_.type_of(halves.first);
      unpack.from = Type::kI32;
      unpack.operands = {word};
      unpack.at = f_.at_inst(f_.at_block(block).insts.front()).at;
      const InstId id = ir::Insert(f_, block, 0, std::move(unpack), 2);
      map[halves.first.index] = f_.at_inst(id).results[0];
      map[halves.second.index] = f_.at_inst(id).results[1];
    }
    map.resize(f_.values.size());
    ir::ReplaceUses(f_, map);
    for (const auto& [halves, word] : words_) RemoveParam(halves.first), RemoveParam(halves.second);
  }

  ValueId GivenFor(const Pair& params, const EdgeOf& edge) {
    const Pair args = ArgumentsFor(params, edge);
    if (const ValueId whole = WholeOf(args); whole.valid()) return whole;
    if (const auto found = words_.find(args); found != words_.end()) return found->second;
    ir::Inst pack;
    pack.op = Opcode::kPack;
    pack.type = Type::kI32;
    pack.from = f_.type_of(args.first);
    pack.operands = {args.first, args.second};
    pack.at = f_.at_inst(edge.terminator).at;
    const BlockId block = f_.at_inst(edge.terminator).block;
    const InstId id = ir::Insert(f_, block, f_.at_block(block).insts.size() - 1, std::move(pack));
    return f_.at_inst(id).results[0];
  }

  void RemoveParam(ValueId param) {
    const BlockId block = f_.at_value(param).block;
    const uint32_t number = f_.at_value(param).number;
    std::vector<ValueId>& params = f_.block(block).params;
    params.erase(params.begin() + number);
    for (uint32_t n = number; n < params.size(); ++n) f_.values[params[n].index].number = n;
    for (const EdgeOf& edge : incoming_[block.index]) {
      std::vector<ValueId>& args = f_.inst(edge.terminator).edges[edge.number].args;
      args.erase(args.begin() + number);
    }
  }

  // Words that are taken apart and put together again.
  void UseWords() {
    std::vector<ValueId> map(f_.values.size());
    bool any = false;
    for (const ir::Inst& inst : f_.insts) {
      if (!IsWordOfHalves(inst)) continue;
      ValueId whole = WholeOf({inst.operands[0], inst.operands[1]});
      for (; whole.valid() && map[whole.index].valid(); whole = map[whole.index]) {
      }
      if (!whole.valid() || whole == inst.results[0]) continue;
      map[inst.results[0].index] = whole;
      any = true;
    }
    if (!any) return;
    for (ValueId& to : map) {
      while (to.valid() && map[to.index].valid()) to = map[to.index];
    }
    ir::ReplaceUses(f_, map);
  }

  ir::Function& f_;
  std::vector<std::vector<EdgeOf>> incoming_;  // by block
  std::map<Pair, ValueId> words_;              // by the parameters that are its halves
};

}  // namespace

Status JoinHalves(ir::Module& /*module*/, ir::Function& f, const PassOptions& /*options*/) {
  if (std::ranges::any_of(f.insts, IsWordOfHalves)) HalfJoiner(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
