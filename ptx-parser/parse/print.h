// Syntax tree to PTX text. Print(Parse(x)) parses to the same tree again, and ptxas accepts it if it accepted
// x; comments, blanks, constant expressions (printed as their value) and the numbers of .unified are not
// kept.
#pragma once

#include <string>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

std::string Print(const ast::Module& module);
std::string Print(const ast::Module& module, const ast::Function& function);
// One line without indentation: "@!%p1 ld.global.f32 %f1, [%rd1+4];"
std::string Print(const ast::Module& module, const ast::Instruction& instruction);
std::string Print(const ast::Module& module, const ast::Operand& operand);
// ".shared .align 16 .b8 buffer[1024]", without semicolon
std::string Print(const ast::Module& module, const ast::Variable& variable);

}  // namespace ptx2cpu::ptx
