#include "lowering/passes/racing_accesses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr uint32_t kEveryone = ~0u, kLastLane = 31;

bool IsPlain(const ir::Inst& inst) {
  const ir::Space space = inst.attrs.space;
  return space == ir::Space::kGeneric || space == ir::Space::kGlobal || space == ir::Space::kShared;
}
bool HasWholeWords(const ir::Function& f, const ir::Inst& load) {
  return std::ranges::all_of(load.results, [&](ValueId value) {
    const int bits = ir::Bits(f.type_of(value));
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
  });
}

// Finds the loads from which the values are computed, through instructions without effects and through block
// parameters.
class Sources {
 public:
  explicit Sources(const ir::Function& f)
      : f_(f), predecessors_(ir::Predecessors(f)), seen_(f.values.size()) {}

  void Trace(ValueId value) {
    Push(value);
    while (!work_.empty()) {
      const ir::Value& info = f_.at_value(work_.back());
      work_.pop_back();
      if (!info.def.valid()) {
        for (const BlockId from : predecessors_[info.block.index]) {
          for (const ir::Edge& edge : f_.successors(from)) {
            if (edge.to == info.block) Push(edge.args[info.number]);
          }
        }
        continue;
      }
      const ir::Inst& inst = f_.at_inst(info.def);
      if (inst.op == Opcode::kLoad) loads_.push_back(info.def);
      if (ir::Info(inst.op).effect != ir::Effect::kPure) continue;
      for (const ValueId operand : inst.operands) Push(operand);
    }
  }
  bool Contain(InstId load) const { return std::ranges::binary_search(loads_, load); }
  void Sort() { std::ranges::sort(loads_); }

 private:
  void Push(ValueId value) {
    if (seen_[value.index]) return;
    seen_[value.index] = true;
    work_.push_back(value);
  }

  const ir::Function& f_;
  const std::vector<std::vector<BlockId>> predecessors_;
  std::vector<bool> seen_;
  std::vector<ValueId> work_;
  std::vector<InstId> loads_;
};

class RacingAccesses {
 public:
  RacingAccesses(ir::Function& f, uint32_t uniform) : f_(f), uniform_(uniform) {}

  void Run() {
    std::vector<std::pair<BlockId, size_t>> found;
    Sources compared(f_);
    for (const BlockId block : ir::ReversePostOrder(f_)) {
      for (const InstId id : f_.at_block(block).insts) {
        if (f_.at_inst(id).op == Opcode::kAtomicCas) compared.Trace(f_.at_inst(id).operands[1]);
      }
    }
    compared.Sort();
    for (const BlockId block : ir::ReversePostOrder(f_)) {
      const auto& insts = f_.at_block(block).insts;
      for (size_t i = 0; i < insts.size(); ++i) {
        if (Races(insts, i) || compared.Contain(insts[i])) found.emplace_back(block, i);
      }
    }
    for (size_t n = found.size(); n-- > 0;) {  // what is before the place stays in the block
      const auto [block, at] = found[n];
      if (f_.at_inst(f_.at_block(block).insts[at]).op == Opcode::kLoad)
        ShareValue(block, at);
      else
        StoreOnce(block, at);
    }
  }

 private:
  bool Races(const std::vector<InstId>& insts, size_t at) const {
    const ir::Inst& inst = f_.at_inst(insts[at]);
    const bool is_load = inst.op == Opcode::kLoad;
    if ((!is_load && inst.op != Opcode::kStore) || !IsPlain(inst)) return false;
    if (inst.attrs.order != ir::MemoryOrder::kWeak) return true;
    // The next one that has an effect, or the last one before.
    const auto is_pure = [&](size_t i) {
      return ir::Info(f_.at_inst(insts[i]).op).effect == ir::Effect::kPure;
    };
    size_t next = is_load ? at + 1 : at - 1;  // beyond the first: more than there are
    while (next < insts.size() && is_pure(next)) next += is_load ? 1 : -1;
    return next < insts.size() && f_.at_inst(insts[next]).op == Opcode::kFence;
  }

