#include "ptx-parser/parse/constants.h"

#include <bit>
#include <charconv>
#include <optional>

namespace ptx2cpu::ptx {
namespace {

using ast::Operand;
using ast::OperandKind;

constexpr uint32_t kFloat32Sign = 0x80000000u;
constexpr uint64_t kFloat64Sign = 0x8000000000000000u;

bool IsUnsigned(const Operand& o) { return o.Has(Operand::kUnsigned); }

void SetInteger(Operand& o, uint64_t bits, bool is_unsigned) { o = MakeInteger(bits, is_unsigned); }
void SetDouble(Operand& o, double value) {
  o = Operand{};
  o.kind = OperandKind::kFloat64;
  o.bits = std::bit_cast<uint64_t>(value);
}

std::optional<uint64_t> ReadDigits(std::string_view digits, int base) {
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || stop != end || digits.empty()) return std::nullopt;
  return value;
}

const char* BinaryOnDoubles(TokenKind op, Operand& left, const Operand& right) {
  const double a = std::bit_cast<double>(left.bits);
  const double b = std::bit_cast<double>(right.bits);
  switch (op) {
    case TokenKind::kPlus:
      SetDouble(left, a + b);
      return nullptr;
    case TokenKind::kMinus:
      SetDouble(left, a - b);
      return nullptr;
    case TokenKind::kStar:
      SetDouble(left, a * b);
      return nullptr;
    case TokenKind::kSlash:
      SetDouble(left, a / b);
      return nullptr;
    case TokenKind::kLess:
      SetInteger(left, a < b, false);
      return nullptr;
    case TokenKind::kGreater:
      SetInteger(left, a > b, false);
      return nullptr;
    case TokenKind::kLessEqual:
      SetInteger(left, a <= b, false);
      return nullptr;
    case TokenKind::kGreaterEqual:
      SetInteger(left, a >= b, false);
      return nullptr;
    case TokenKind::kEqual:
      SetInteger(left, a == b, false);
      return nullptr;
    case TokenKind::kNotEqual:
      SetInteger(left, a != b, false);
      return nullptr;
    default:
      return "this operator takes integers, not floating-point constants";
  }
}

bool Less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

uint64_t Divide(uint64_t a, uint64_t b, bool is_unsigned) {
  if (is_unsigned) return a / b;
  if (b == UINT64_MAX) return 0 - a;  // INT64_MIN / -1 wraps
  return static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b));
}

// Nothing for an operator that does not compare.
std::optional<bool> CompareIntegers(TokenKind op, uint64_t a, uint64_t b, bool is_unsigned) {
  switch (op) {
    case TokenKind::kLess:
      return Less(a, b, is_unsigned);
    case TokenKind::kGreater:
      return Less(b, a, is_unsigned);
    case TokenKind::kLessEqual:
      return !Less(b, a, is_unsigned);
    case TokenKind::kGreaterEqual:
      return !Less(a, b, is_unsigned);
    case TokenKind::kEqual:
      return a == b;
    case TokenKind::kNotEqual:
      return a != b;
    default:
      return std::nullopt;
  }
}

// Signed unless an operand is unsigned; `%` works on unsigned values; a shift has the type of its left
// operand and takes its distance modulo 64, which the manual leaves open and ptxas does.
const char* BinaryOnIntegers(TokenKind op, Operand& left, const Operand& right) {
  const uint64_t a = left.bits;
  const uint64_t b = right.bits;
  const bool is_unsigned = IsUnsigned(left) || IsUnsigned(right);
  if (const std::optional<bool> holds = CompareIntegers(op, a, b, is_unsigned)) {
    SetInteger(left, *holds, false);
    return nullptr;
  }
  switch (op) {
    case TokenKind::kPlus:
      SetInteger(left, a + b, is_unsigned);
      return nullptr;
    case TokenKind::kMinus:
      SetInteger(left, a - b, is_unsigned);
      return nullptr;
    case TokenKind::kStar:
      SetInteger(left, a * b, is_unsigned);
      return nullptr;
    case TokenKind::kSlash:
      if (b == 0) return "division by zero in a constant expression";
      SetInteger(left, Divide(a, b, is_unsigned), is_unsigned);
      return nullptr;
    case TokenKind::kPercent:
      if (b == 0) return "remainder by zero in a constant expression";
      SetInteger(left, a % b, true);
      return nullptr;
    case TokenKind::kShiftLeft:
      SetInteger(left, a << (b & 63), IsUnsigned(left));
      return nullptr;
    case TokenKind::kShiftRight:
      SetInteger(left, IsUnsigned(left) ? a >> (b & 63) : static_cast<uint64_t>(left.integer >> (b & 63)),
                 IsUnsigned(left));
      return nullptr;
    case TokenKind::kAnd:
      SetInteger(left, a & b, is_unsigned);
      return nullptr;
    case TokenKind::kOr:
      SetInteger(left, a | b, is_unsigned);
      return nullptr;
    case TokenKind::kXor:
      SetInteger(left, a ^ b, is_unsigned);
      return nullptr;
    case TokenKind::kAndAnd:
      SetInteger(left, a != 0 && b != 0, false);
      return nullptr;
    case TokenKind::kOrOr:
      SetInteger(left, a != 0 || b != 0, false);
      return nullptr;
    default:
      return "not an operator of constant expressions";
  }
}

}  // namespace

