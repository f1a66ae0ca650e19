#include "ptx-parser/translate/ssa.h"

#include <algorithm>
#include <utility>

namespace ptx2cpu::ptx {

using ir::BlockId;
using ir::InstId;
using ir::ValueId;

Ssa::Variable Ssa::Declare(ir::Type canonical) {
  types_.push_back(canonical);
  return static_cast<Variable>(types_.size() - 1);
}

Ssa::BlockState& Ssa::State(BlockId block) {
  if (states_.size() <= block.index) states_.resize(f_.blocks.size());
  return states_[block.index];
}

void Ssa::Write(Variable variable, BlockId block, ValueId value) {
  CHECK(ir::Bits(f_.type_of(value)) == ir::Bits(types_[variable]),
        "a register takes values of its own width");
  CHECK(!may_write_ || may_write_(variable),
        "a register is written that its instruction's form does not name");
  BlockState& state = State(block);
  state.values[variable] = value;
  if (state.chain == kNoChain || state.place == 0) return;
  std::vector<uint32_t>& places = chains_[state.chain].writers[variable];
  CHECK(places.empty() || places.back() <= state.place, "a chain is written from its beginning to its end");
  if (places.empty() || places.back() != state.place) places.push_back(state.place);
}

ValueId Ssa::Read(Variable variable, BlockId block) {
  ValueId value = Lookup(variable, block);
  while (!pending_.empty()) {
    Pending pending = pending_.back();
    pending_.pop_back();
    FillArguments(pending);
  }
  return value;
}

void Ssa::SetDominator(BlockId block, BlockId dominator, std::vector<Variable> written) {
  BlockState& state = State(block);
  BlockState& before = State(dominator);
  state.dominator = dominator;
  if (before.chain == kNoChain) {
    before.chain = static_cast<uint32_t>(chains_.size());
    chains_.push_back({{dominator}, {}});
  }
  if (Chain& chain = chains_[before.chain]; chain.blocks.back() == dominator) {
    state.chain = before.chain;
    state.place = static_cast<uint32_t>(chain.blocks.size());
    chain.blocks.push_back(block);
    for (Variable variable : written) chain.writers[variable].push_back(state.place);
  }
  state.written = std::move(written);
}

// For a block with a dominator: the dominator, or a block further up in its chain.
BlockId Ssa::LastWriterBefore(Variable variable, BlockId block) {
  const BlockState& state = State(block);
  if (state.chain == kNoChain) return state.dominator;
  const Chain& chain = chains_[state.chain];
  const auto found = chain.writers.find(variable);
  if (found == chain.writers.end()) return chain.blocks[0];
  const auto later = std::ranges::lower_bound(found->second, state.place);
  return chain.blocks[later == found->second.begin() ? 0 : *std::prev(later)];
}

// Finds the value that reaches the end of `block`. Parameters made on the way get their arguments later
// (pending_), so that a deep graph does not recurse deeply.
ValueId Ssa::Lookup(Variable variable, BlockId block) {
  std::vector<BlockId> passed;
  ValueId value;
  for (Source at{block, true}; !value.valid();) {
    BlockState& state = State(at.block);
    const auto& known = at.at_end ? state.values : state.parameters;
    if (const auto it = known.find(variable); it != known.end()) {
      value = it->second;
      break;
    }
    if (at.at_end) passed.push_back(at.block);
    if (const auto source = SourceOfStart(variable, at.block)) {
      at = *source;
    } else if (state.sealed && state.predecessors.empty()) {
      value = UndefinedValue(variable);
    } else if (state.sealed && state.predecessors.size() == 1) {
      at = {f_.at_inst(state.predecessors[0].terminator).block, true};
    } else {
      value = Parameter(variable, at.block);
    }
  }
  for (BlockId id : passed) State(id).values[variable] = value;
  return value;
}

std::optional<Ssa::Source> Ssa::SourceOfStart(Variable variable, BlockId block) {
  const BlockState& state = State(block);
  if (state.dominator.valid()) {
    if (std::ranges::find(state.written, variable) != state.written.end()) return std::nullopt;
    return Source{LastWriterBefore(variable, block), true};
  }
  return source_of_ ? source_of_(variable, block) : std::nullopt;
}

ValueId Ssa::Parameter(Variable variable, BlockId block) {
  BlockState& state = State(block);
  auto [it, fresh] = state.parameters.emplace(variable, ValueId{});
  if (!fresh) return it->second;
  it->second = ir::AddParam(f_, block, types_[variable]);
  if (state.sealed) {
    pending_.push_back({variable, block, it->second});
  } else {
    state.incomplete.push_back({variable, it->second});
  }
  return it->second;
}

void Ssa::FillArguments(const Pending& pending) {
  uint32_t number = f_.at_value(pending.parameter).number;
  size_t count = State(pending.block).predecessors.size();
  for (size_t i = 0; i < count; ++i) {
    const Predecessor predecessor = State(pending.block).predecessors[i];
    BlockId from = f_.at_inst(predecessor.terminator).block;
    ValueId value = Lookup(pending.variable, from);
    if (f_.type_of(value) != types_[pending.variable]) {
      ir::Inst cast;
      cast.op = ir::Opcode::kBitcast;
      cast.type = types_[pending.variable];
      cast.from = f_.type_of(value);
      cast.operands = {value};
      cast.at = f_.at_inst(predecessor.terminator).at;
      InstId id = ir::Insert(f_, from, f_.at_block(from).insts.size() - 1, std::move(cast));
      value = f_.at_inst(id).results[0];
    }
    std::vector<ValueId>& args = f_.inst(predecessor.terminator).edges[predecessor.edge].args;
    if (args.size() <= number) args.resize(number + 1);
    args[number] = value;
  }
}

// The instruction waits in a block of its own and joins the entry block in Finish: translation keeps
// positions in blocks, so nothing is placed before what is there already.
ValueId Ssa::UndefinedValue(Variable variable) {
  auto [it, fresh] = undefined_.emplace(variable, ValueId{});
  if (fresh) {
    if (!undefined_block_.valid()) undefined_block_ = ir::AddBlock(f_);
    ir::Inst inst;
    inst.op = ir::Opcode::kUndef;
    inst.type = types_[variable];
    it->second = f_.at_inst(ir::Append(f_, undefined_block_, std::move(inst))).results[0];
  }
  return it->second;
}

void Ssa::PlaceUndefinedValues() {
  if (!undefined_block_.valid()) return;
  const std::vector<InstId> moved = std::exchange(f_.block(undefined_block_).insts, {});
  for (InstId id : moved) {
    f_.inst(id).block = f_.entry;
    for (ValueId result : f_.at_inst(id).results) f_.values[result.index].block = f_.entry;
  }
  std::vector<InstId>& insts = f_.block(f_.entry).insts;
  insts.insert(insts.begin(), moved.begin(), moved.end());
}

void Ssa::AddEdge(InstId terminator, uint32_t edge, BlockId to) {
  BlockState& state = State(to);
  CHECK(!state.sealed, "an edge to a sealed block");
  state.predecessors.push_back({terminator, edge});
}

void Ssa::Seal(BlockId block) {
  BlockState& state = State(block);
  CHECK(!state.sealed, "sealed twice");
  state.sealed = true;
  std::vector<std::pair<Variable, ValueId>> incomplete = std::move(state.incomplete);
  for (auto [variable, parameter] : incomplete) pending_.push_back({variable, block, parameter});
  while (!pending_.empty()) {
    Pending pending = pending_.back();
    pending_.pop_back();
    FillArguments(pending);
  }
}

void Ssa::Finish() {
  PlaceUndefinedValues();
  ir::RemoveUnreachableBlocks(f_);
  RemoveTrivialParameters();
  RemoveUnused();
}

// Section 3.2 of the paper. A parameter that is replaced may make those trivial that receive it.
void Ssa::RemoveTrivialParameters() {
  std::vector<ValueId> replacement(f_.values.size());
  auto resolve = [&](ValueId value) {
    ValueId last = value;
    while (replacement[last.index].valid()) last = replacement[last.index];
    while (value != last) value = std::exchange(replacement[value.index], last);
    return last;
  };
  const std::vector<BlockId> order = ir::ReversePostOrder(f_);
  std::vector<std::vector<const ir::Edge*>> incoming(f_.blocks.size());
  std::vector<std::vector<ValueId>> receivers(f_.values.size());  // by value: parameters that receive it
  for (BlockId block : order) {
    for (const ir::Edge& edge : f_.successors(block)) {
      incoming[edge.to.index].push_back(&edge);
      if (edge.to == f_.entry) continue;
      for (size_t n = 0; n < edge.args.size(); ++n) {
        if (!f_.at_value(edge.args[n]).def.valid())
          receivers[edge.args[n].index].push_back(f_.at_block(edge.to).params[n]);
      }
    }
  }
  std::vector<ValueId> work;
  for (auto block = order.rbegin(); block != order.rend(); ++block) {
    if (*block == f_.entry) continue;
    const std::vector<ValueId>& params = f_.at_block(*block).params;
    work.insert(work.end(), params.rbegin(), params.rend());
  }
  while (!work.empty()) {
    const ValueId parameter = work.back();
    work.pop_back();
    if (replacement[parameter.index].valid()) continue;
    const ir::Value& place = f_.at_value(parameter);
    ValueId same;
    bool trivial = true;
    for (const ir::Edge* edge : incoming[place.block.index]) {
      const ValueId value = resolve(edge->args[place.number]);
      if (value == parameter || value == same) continue;
      trivial = !same.valid();
      if (!trivial) break;
      same = value;
    }
    if (!trivial || !same.valid()) continue;
    replacement[parameter.index] = same;
    const bool goes_on = !f_.at_value(same).def.valid();  // `same` may be replaced in turn
    for (ValueId receiver : std::exchange(receivers[parameter.index], {})) {
      if (replacement[receiver.index].valid()) continue;
      work.push_back(receiver);
      if (goes_on) receivers[same.index].push_back(receiver);
    }
  }
  for (ValueId& value : replacement) {
    if (value.valid()) value = resolve(value);
  }
  ir::ReplaceUses(f_, replacement);
}

namespace {

// By value: whether an effect needs it.
std::vector<bool> ValuesOfEffects(const ir::Function& f, const std::vector<BlockId>& order) {
  std::vector<bool> live(f.values.size());
  std::vector<ValueId> work;
  auto need = [&](ValueId value) {
    if (live[value.index]) return;
    live[value.index] = true;
    work.push_back(value);
  };
  std::vector<std::vector<InstId>> entering(f.blocks.size());
  for (BlockId block : order) {
    for (InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (ir::Info(inst.op).effect == ir::Effect::kPure) continue;
      for (ValueId operand : inst.operands) need(operand);
      for (const ir::Edge& edge : inst.edges) {
        auto& list = entering[edge.to.index];
        if (list.empty() || list.back() != id) list.push_back(id);
      }
    }
  }
  while (!work.empty()) {
    ir::Value value = f.at_value(work.back());
    work.pop_back();
    if (value.def.valid()) {
      for (ValueId operand : f.at_inst(value.def).operands) need(operand);
      continue;
    }
    for (InstId id : entering[value.block.index]) {
      for (const ir::Edge& edge : f.at_inst(id).edges) {
        if (edge.to == value.block) need(edge.args[value.number]);
      }
    }
  }
  return live;
}

}  // namespace

// Keeps what an effect needs; drops other pure instructions and parameters, with the arguments for them.
void Ssa::RemoveUnused() {
  const std::vector<BlockId> order = ir::ReversePostOrder(f_);
  const std::vector<bool> live = ValuesOfEffects(f_, order);
  for (BlockId block : order) {
    std::vector<InstId> kept;
    for (InstId id : f_.at_block(block).insts) {
      ir::Inst& inst = f_.inst(id);
      bool used = ir::Info(inst.op).effect != ir::Effect::kPure;
      for (ValueId result : inst.results) used |= live[result.index];
      if (used)
        kept.push_back(id);
      else
        inst.block = BlockId{};
      for (ir::Edge& edge : inst.edges) {
        if (edge.to == f_.entry) continue;
        const std::vector<ValueId>& params = f_.at_block(edge.to).params;
        std::vector<ValueId> args;
        for (size_t i = 0; i < params.size(); ++i) {
          if (live[params[i].index]) args.push_back(edge.args[i]);
        }
        edge.args = std::move(args);
      }
    }
    f_.block(block).insts = std::move(kept);
  }
  for (BlockId block : order) {
    if (block == f_.entry) continue;  // the parameters of the entry are the function's
    std::vector<ValueId> params;
    for (ValueId param : f_.at_block(block).params) {
      if (!live[param.index]) continue;
      f_.values[param.index].number = static_cast<uint32_t>(params.size());
      params.push_back(param);
    }
    f_.block(block).params = std::move(params);
  }
}

}  // namespace ptx2cpu::ptx
