// Literals and constant expressions (PTX ISA 4.5): 64-bit integers with a sign type, and doubles.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx-parser/antlr/token_kinds.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

inline bool IsConstant(const ast::Operand& o) {
  return o.kind == ast::OperandKind::kInteger || o.kind == ast::OperandKind::kFloat32 ||
         o.kind == ast::OperandKind::kFloat64;
}

ast::Operand MakeInteger(uint64_t bits, bool is_unsigned);

// 0x1F, 0b11, 017, 42, each with an optional U. Nothing if it does not fit 64 bits or is not a number (08).
std::optional<ast::Operand> ReadInteger(std::string_view text);
// 0f3F800000, 0d3FF0000000000000, 1.5e3. Nothing if digits are missing or the value overflows.
std::optional<ast::Operand> ReadFloat(std::string_view text);

// Precedence of a binary operator, and one that is higher than all of these.
uint8_t PrecedenceOf(TokenKind binary);
inline constexpr uint8_t kPrefixPrecedence = 12;

// Operators of the grammar's rules `prefixed` and `operators` on constants; the error text if there is no
// such operation. The result replaces `value` (`left`) and loses the spelling of the literal.
const char* ApplyPrefix(TokenKind op, std::string_view spelling, ast::Operand& value);
const char* ApplyBinary(TokenKind op, ast::Operand& left, const ast::Operand& right);

}  // namespace ptx2cpu::ptx
