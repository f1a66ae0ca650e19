#include "analysis/values/lane_numbers.h"

namespace ptx2cpu::analysis {

using ir::Opcode;

std::optional<int64_t> OfNumbers(Opcode op, ir::Type type, int64_t a, int64_t b) {
  const uint64_t x = Low(a, type), y = Low(b, type);
  const int64_t s = Signed(a, type), t = Signed(b, type);
  const auto bits = static_cast<uint64_t>(ir::Bits(type));
  const uint64_t amount = Low(b, ir::Type::kI32);
  if (op == Opcode::kAdd) return static_cast<int64_t>(x + y);
  if (op == Opcode::kSub) return static_cast<int64_t>(x - y);
  if (op == Opcode::kMul) return static_cast<int64_t>(x * y);
  if (op == Opcode::kAnd) return static_cast<int64_t>(x & y);
  if (op == Opcode::kOr) return static_cast<int64_t>(x | y);
  if (op == Opcode::kXor) return static_cast<int64_t>(x ^ y);
  if (op == Opcode::kShl) return amount >= bits ? 0 : static_cast<int64_t>(x << amount);
  if (op == Opcode::kShrU) return amount >= bits ? 0 : static_cast<int64_t>(x >> amount);
  if (op == Opcode::kShrS) return s >> std::min(amount, bits - 1);
  if (op == Opcode::kMinS) return std::min(s, t);
  if (op == Opcode::kMaxS) return std::max(s, t);
  if (op == Opcode::kMinU) return static_cast<int64_t>(std::min(x, y));
  if (op == Opcode::kMaxU) return static_cast<int64_t>(std::max(x, y));
  if (op == Opcode::kDivU && y != 0) return static_cast<int64_t>(x / y);
  if (op == Opcode::kRemU && y != 0) return static_cast<int64_t>(x % y);
  if (op == Opcode::kDivS && t != 0 && t != -1) return s / t;
  if (op == Opcode::kRemS && t != 0 && t != -1) return s % t;
  return std::nullopt;
}

bool Holds(ir::Compare compare, ir::Type type, int64_t a, int64_t b) {
  const ir::CompareInfo& info = ir::Info(compare);
  const uint64_t x = Low(a, type), y = Low(b, type);
  const bool less = info.of == ir::CompareInfo::kUnsigned ? x < y : Signed(a, type) < Signed(b, type);
  const uint8_t outcome = x == y ? ir::CompareInfo::kEqual
                          : less ? ir::CompareInfo::kLess
                                 : ir::CompareInfo::kGreater;
  return (info.holds & outcome) != 0;
}

}  // namespace ptx2cpu::analysis