  // The warp's word, all bits 0 or 1: the lanes act as one thread, or each for itself.
  ValueId Mode(ir::Builder& b) const {
    const ValueId warp = b.SpecialRegister(ir::Special::kTidY);
    const ValueId offset = b.Binary(Opcode::kMul, Type::kI64, b.Convert(Opcode::kZext, Type::kI64, warp),
                                    b.Const(Type::kI64, 4));
    const ValueId address =
        b.Binary(Opcode::kAdd, Type::kI64, b.Symbol(ir::Space::kShared, uniform_), offset);
    return b.Load(Type::kI32, ir::Space::kShared, address);
  }

  ValueId OfFirstLane(ir::Builder& b, ValueId value) const {
    const Type type = f_.type_of(value);
    const int bits = ir::Bits(type);
    const auto shuffle = [&](ValueId word) {
      const ValueId first = b.Const(Type::kI32, 0), last = b.Const(Type::kI32, kLastLane),
                    everyone = b.Const(Type::kI32, kEveryone);
      return b
          .Inst2(Opcode::kShuffle, Type::kI32, {word, first, last, everyone},
                 {.shuffle = ir::ShuffleMode::kIdx})
          .first;
    };
    const Type whole = ir::IntegerOfBits(bits);
    ValueId given = b.Bitcast(whole, value);
    if (bits < 32) {
      given = b.Convert(Opcode::kTrunc, whole, shuffle(b.Convert(Opcode::kZext, Type::kI32, given)));
    } else if (bits == 32) {
      given = shuffle(given);
    } else {
      std::vector<ValueId> words = b.Unpack(Type::kI32, given);
      for (ValueId& word : words) word = shuffle(word);
      given = b.Pack(whole, words);
    }
    return b.Bitcast(type, given);
  }

  void ShareValue(BlockId block, size_t where) {
    const InstId load = f_.at_block(block).insts[where];
    if (!HasWholeWords(f_, f_.at_inst(load))) return;
    const ir::Position at = f_.at_inst(load).at;
    const BlockId rest = SplitBlock(f_, block, where + 1, ""), all = ir::AddBlock(f_);
    ir::Remove(f_, f_.at_block(block).insts.back());  // the branch to the rest
    // What uses the load's results uses parameters of the rest from now on.
    std::vector<ValueId> own;
    for (const ValueId used : std::vector<ValueId>(f_.at_inst(load).results)) {
      const auto number = static_cast<uint32_t>(own.size());
      own.push_back(ir::AddValue(f_, f_.type_of(used), load, block, number));
      f_.inst(load).results[number] = own.back();
      ir::Value& param = f_.values[used.index];
      param.def = {};
      param.block = rest;
      param.number = number;
      f_.block(rest).params.push_back(used);
    }
    ir::Builder b{f_, block, at};
    const ValueId as_one = b.Icmp(ir::Compare::kEq, Mode(b), b.Const(Type::kI32, 0));
    b.CondBr(as_one, {all, {}}, {rest, own});
    ir::Builder shared{f_, all, at};
    std::vector<ValueId> of_first;
    of_first.reserve(own.size());
    for (const ValueId value : own) of_first.push_back(OfFirstLane(shared, value));
    shared.Br(rest, of_first);
  }

  void StoreOnce(BlockId block, size_t where) {
    const ir::Position at = f_.at_inst(f_.at_block(block).insts[where]).at;
    const BlockId rest = SplitBlock(f_, block, where + 1, ""), one = SplitBlock(f_, block, where, "");
    ir::Remove(f_, f_.at_block(block).insts.back());
    ir::Builder b{f_, block, at};
    const ValueId lane = b.SpecialRegister(ir::Special::kLaneId);
    const ValueId source = b.Binary(Opcode::kAnd, Type::kI32, Mode(b), lane);
    b.CondBr(b.Icmp(ir::Compare::kEq, source, lane), {one, {}}, {rest, {}});
  }

  ir::Function& f_;
  const uint32_t uniform_;
};

}  // namespace

void PerformRacingAccessesOnce(ir::Function& f, uint32_t uniform) { RacingAccesses(f, uniform).Run(); }

}  // namespace ptx2cpu::lowering
