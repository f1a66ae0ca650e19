// Finds the blocks of a function that write each of its registers, from the forms of their instructions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx-parser/match/match.h"
#include "ptx-parser/translate/control_graph.h"

namespace ptx2cpu::ptx {

// Calls act(operand) for each operand without children that the instruction may write; of a call, for all.
template <typename Act>
void ForEachWritten(const ast::Module& module, std::span<const ast::Operand> operands, const Match& match,
                    const Act& act) {
  const auto descend = [&](const auto& self, const ast::Operand& operand) -> void {
    if (!operand.HasChildren()) return act(operand);
    for (const ast::Operand& child : module.Children(operand)) self(self, child);
  };
  if (match.form->has_rest) {  // results are among them
    for (const ast::Operand& operand : operands) descend(descend, operand);
    return;
  }
  for (size_t o = 0; o < match.form->operands.size() && o < match.slots.size(); ++o) {
    if (match.form->operands[o].written && match.slots[o] != Match::kAbsent)
      descend(descend, operands[match.slots[o]]);
  }
}

// By register: statement blocks, some of them several times. Also registers that only may be written: one too
// many costs a block parameter, one too few would be a wrong value. `matches`: by instruction of the
// function.
std::vector<std::vector<uint32_t>> WritersOfRegisters(const ast::Module& module,
                                                      const ast::Function& function,
                                                      std::span<const Match> matches,
                                                      const ControlGraph& graph);

}  // namespace ptx2cpu::ptx
