#include "ptx-parser/translate/control_graph.h"

namespace ptx2cpu::ptx {

using ast::Instruction;
using ast::Operand;
using ast::StatementKind;
using ast::SymbolKind;

namespace {

bool IsBranch(std::string_view base) { return base == "bra" || base == "brx"; }

bool CallsNoReturn(const ast::Module& module, const Instruction& instruction) {
  for (const Operand& operand : module.Operands(instruction)) {
    if (operand.symbol_kind == SymbolKind::kFunction) return module.functions[operand.symbol].noreturn;
    if (operand.symbol_kind == SymbolKind::kPrototype) return module.prototypes[operand.symbol].noreturn;
  }
  return false;
}

class Builder {
 public:
  Builder(const ast::Module& module, const ast::Function& function)
      : module_(module), statements_(module.Statements(function)) {}

  ControlGraph Build() {
    graph_.block_of_label.assign(module_.labels.size(), ast::kNone);
    FindBlocks();
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) FindSuccessors(b);
    MarkReachable();
    return std::move(graph_);
  }

 private:
  const Instruction* InstructionAt(uint32_t s) const {
    return statements_[s].kind == StatementKind::kInstruction ? &module_.instructions[statements_[s].index]
                                                              : nullptr;
  }

  void FindBlocks() {
    graph_.blocks.emplace_back();
    bool fresh = true;       // the current block has no instruction yet
    bool after_end = false;  // the previous instruction ended its block
    for (uint32_t s = 0; s < statements_.size(); ++s) {
      if (statements_[s].kind == StatementKind::kLabel) {
        if (!fresh || after_end || graph_.blocks.size() == 1) Start(s);
        if (graph_.blocks.back().label == ast::kNone) graph_.blocks.back().label = statements_[s].index;
        graph_.block_of_label[statements_[s].index] = static_cast<uint32_t>(graph_.blocks.size() - 1);
        fresh = true;
        after_end = false;
      } else if (const Instruction* instruction = InstructionAt(s)) {
        if (after_end) Start(s);
        fresh = false;
        after_end = EndsBlock(module_, *instruction) || IsBranch(module_.OpcodeOf(*instruction).base);
      }
      graph_.blocks.back().end = s + 1;
    }
  }

  void Start(uint32_t s) {
    graph_.blocks.back().end = s;
    graph_.blocks.emplace_back();
    graph_.blocks.back().first = s;
    graph_.blocks.back().end = s;
  }

  void AddTarget(StatementBlock& block, const Operand& operand) {
    if (operand.symbol_kind != SymbolKind::kLabel) return;  // matching reports it
    uint32_t target = graph_.block_of_label[operand.symbol];
    if (target != ast::kNone) block.successors.push_back(target);
  }

  void FindSuccessors(uint32_t number) {
    StatementBlock& block = graph_.blocks[number];
    const Instruction* last = nullptr;
    for (uint32_t s = block.first; s < block.end; ++s) {
      if (const Instruction* instruction = InstructionAt(s)) last = instruction;
    }
    bool falls = true;
    if (last) {
      std::string_view base = module_.OpcodeOf(*last).base;
      std::span<const Operand> operands = module_.Operands(*last);
      if (base == "bra" && !operands.empty()) AddTarget(block, operands[0]);
      if (base == "brx" && operands.size() > 1 && operands[1].symbol_kind == SymbolKind::kTargets) {
        for (const Operand& target :
             ast::Module::Slice(module_.operands, module_.targets[operands[1].symbol].operands)) {
          AddTarget(block, target);
        }
      }
      falls = !EndsBlock(module_, *last);
    }
    if (falls && number + 1 < graph_.blocks.size()) block.successors.push_back(number + 1);
  }

  void MarkReachable() {
    std::vector<uint32_t> work{0};
    graph_.blocks[0].reachable = true;
    while (!work.empty()) {
      uint32_t number = work.back();
      work.pop_back();
      for (uint32_t to : graph_.blocks[number].successors) {
        ++graph_.blocks[to].predecessors;
        if (graph_.blocks[to].reachable) continue;
        graph_.blocks[to].reachable = true;
        work.push_back(to);
      }
    }
  }

  const ast::Module& module_;
  std::span<const ast::Statement> statements_;
  ControlGraph graph_;
};

}  // namespace

bool EndsBlock(const ast::Module& module, const Instruction& instruction) {
  if (instruction.guard != ast::Guard::kNone) return false;
  std::string_view base = module.OpcodeOf(instruction).base;
  return IsBranch(base) || base == "ret" || base == "exit" || base == "trap" ||
         (base == "call" && CallsNoReturn(module, instruction));
}

ControlGraph BuildControlGraph(const ast::Module& module, const ast::Function& function) {
  return Builder(module, function).Build();
}

}  // namespace ptx2cpu::ptx
