// Integer arithmetic, conversions, comparison, dot products; bits.cpp has the bit operations.
#include "ir/interpret/integer.h"

#include <algorithm>

namespace ptx2cpu::ir::interpret {

namespace {

template <typename Operation>
Status SignedBinary(Step& s, Operation operation) {
  int width = s.Width();
  s.Return(static_cast<Bits128>(operation(AsSigned(s.Operand(0), width), AsSigned(s.Operand(1), width))));
  return {};
}

Bits128 SmallestSigned(int width) { return Bits128{1} << (width - 1); }
Bits128 LargestSigned(int width) { return SmallestSigned(width) - 1; }
Bits128 Magnitude(Bits128 value, int width) {
  return (SignBit(value, width) ? 0 - value : value) & MaskOf(width);
}

// For .sat: `result` overflowed when the operands' signs agree (for a difference: a and ~b) and the result's
// differs.
Bits128 Saturate(Bits128 result, bool sign_a, bool sign_b, int width) {
  if (sign_a != sign_b || SignBit(result, width) == sign_a) return result;
  return sign_a ? SmallestSigned(width) : LargestSigned(width);
}

Bits128 HighProduct128(Bits128 a, Bits128 b) {
  Bits128 a0 = static_cast<uint64_t>(a), a1 = a >> 64, b0 = static_cast<uint64_t>(b), b1 = b >> 64;
  Bits128 middle = a1 * b0 + (a0 * b0 >> 64);
  Bits128 other = a0 * b1 + static_cast<uint64_t>(middle);
  return a1 * b1 + (middle >> 64) + (other >> 64);
}

Bits128 HighProduct(Bits128 a, Bits128 b, int width) {
  return width == 128 ? HighProduct128(a, b) : (a * b) >> width;
}

}  // namespace

Status ExecuteAdd(Step& s) {
  return Binary(s, [&](Bits128 a, Bits128 b, int width) {
    Bits128 sum = (a + b) & MaskOf(width);
    return s.Has(kSat) ? Saturate(sum, SignBit(a, width), SignBit(b, width), width) : sum;
  });
}

Status ExecuteSub(Step& s) {
  return Binary(s, [&](Bits128 a, Bits128 b, int width) {
    Bits128 difference = (a - b) & MaskOf(width);
    return s.Has(kSat) ? Saturate(difference, SignBit(a, width), !SignBit(b, width), width) : difference;
  });
}

Status ExecuteMul(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return a * b; });
}

Status ExecuteMulHiU(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int width) { return HighProduct(a, b, width); });
}

Status ExecuteMulHiS(Step& s) {  // a negative operand is its unsigned value minus 2^width
  return Binary(s, [](Bits128 a, Bits128 b, int width) {
    return HighProduct(a, b, width) - (SignBit(a, width) ? b : 0) - (SignBit(b, width) ? a : 0);
  });
}

Status ExecuteDivU(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return b == 0 ? ~Bits128{0} : a / b; });
}

Status ExecuteRemU(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return b == 0 ? ~Bits128{0} : a % b; });
}

Status ExecuteDivS(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int width) {
    if (b == 0) return ~Bits128{0};
    Bits128 quotient = Magnitude(a, width) / Magnitude(b, width);
    return SignBit(a, width) != SignBit(b, width) ? 0 - quotient : quotient;
  });
}

Status ExecuteRemS(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int width) {
    if (b == 0) return ~Bits128{0};
    Bits128 rest = Magnitude(a, width) % Magnitude(b, width);
    return SignBit(a, width) ? 0 - rest : rest;
  });
}

Status ExecuteMinS(Step& s) {
  return SignedBinary(s, [](Signed128 a, Signed128 b) { return std::min(a, b); });
}
Status ExecuteMaxS(Step& s) {
  return SignedBinary(s, [](Signed128 a, Signed128 b) { return std::max(a, b); });
}
Status ExecuteMinU(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return std::min(a, b); });
}
Status ExecuteMaxU(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return std::max(a, b); });
}