Operand MakeInteger(uint64_t bits, bool is_unsigned) {
  Operand o;
  o.kind = OperandKind::kInteger;
  o.flags = is_unsigned ? Operand::kUnsigned : 0;
  o.bits = bits;
  return o;
}

std::optional<Operand> ReadInteger(std::string_view text) {
  std::string_view digits = text;
  const bool suffix = digits.ends_with('U');
  if (suffix) digits.remove_suffix(1);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const bool prefix = digits[1] == 'x' || digits[1] == 'X' || digits[1] == 'b' || digits[1] == 'B';
    base = !prefix ? 8 : digits[1] == 'x' || digits[1] == 'X' ? 16 : 2;
    digits.remove_prefix(prefix ? 2 : 1);
  }
  const std::optional<uint64_t> value = ReadDigits(digits, base);
  if (!value) return std::nullopt;
  Operand o = MakeInteger(*value, suffix || *value > static_cast<uint64_t>(INT64_MAX));
  o.text = text;
  return o;
}

std::optional<Operand> ReadFloat(std::string_view text) {
  Operand o;
  o.text = text;
  const char tag = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (tag == 'f' || tag == 'F' || tag == 'd' || tag == 'D') {
    const bool is_single = tag == 'f' || tag == 'F';
    if (text.size() != (is_single ? 10u : 18u)) return std::nullopt;
    const std::optional<uint64_t> bits = ReadDigits(text.substr(2), 16);
    if (!bits) return std::nullopt;
    o.kind = is_single ? OperandKind::kFloat32 : OperandKind::kFloat64;
    o.bits = *bits;
    return o;
  }
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  o.kind = OperandKind::kFloat64;
  o.bits = std::bit_cast<uint64_t>(value);
  return o;
}

const char* ApplyPrefix(TokenKind op, std::string_view spelling, Operand& value) {
  const bool is_integer = value.kind == OperandKind::kInteger;
  switch (op) {
    case TokenKind::kPlus:
      return nullptr;
    case TokenKind::kMinus:
      if (is_integer) {
        SetInteger(value, 0 - value.bits, IsUnsigned(value));
      } else {
        value.bits ^= value.kind == OperandKind::kFloat32 ? kFloat32Sign : kFloat64Sign;
        value.text = {};
      }
      return nullptr;
    case TokenKind::kNot:
      if (!is_integer) break;
      SetInteger(value, value.bits == 0, false);
      return nullptr;
    case TokenKind::kTilde:
      if (!is_integer) break;
      SetInteger(value, ~value.bits, true);
      return nullptr;
    case TokenKind::kCast:
      if (!is_integer) break;
      SetInteger(value, value.bits, spelling.find('u') != std::string_view::npos);
      return nullptr;
    default:
      break;
  }
  return "this operator takes an integer, not a floating-point constant";
}

const char* ApplyBinary(TokenKind op, Operand& left, const Operand& right) {
  const bool left_integer = left.kind == OperandKind::kInteger;
  const bool right_integer = right.kind == OperandKind::kInteger;
  if (left_integer && right_integer) return BinaryOnIntegers(op, left, right);
  if (left.kind == OperandKind::kFloat64 && right.kind == OperandKind::kFloat64) {
    return BinaryOnDoubles(op, left, right);
  }
  if (left_integer || right_integer) return "integer and floating-point constants cannot be mixed";
  return "0f constants have no arithmetic: write them as doubles";
}

}  // namespace ptx2cpu::ptx
