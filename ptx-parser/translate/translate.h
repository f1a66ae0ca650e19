// Translation: syntax tree -> IR (phase Simt) of one kernel and all functions that it calls.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "ptx-parser/parse/ast.h"
#include "ptx-parser/translate/symbol_table.h"

namespace ptx2cpu::ptx {

struct TranslateOptions {
  // JIT option --fmad: whether `mul` and `add` without .rn are contracted to `fma` (contract.h). PTX leaves
  // it open; ptxas does it, so that with it results are those of a GPU.
  bool contract = true;
  // Products of f16, bf16 and tf32 are chains of multiply-adds, not the sums of Hopper's tensor cores: PTX
  // leaves order and rounding open.
  bool chains_matrix_sums = false;
  // What instructions write to registers is also kept in local variables with the registers' names, which a
  // debugger can show.
  bool keeps_registers = false;
};

// Names of the kernels that have a body, in source order.
std::vector<std::string> ListKernels(const SymbolTable& symbols);
std::vector<std::string> ListKernels(const ast::Module& module);

// functions[0] is the kernel, its transitive callees follow; functions without body are declarations.
// `variables` holds every module variable (indices are the same for every kernel of a module); .shared ones
// that this kernel can reach are laid out from 0 to static_shared_bytes; dynamic ones (size 0)
// begin after them, at 16 bytes or their own alignment. Errors: kNotFound (no such kernel), kSyntax
// (instructions that fit no row, all of them in `more`), kUnsupported (legal PTX without translation; names
// the instruction and its line).
Result<ir::Module> Translate(const ast::Module& module, std::string_view kernel,
                             const TranslateOptions& options = {});

// The same for a linked program. Errors also: kLink (the kernel reaches functions or variables that no module
// defines; `more` lists all of them). The numbers of lines and source files continue from module to module:
// Module::Place.
Result<ir::Module> Translate(const SymbolTable& symbols, std::string_view kernel,
                             const TranslateOptions& options = {});
// Several kernels and all that they call: they are the first functions, in this order.
Result<ir::Module> Translate(const SymbolTable& symbols, std::span<const std::string_view> kernels,
                             const TranslateOptions& options = {});

// The program's variables alone: initialisers may name functions that are declarations here.
Result<ir::Module> TranslateVariables(const SymbolTable& symbols);

// Checks every instruction of the module against the table, reachable or not; errors as above.
Status CheckInstructions(const ast::Module& module);

}  // namespace ptx2cpu::ptx
