// Translation: syntax tree -> IR (phase Simt) of one kernel with all it calls.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

struct TranslateOptions {
  // JIT option --fmad: whether `mul` and `add` without .rn may be contracted to `fma`. PTX allows it, never
  // asks for it; translation never contracts, so both settings give the same code.
  bool contract = true;
};

// Names of the module's kernels that have a body, in source order.
std::vector<std::string> ListKernels(const ast::Module& module);

// functions[0] is the kernel, its transitive callees follow; functions without body are declarations.
// `variables` holds every module variable (indices are the same for every kernel of a module); .shared ones
// that this kernel can reach are laid out from 0, static_shared_bytes says how far; dynamic ones (size 0)
// begin behind them, at 16 bytes or their own alignment. Errors: kNotFound (no such kernel), kSyntax
// (instructions that fit no row, all of them in `more`), kUnsupported (legal PTX without translation; names
// the instruction and its line).
Result<ir::Module> Translate(const ast::Module& module, std::string_view kernel,
                             const TranslateOptions& options = {});

// The same of relocatable modules (nvcc -rdc): one of them holds the kernel, the others define what it and
// they only declare. Lines and source files are numbered on from module to module; a name that two modules
// use for different internal symbols gets a suffix in the second. What no module defines stays a declaration.
Result<ir::Module> TranslateLinked(std::span<const ast::Module* const> modules, std::string_view kernel,
                                   const TranslateOptions& options = {});

// The modules' variables alone, as TranslateLinked gives them: initialisers may name functions that are
// declarations here.
Result<ir::Module> TranslateVariables(std::span<const ast::Module* const> modules);

// Checks every instruction of the module against the table, reachable or not; errors as above.
Status CheckInstructions(const ast::Module& module);

}  // namespace ptx2cpu::ptx