Status ExecuteAbs(Step& s) {
  s.Return(Magnitude(s.Operand(0), s.Width()));
  return {};
}

Status ExecuteNeg(Step& s) {
  s.Return(0 - s.Operand(0));
  return {};
}

Status ExecuteAddCarry(Step& s) {
  Bits128 a = s.Operand(0), b = s.Operand(1), mask = MaskOf(s.Width());
  Bits128 sum = (a + b) & mask;
  Bits128 with_carry = (sum + s.Operand(2)) & mask;
  s.Return(with_carry, 0);
  s.Return(sum < a || with_carry < sum, 1);
  return {};
}

Status ExecuteSubBorrow(Step& s) {
  Bits128 a = s.Operand(0), b = s.Operand(1), borrow = s.Operand(2), mask = MaskOf(s.Width());
  Bits128 difference = (a - b) & mask;
  s.Return(difference - borrow, 0);
  s.Return(a < b || difference < borrow, 1);
  return {};
}

Status ExecuteSext(Step& s) {
  s.Return(static_cast<Bits128>(AsSigned(s.Operand(0), Bits(s.inst.from))));
  return {};
}
Status ExecuteZext(Step& s) {
  s.Return(s.Operand(0));
  return {};
}
Status ExecuteTrunc(Step& s) {
  s.Return(s.Operand(0));
  return {};
}

namespace {
Status Clamp(Step& s, bool from_signed) {
  int from = Bits(s.inst.from), to = s.Width();
  Bits128 value = s.Operand(0);
  bool to_unsigned = s.Has(kUnsigned);
  Bits128 largest = to_unsigned ? MaskOf(to) : LargestSigned(to);
  if (from_signed && SignBit(value, from)) {
    Signed128 smallest = to_unsigned ? 0 : AsSigned(SmallestSigned(to), to);
    s.Return(static_cast<Bits128>(std::max(AsSigned(value, from), smallest)));
  } else {
    s.Return(std::min(value, largest));
  }
  return {};
}
}  // namespace

Status ExecuteSatS(Step& s) { return Clamp(s, true); }
Status ExecuteSatU(Step& s) { return Clamp(s, false); }

Status ExecuteIcmp(Step& s) {
  const CompareInfo& info = Info(s.inst.attrs.compare);
  if (info.of == CompareInfo::kNothing || info.of == CompareInfo::kFloats)
    return s.Fault("icmp has no integer predicate");
  const Bits128 a = s.Operand(0), b = s.Operand(1);
  const int width = Bits(s.inst.from);
  const bool less = info.of == CompareInfo::kSigned ? AsSigned(a, width) < AsSigned(b, width) : a < b;
  const int outcome = a == b ? CompareInfo::kEqual : less ? CompareInfo::kLess : CompareInfo::kGreater;
  s.Return((info.holds & outcome) != 0);
  return {};
}

namespace {
int64_t Part(uint32_t word, uint32_t number, int bits, bool is_signed) {
  uint64_t part = word >> (number * static_cast<uint32_t>(bits)) & ((1u << bits) - 1);
  return is_signed ? static_cast<int64_t>(AsSigned(part, bits)) : static_cast<int64_t>(part);
}
}  // namespace

Status ExecuteDp4a(Step& s) {
  int64_t sum = s.Operand32(2);
  for (uint32_t i = 0; i < 4; ++i) {
    sum += Part(s.Operand32(0), i, 8, s.Has(kSignedA)) * Part(s.Operand32(1), i, 8, s.Has(kSignedB));
  }
  s.Return(static_cast<Bits128>(sum));
  return {};
}

Status ExecuteDp2a(Step& s) {
  int64_t sum = s.Operand32(2);
  uint32_t first = s.Has(kHigh) ? 2 : 0;
  for (uint32_t i = 0; i < 2; ++i) {
    sum += Part(s.Operand32(0), i, 16, s.Has(kSignedA)) * Part(s.Operand32(1), first + i, 8, s.Has(kSignedB));
  }
  s.Return(static_cast<Bits128>(sum));
  return {};
}

}  // namespace ptx2cpu::ir::interpret
