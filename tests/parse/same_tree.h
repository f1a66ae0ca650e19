// Compares two modules node by node: everything but positions and the spelling of literals.
#pragma once

#include <string>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx::tests {

// Empty if they are the same, else what differs first.
std::string Difference(const ast::Module& a, const ast::Module& b);

}  // namespace ptx2cpu::ptx::tests
