// Resolves every name of a freshly built module: sets symbol_kind and symbol of its operands, the registers
// of guards and the targets of aliases, and reports undefined and doubly defined names.
//
// Scopes: the module; a function with its parameters; every { } within. Labels, targets and prototypes are
// known in all of their scope, variables from their declaration on; functions and module variables
// everywhere.
#pragma once

#include <vector>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

// At most `max_errors` errors; each undefined name is reported once per function.
std::vector<Error> ResolveNames(ast::Module& module, size_t max_errors);

}  // namespace ptx2cpu::ptx
