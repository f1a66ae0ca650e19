#include "ptx-parser/parse/constants.h"

#include <bit>
#include <charconv>
#include <optional>

#include "ptx-parser/parse/token_table.h"

namespace ptx2cpu::ptx {
namespace {

enum class Binary : uint8_t {
#define BINARY(token, precedence) k##token,
#define PREFIX(token)
#include "ptx-parser/parse/operators.def"
#undef BINARY
#undef PREFIX
};
enum class Prefix : uint8_t {
#define BINARY(token, precedence)
#define PREFIX(token) k##token,
#include "ptx-parser/parse/operators.def"
#undef BINARY
#undef PREFIX
};
struct BinaryForm {
  Binary op;
  uint8_t precedence;
};
constexpr TokenRow<BinaryForm> kBinary[] = {
#define BINARY(token, precedence) {TokenKind::k##token, {Binary::k##token, precedence}},
#define PREFIX(token)
#include "ptx-parser/parse/operators.def"
#undef BINARY
#undef PREFIX
};
constexpr TokenRow<Prefix> kPrefixes[] = {
#define BINARY(token, precedence)
#define PREFIX(token) {TokenKind::k##token, Prefix::k##token},
#include "ptx-parser/parse/operators.def"
#undef BINARY
#undef PREFIX
};

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

const char* BinaryOnDoubles(Binary op, Operand& left, const Operand& right) {
  const double a = std::bit_cast<double>(left.bits);
  const double b = std::bit_cast<double>(right.bits);
  const auto number = [&](double value) { return SetDouble(left, value), nullptr; };
  const auto truth = [&](bool value) { return SetInteger(left, value, false), nullptr; };
  switch (op) {
    case Binary::kPlus:
      return number(a + b);
    case Binary::kMinus:
      return number(a - b);
    case Binary::kStar:
      return number(a * b);
    case Binary::kSlash:
      return number(a / b);
    case Binary::kLess:
      return truth(a < b);
    case Binary::kGreater:
      return truth(a > b);
    case Binary::kLessEqual:
      return truth(a <= b);
    case Binary::kGreaterEqual:
      return truth(a >= b);
    case Binary::kEqual:
      return truth(a == b);
    case Binary::kNotEqual:
      return truth(a != b);
    case Binary::kPercent:
    case Binary::kShiftLeft:
    case Binary::kShiftRight:
    case Binary::kAnd:
    case Binary::kOr:
    case Binary::kXor:
    case Binary::kAndAnd:
    case Binary::kOrOr:
      break;
  }
  return "this operator takes integers, not floating-point constants";
}

bool Less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

uint64_t Divide(uint64_t a, uint64_t b, bool is_unsigned) {
  if (is_unsigned) return a / b;
  if (b == UINT64_MAX) return 0 - a;  // INT64_MIN / -1 wraps
  return static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b));
}

// Signed unless an operand is unsigned; `%` works on unsigned values; a shift has the type of its left
// operand and takes its distance modulo 64, which the manual leaves open and ptxas does.
const char* BinaryOnIntegers(Binary op, Operand& left, const Operand& right) {
  const uint64_t a = left.bits, b = right.bits;
  const bool is_unsigned = IsUnsigned(left) || IsUnsigned(right);
  const auto number = [&](uint64_t bits) { return SetInteger(left, bits, is_unsigned), nullptr; };
  const auto truth = [&](bool value) { return SetInteger(left, value, false), nullptr; };
  const auto shifted = [&](uint64_t bits) { return SetInteger(left, bits, IsUnsigned(left)), nullptr; };
  switch (op) {
    case Binary::kPlus:
      return number(a + b);
    case Binary::kMinus:
      return number(a - b);
    case Binary::kStar:
      return number(a * b);
    case Binary::kSlash:
      if (b == 0) return "division by zero in a constant expression";
      return number(Divide(a, b, is_unsigned));
    case Binary::kPercent:
      if (b == 0) return "remainder by zero in a constant expression";
      return SetInteger(left, a % b, true), nullptr;
    case Binary::kShiftLeft:
      return shifted(a << (b & 63));
    case Binary::kShiftRight:
      return shifted(IsUnsigned(left) ? a >> (b & 63) : static_cast<uint64_t>(left.integer >> (b & 63)));
    case Binary::kLess:
      return truth(Less(a, b, is_unsigned));
    case Binary::kGreater:
      return truth(Less(b, a, is_unsigned));
    case Binary::kLessEqual:
      return truth(!Less(b, a, is_unsigned));
    case Binary::kGreaterEqual:
      return truth(!Less(a, b, is_unsigned));
    case Binary::kEqual:
      return truth(a == b);
    case Binary::kNotEqual:
      return truth(a != b);
    case Binary::kAnd:
      return number(a & b);
    case Binary::kOr:
      return number(a | b);
    case Binary::kXor:
      return number(a ^ b);
    case Binary::kAndAnd:
      return truth(a != 0 && b != 0);
    case Binary::kOrOr:
      return truth(a != 0 || b != 0);
  }
  __builtin_unreachable();
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

uint8_t PrecedenceOf(TokenKind binary) { return ValueOf(binary, kBinary).precedence; }

const char* ApplyPrefix(TokenKind op, std::string_view spelling, Operand& value) {
  const bool is_integer = value.kind == OperandKind::kInteger;
  switch (ValueOf(op, kPrefixes)) {
    case Prefix::kPlus:
      return nullptr;
    case Prefix::kMinus:
      if (is_integer) {
        SetInteger(value, 0 - value.bits, IsUnsigned(value));
      } else {
        value.bits ^= value.kind == OperandKind::kFloat32 ? kFloat32Sign : kFloat64Sign;
        value.text = {};
      }
      return nullptr;
    case Prefix::kNot:
      if (!is_integer) break;
      SetInteger(value, value.bits == 0, false);
      return nullptr;
    case Prefix::kTilde:
      if (!is_integer) break;
      SetInteger(value, ~value.bits, true);
      return nullptr;
    case Prefix::kCast:
      if (!is_integer) break;
      SetInteger(value, value.bits, spelling.find('u') != std::string_view::npos);
      return nullptr;
  }
  return "this operator takes an integer, not a floating-point constant";
}

const char* ApplyBinary(TokenKind op, Operand& left, const Operand& right) {
  const bool left_integer = left.kind == OperandKind::kInteger;
  const bool right_integer = right.kind == OperandKind::kInteger;
  if (left_integer && right_integer) return BinaryOnIntegers(ValueOf(op, kBinary).op, left, right);
  if (left.kind == OperandKind::kFloat64 && right.kind == OperandKind::kFloat64) {
    return BinaryOnDoubles(ValueOf(op, kBinary).op, left, right);
  }
  if (left_integer || right_integer) return "integer and floating-point constants cannot be mixed";
  return "0f constants have no arithmetic: write them as doubles";
}

}  // namespace ptx2cpu::ptx
