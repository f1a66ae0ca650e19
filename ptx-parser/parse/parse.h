// Text to syntax tree.
#pragma once

#include <string>

#include "ir/result.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

// Parses a module and resolves its names. `file_name` is for messages only. NUL bytes at the end of
// `text` are ignored (embedded PTX has them).
//
// On failure the Error is the first of up to 20, the others are in Error::more; each has file, line, column
// and the line itself. Syntax errors come alone, without errors about names, which would mostly follow from
// them.
Result<ast::Module> Parse(std::string text, std::string file_name);

}  // namespace ptx2cpu::ptx
