#include "ptx-parser/translate/written_registers.h"

#include <algorithm>

#include "ptx-parser/translate/module_frame.h"

namespace ptx2cpu::ptx {

namespace {

class Collector {
 public:
  Collector(const ast::Module& module, const ast::Function& function, std::span<const Match> matches)
      : module_(module), function_(function), matches_(matches), writers_(function.register_count) {}

  void AddParameters() {
    for (const ast::Variable& parameter : module_.Variables(function_.parameters)) {
      if (parameter.space == ast::Space::kReg) Add(parameter.first_register, parameter.vector, 0);
    }
  }

  void AddInstruction(uint32_t instruction, uint32_t block) {
    const Match& match = matches_[instruction];
    const std::span<const ast::Operand> operands =
        module_.Operands(module_.Instructions(function_)[instruction]);
    ForEachWritten(module_, operands, match, [&](const ast::Operand& operand) { Add(operand, block); });
    if (match.form->has_rest) AddModuleRegisters(block);  // a call: what the callee shares
  }

  // Registers of the module are loaded where a function begins and after calls (module_frame.h).
  void AddModuleRegisters(uint32_t block) {
    for (const ast::RegisterRange& range : function_.register_ranges) {
      if (OffsetInModuleFrame(module_, range.variable)) Add(range.first, range.count, block);
    }
  }

  std::vector<std::vector<uint32_t>> Take() { return std::move(writers_); }

 private:
  void Add(const ast::Operand& operand, uint32_t block) {
    if (operand.symbol_kind == ast::SymbolKind::kRegister) {
      Add(operand.symbol, module_.RegisterDeclaration(function_, operand.symbol).vector, block);
    }
  }
  void Add(uint32_t first, uint32_t count, uint32_t block) {
    for (uint32_t n = first; n < first + count && n < writers_.size(); ++n) {
      if (writers_[n].empty() || writers_[n].back() != block) writers_[n].push_back(block);
    }
  }

  const ast::Module& module_;
  const ast::Function& function_;
  const std::span<const Match> matches_;
  std::vector<std::vector<uint32_t>> writers_;
};

}  // namespace

std::vector<std::vector<uint32_t>> WritersOfRegisters(const ast::Module& module,
                                                      const ast::Function& function,
                                                      std::span<const Match> matches,
                                                      const ControlGraph& graph) {
  Collector collector(module, function, matches);
  collector.AddParameters();
  if (!function.is_entry) collector.AddModuleRegisters(0);
  for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
    for (uint32_t s = graph.blocks[b].first; s < graph.blocks[b].end; ++s) {
      const ast::Statement& statement = module.Statements(function)[s];
      if (statement.kind == ast::StatementKind::kInstruction)
        collector.AddInstruction(statement.index - function.instructions.first, b);
    }
  }
  return collector.Take();
}

}  // namespace ptx2cpu::ptx
