#include "ir/function.h"

#include <algorithm>
#include <utility>

#include "ir/signature.h"

namespace ptx2cpu::ir {

std::string_view Name(Phase phase) {
  constexpr std::string_view kNames[] = {"simt", "split", "collapsed"};
  return kNames[static_cast<size_t>(phase)];
}

std::string_view Name(Level level) {
  constexpr std::string_view kNames[] = {"lane", "warp", "block"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view Name(Resumes resumes) {
  constexpr std::string_view kNames[] = {"never", "blocks", "warps", "lanes"};
  return kNames[static_cast<size_t>(resumes)];
}

Function::Function() = default;
Function::Function(const Function& other) = default;
Function::Function(Function&& other) noexcept = default;
Function& Function::operator=(const Function& other) = default;
Function& Function::operator=(Function&& other) noexcept = default;
Function::~Function() = default;

Variable::Variable() = default;
Variable::Variable(const Variable& other) = default;
Variable::Variable(Variable&& other) noexcept = default;
Variable& Variable::operator=(const Variable& other) = default;
Variable& Variable::operator=(Variable&& other) noexcept = default;
Variable::~Variable() = default;

Module::Module() = default;
Module::Module(const Module& other) = default;
Module::Module(Module&& other) noexcept = default;
Module& Module::operator=(const Module& other) = default;
Module& Module::operator=(Module&& other) noexcept = default;
Module::~Module() = default;

std::string_view Module::Line(uint32_t ptx_line) const {
  if (ptx_line == 0) return {};
  size_t begin = 0;
  for (uint32_t line = 1; line < ptx_line; ++line) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) return {};
    begin = end + 1;
  }
  size_t end = std::min(text.find('\n', begin), text.size());
  return std::string_view(text).substr(begin, end - begin);
}

SourcePosition Module::Place(uint32_t ptx_line) const {
  if (ptx_line == 0 || parts.empty()) return {name, ptx_line, 0};
  const Part* part = &parts[0];
  for (const Part& other : parts) {
    if (other.lines_before < ptx_line) part = &other;
  }
  return {part->name, ptx_line - part->lines_before, 0};
}

const Function* Module::FindFunction(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

bool SameOperation(const Inst& a, const Inst& b) {
  return a.op == b.op && a.type == b.type && a.from == b.from && a.attrs == b.attrs;
}

std::vector<bool> IndirectTargets(const Module& module) {
  std::vector<bool> targets(module.functions.size());
  for (const Variable& variable : module.variables) {
    for (const Variable::Relocation& relocation : variable.relocations) {
      if (relocation.is_function) targets[relocation.index] = true;
    }
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (module.functions[i].is_indirect_target) targets[i] = true;
    for (const Inst& inst : module.functions[i].insts) {
      if (inst.op == Opcode::kFunctionAddress && inst.block.valid()) targets[inst.attrs.index] = true;
    }
  }
  return targets;
}

uint64_t FunctionIdentity(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

ValueId AddValue(Function& f, Type type, InstId def, BlockId block, uint32_t number) {
  f.values.push_back({type, def, block, number});
  return {static_cast<uint32_t>(f.values.size() - 1)};
}

BlockId AddBlock(Function& f, std::string label, Level level) {
  f.blocks.emplace_back();
  f.blocks.back().label = std::move(label);
  f.blocks.back().level = level;
  return {static_cast<uint32_t>(f.blocks.size() - 1)};
}

ValueId AddParam(Function& f, BlockId block, Type type) {
  ValueId value = AddValue(f, type, InstId{}, block, static_cast<uint32_t>(f.block(block).params.size()));
  f.block(block).params.push_back(value);
  return value;
}

Type LetterType(const Inst& inst, char letter) {
  switch (letter) {
    case 'T':
      return inst.type;
    case 'F':
      return inst.from;
    case 'P':
      return Type::kI1;
    case 'W':
      return Type::kI32;
    case 'A':
      return Type::kI64;
    default:
      return Type::kVoid;
  }
}

Type ResultType(const Inst& inst, uint32_t number) {
  std::string_view letters = Info(inst.op).results;
  if (letters.empty()) return Type::kVoid;
  char letter = letters[std::min<size_t>(number, letters.size() - 1)];
  if (letter == '*') letter = letters[letters.size() - 2];
  return LetterType(inst, letter);
}

namespace {
InstId Place(Function& f, BlockId block, Inst inst, uint32_t result_count) {
  std::string_view letters = Info(inst.op).results;
  bool variadic = !letters.empty() && letters.back() == '*';
  uint32_t count = variadic ? result_count : static_cast<uint32_t>(letters.size());
  InstId id{static_cast<uint32_t>(f.insts.size())};
  inst.block = block;
  if (inst.results.empty() && letters.find('X') == std::string_view::npos) {
    for (uint32_t n = 0; n < count; ++n)
      inst.results.push_back(AddValue(f, ResultType(inst, n), id, block, n));
  } else {
    for (uint32_t n = 0; n < inst.results.size(); ++n) {  // results made by the caller: adopt them
      Value& value = f.values[inst.results[n].index];
      value.def = id;
      value.block = block;
      value.number = n;
    }
  }
  f.insts.push_back(std::move(inst));
  return id;
}
}  // namespace

InstId Append(Function& f, BlockId block, Inst inst, uint32_t result_count) {
  InstId id = Place(f, block, std::move(inst), result_count);
  f.block(block).insts.push_back(id);
  return id;
}

InstId Insert(Function& f, BlockId block, size_t where, Inst inst, uint32_t result_count) {
  InstId id = Place(f, block, std::move(inst), result_count);
  auto& list = f.block(block).insts;
  list.insert(list.begin() + static_cast<ptrdiff_t>(where), id);
  return id;
}

void Remove(Function& f, InstId id) {
  Inst& inst = f.inst(id);
  if (!inst.block.valid()) return;
  auto& list = f.block(inst.block).insts;
  list.erase(std::find(list.begin(), list.end(), id));
  inst.block = BlockId{};
}

void ReplaceUses(Function& f, const std::vector<ValueId>& replacements) {
  std::vector<ValueId> map = replacements;  // chains are followed once
  auto replace = [&](ValueId& value) {
    ValueId last = value;
    while (last.index < map.size() && map[last.index].valid() && map[last.index] != last)
      last = map[last.index];
    for (ValueId passed = value; passed != last;) passed = std::exchange(map[passed.index], last);
    value = last;
  };
  for (Block& block : f.blocks) {
    if (block.removed) continue;
    for (InstId id : block.insts) {
      Inst& inst = f.inst(id);
      for (ValueId& operand : inst.operands) replace(operand);
      for (Edge& edge : inst.edges) {
        for (ValueId& arg : edge.args) replace(arg);
      }
    }
  }
}

void ReplaceUses(Function& f, ValueId from, ValueId to) {
  std::vector<ValueId> map(f.values.size());
  map[from.index] = to;
  ReplaceUses(f, map);
}

std::vector<BlockId> ReversePostOrder(const Function& f) {
  return ReversePostOrder(f, f.entry,
                          [](const Inst& terminator) { return std::span<const Edge>(terminator.edges); });
}

std::vector<BlockId> ReversePostOrder(const Function& f, BlockId entry,
                                      std::span<const Edge> (*followed)(const Inst& terminator)) {
  std::vector<BlockId> order;
  std::vector<bool> seen(f.blocks.size());
  std::vector<std::pair<BlockId, size_t>> stack;
  if (!entry.valid()) return order;
  stack.push_back({entry, 0});
  seen[entry.index] = true;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    std::span<const Edge> edges = followed(f.terminator(block));
    if (next < edges.size()) {
      BlockId to = edges[next++].to;
      if (!seen[to.index]) {
        seen[to.index] = true;
        stack.push_back({to, 0});
      }
    } else {
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<std::vector<BlockId>> Predecessors(const Function& f) {
  std::vector<std::vector<BlockId>> result(f.blocks.size());
  for (BlockId block : ReversePostOrder(f)) {
    for (const Edge& edge : f.successors(block)) {
      auto& list = result[edge.to.index];
      if (list.empty() || list.back() != block) list.push_back(block);
    }
  }
  return result;
}

bool RunsTogether(const Function& f) {
  if (f.resumes != Resumes::kLanes || f.phase != Phase::kCollapsed) return false;
  const Inst& entry = f.terminator(f.entry);
  return entry.op == Opcode::kDispatch && f.terminator(entry.edges[0].to).op == Opcode::kResume;
}

std::vector<BlockId> TogetherByPoint(const Function& f) {
  if (!RunsTogether(f)) return {};
  std::vector<BlockId> heads;
  for (const Edge& edge : f.successors(f.successors(f.entry)[0].to)) {
    const Inst& first = f.terminator(edge.to);
    const bool apart = first.op == Opcode::kForLanes && f.terminator(first.edges[0].to).op == Opcode::kResume;
    heads.push_back(apart ? BlockId{} : edge.to);
  }
  return heads;
}

void RemoveUnreachableBlocks(Function& f) {
  std::vector<bool> reached(f.blocks.size());
  for (BlockId block : ReversePostOrder(f)) reached[block.index] = true;
  for (size_t i = 0; i < f.blocks.size(); ++i) {
    if (reached[i]) continue;
    f.blocks[i].removed = true;
    for (InstId id : f.blocks[i].insts) f.inst(id).block = BlockId{};
    f.blocks[i].insts.clear();
    f.blocks[i].params.clear();
  }
}

}  // namespace ptx2cpu::ir
