// Which blocks of a function write each of its registers, from the forms of their instructions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx-parser/match/match.h"
#include "ptx-parser/translate/control_graph.h"

namespace ptx2cpu::ptx {

// By register: statement blocks, some of them several times. Also registers that only may be written: one too
// many costs a block parameter, one too few would be a wrong value. `matches`: by instruction of the
// function.
std::vector<std::vector<uint32_t>> WritersOfRegisters(const ast::Module& module,
                                                      const ast::Function& function,
                                                      std::span<const Match> matches,
                                                      const ControlGraph& graph);

}  // namespace ptx2cpu::ptx
