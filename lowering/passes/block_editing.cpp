#include "lowering/passes/block_editing.h"

#include <unordered_map>

#include "ir/build.h"

namespace ptx2cpu::lowering {

ir::BlockId SplitBlock(ir::Function& f, ir::BlockId block, size_t where, const std::string& label) {
  ir::BlockId tail = ir::AddBlock(f, label);
  auto& insts = f.block(block).insts;
  std::vector<ir::InstId> moved(insts.begin() + static_cast<ptrdiff_t>(where), insts.end());
  insts.resize(where);
  for (ir::InstId id : moved) {
    f.inst(id).block = tail;
    for (ir::ValueId result : f.inst(id).results) f.values[result.index].block = tail;
  }
  ir::Position at = f.at_inst(moved.front()).at;
  f.block(tail).insts = std::move(moved);
  ir::Builder{f, block, at}.Br(tail);
  return tail;
}

ir::BlockId InsertBlockBefore(ir::Function& f, ir::BlockId block,
                              const std::vector<analysis::BlockEdge>& incoming, ir::Level level,
                              const std::string& label, ir::Position at,
                              const std::function<bool(ir::BlockId)>& stays) {
  bool shares = false;
  ir::BlockId front = ir::AddBlock(f, label, level);
  for (const auto& [from, e] : incoming) {
    if (stays && stays(from)) {
      shares = true;
    } else {
      f.inst(f.at_block(from).insts.back()).edges[e].to = front;
    }
  }
  if (f.entry == block) f.entry = front;
  std::vector<ir::ValueId> args;
  if (shares) {
    std::vector<ir::ValueId> params = f.at_block(block).params;
    for (ir::ValueId param : params) args.push_back(ir::AddParam(f, front, f.type_of(param)));
  } else {
    f.block(front).params = std::move(f.block(block).params);
    f.block(block).params.clear();
    for (ir::ValueId param : f.block(front).params) f.values[param.index].block = front;
  }
  ir::Builder{f, front, at}.Br(block, args);
  return front;
}

ir::BlockId SplitEdge(ir::Function& f, ir::BlockId from, uint32_t edge, ir::Level level,
                      const std::string& label) {
  ir::BlockId middle = ir::AddBlock(f, label, level);
  ir::Inst& terminator = f.inst(f.at_block(from).insts.back());
  ir::Edge old = std::move(terminator.edges[edge]);
  terminator.edges[edge] = {middle, {}};
  ir::Builder{f, middle, terminator.at}.Br(old.to, std::move(old.args));
  return middle;
}

void Isolate(ir::Function& f, const std::function<bool(const ir::Inst&)>& alone) {
  const size_t blocks = f.blocks.size();
  for (uint32_t b = 0; b < blocks; ++b) {
    const ir::BlockId block{b};
    if (f.blocks[b].removed) continue;
    const size_t size = f.blocks[b].insts.size();
    std::vector<size_t> cuts;
    for (size_t i = 0; i < size; ++i) {
      if (!alone(f.at_inst(f.blocks[b].insts[i]))) continue;
      // The entry block keeps its place: a lane-level block is before the first boundary.
      const bool starts = i == 0 && block != f.entry && f.blocks[b].params.empty();
      if (!starts && (cuts.empty() || cuts.back() != i)) cuts.push_back(i);
      if (i + 2 < size || f.successors(block).size() != 1) cuts.push_back(i + 1);
    }
    // From the end: nothing is moved twice.
    for (size_t n = cuts.size(); n-- > 0;) SplitBlock(f, block, cuts[n], "");
  }
}

namespace {

// A constant and the barrier that has it as its operand.
size_t InsertBarrier(ir::Function& f, ir::BlockId block, size_t where, ir::Position at, ir::Opcode op,
                     uint32_t operand, ir::Flag flag) {
  ir::Inst constant;
  constant.op = ir::Opcode::kConst;
  constant.type = ir::Type::kI32;
  constant.attrs.bits = operand;
  constant.at = at;
  const ir::InstId value = ir::Insert(f, block, where, std::move(constant));
  ir::Inst barrier;
  barrier.op = op;
  barrier.attrs.flags = flag;
  barrier.operands = {f.at_inst(value).results[0]};
  barrier.at = at;
  ir::Insert(f, block, where + 1, std::move(barrier), 0);
  return 2;
}

}  // namespace

void InsertBlockBarrier(ir::Function& f, ir::BlockId block, size_t where, ir::Position at) {
  InsertBarrier(f, block, where, at, ir::Opcode::kBarrierBlock, 0, ir::kAligned);
}

size_t InsertConvergence(ir::Function& f, ir::BlockId block, size_t where, ir::Position at) {
  return InsertBarrier(f, block, where, at, ir::Opcode::kBarrierWarp, 0xffffffff, ir::kLegacy);
}

Copies CloneBlocks(ir::Function& f, const std::vector<ir::BlockId>& blocks) {
  std::unordered_map<uint32_t, ir::BlockId> block_map;
  std::unordered_map<uint32_t, ir::ValueId> value_map;
  Copies copies;
  for (ir::BlockId block : blocks) {
    ir::BlockId clone = ir::AddBlock(f, f.at_block(block).label, f.at_block(block).level);
    block_map[block.index] = clone;
    copies.blocks.push_back(clone);
    std::vector<ir::ValueId> params = f.at_block(block).params;
    for (ir::ValueId param : params) value_map[param.index] = ir::AddParam(f, clone, f.type_of(param));
    std::vector<ir::InstId> insts = f.at_block(block).insts;
    for (ir::InstId id : insts) {
      ir::Inst inst = f.at_inst(id);
      std::vector<ir::ValueId> old = inst.results;
      for (ir::ValueId& result : inst.results) {
        result = ir::AddValue(f, f.type_of(result), {}, clone, 0);
        value_map[old[static_cast<size_t>(&result - inst.results.data())].index] = result;
      }
      ir::Append(f, clone, std::move(inst), static_cast<uint32_t>(old.size()));
    }
  }
  auto map = [&](ir::ValueId& value) {
    if (auto it = value_map.find(value.index); it != value_map.end()) value = it->second;
  };
  for (ir::BlockId clone : copies.blocks) {
    for (ir::InstId id : f.at_block(clone).insts) {
      ir::Inst& inst = f.inst(id);
      for (ir::ValueId& operand : inst.operands) map(operand);
      for (ir::Edge& edge : inst.edges) {
        for (ir::ValueId& arg : edge.args) map(arg);
        if (auto it = block_map.find(edge.to.index); it != block_map.end()) edge.to = it->second;
      }
    }
  }
  for (auto [original, copy] : value_map) copies.values.push_back({{original}, copy});
  return copies;
}

std::vector<ir::BlockId> CopyFunction(ir::Function& f, const ir::Function& callee) {
  std::vector<ir::ValueId> values(callee.values.size());
  std::vector<ir::BlockId> blocks(callee.blocks.size()), made;
  const std::vector<ir::BlockId> order = ir::ReversePostOrder(callee);
  for (ir::BlockId old : order) {
    blocks[old.index] = ir::AddBlock(f, callee.at_block(old).label);
    made.push_back(blocks[old.index]);
    for (ir::ValueId param : callee.at_block(old).params) {
      values[param.index] = ir::AddParam(f, blocks[old.index], callee.type_of(param));
    }
    for (ir::InstId id : callee.at_block(old).insts) {
      for (ir::ValueId result : callee.at_inst(id).results) {
        values[result.index] = ir::AddValue(f, callee.type_of(result), {}, blocks[old.index], 0);
      }
    }
  }
  for (ir::BlockId old : order) {
    for (ir::InstId id : callee.at_block(old).insts) {
      ir::Inst inst = callee.at_inst(id);
      for (ir::ValueId& operand : inst.operands) operand = values[operand.index];
      for (ir::ValueId& result : inst.results) result = values[result.index];
      for (ir::Edge& edge : inst.edges) {
        edge.to = blocks[edge.to.index];
        for (ir::ValueId& arg : edge.args) arg = values[arg.index];
      }
      ir::Append(f, blocks[old.index], std::move(inst));
    }
  }
  return made;
}

void MakeDeclaration(ir::Function& f) {
  f.is_declaration = true;
  f.values.clear();
  f.insts.clear();
  f.blocks.clear();
  f.entry = {};
  f.locals.clear();
  f.local_bytes = 0;
}

void ExitLanes(ir::Function& f, ir::BlockId block) {
  ir::Remove(f, f.at_block(block).insts.back());
  const ir::BlockId gone = ir::AddBlock(f), end = ir::AddBlock(f, "", ir::Level::kWarp);
  ir::Builder{f, gone}.Terminate(ir::Opcode::kExitLane);
  ir::Builder{f, end}.Terminate(ir::Opcode::kEndWarp);
  ir::Builder{f, block}.Terminate(ir::Opcode::kForLanes, {}, {{gone, {}}, {end, {}}});
}

}  // namespace ptx2cpu::lowering
