// Logic, shifts, counting and searching bits, bit fields, permutation of bytes.
#include <algorithm>
#include <bit>
#include <utility>

#include "ir/interpret/integer.h"

namespace ptx2cpu::ir::interpret {

namespace {

Bits128 HighestBit(Bits128 value, int width, bool shift_amount) {
  if (value == 0) return 0xFFFFFFFF;
  int position = BitLength(value) - 1;
  return static_cast<Bits128>(shift_amount ? width - 1 - position : position);
}

Bits128 ExtractField(Bits128 value, uint32_t position, uint32_t length, int width, bool fill) {
  Bits128 field = 0;
  for (uint32_t i = 0; i < static_cast<uint32_t>(width); ++i) {
    bool inside = i < length && position + i < static_cast<uint32_t>(width);
    bool bit = inside ? ((value >> (position + i)) & 1) != 0 : fill;
    field |= Bits128{bit} << i;
  }
  return field;
}

}  // namespace

Status ExecuteAnd(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return a & b; });
}
Status ExecuteOr(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return a | b; });
}
Status ExecuteXor(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 b, int) { return a ^ b; });
}
Status ExecuteNot(Step& s) {
  s.Return(~s.Operand(0));
  return {};
}

Status ExecuteShl(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 n, int width) {
    return n >= static_cast<Bits128>(width) ? 0 : a << static_cast<int>(n);
  });
}
Status ExecuteShrU(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 n, int width) {
    return n >= static_cast<Bits128>(width) ? 0 : a >> static_cast<int>(n);
  });
}
Status ExecuteShrS(Step& s) {
  return Binary(s, [](Bits128 a, Bits128 n, int width) {
    int amount = static_cast<int>(std::min(n, static_cast<Bits128>(width - 1)));
    return static_cast<Bits128>(AsSigned(a, width) >> amount);
  });
}

namespace {
int FunnelAmount(const Step& s) {
  uint32_t width = static_cast<uint32_t>(s.Width()), amount = s.Operand32(2);
  return static_cast<int>(s.Has(kWrap) ? amount % width : std::min(amount, width));
}
}  // namespace

Status ExecuteFunnelL(Step& s) {
  Bits128 low = s.Operand(0), high = s.Operand(1);
  int width = s.Width(), n = FunnelAmount(s);
  s.Return(n == 0 ? high : n == width ? low : high << n | low >> (width - n));
  return {};
}

Status ExecuteFunnelR(Step& s) {
  Bits128 low = s.Operand(0), high = s.Operand(1);
  int width = s.Width(), n = FunnelAmount(s);
  s.Return(n == 0 ? low : n == width ? high : high << (width - n) | low >> n);
  return {};
}

Status ExecuteClz(Step& s) {
  s.Return(static_cast<Bits128>(s.Width() - BitLength(s.Operand(0))));
  return {};
}

Status ExecutePopc(Step& s) {
  Bits128 value = s.Operand(0);
  s.Return(static_cast<Bits128>(std::popcount(static_cast<uint64_t>(value)) +
                                std::popcount(static_cast<uint64_t>(value >> 64))));
  return {};
}

Status ExecuteBrev(Step& s) {
  Bits128 value = s.Operand(0), reversed = 0;
  for (int i = 0; i < s.Width(); ++i) reversed = reversed << 1 | ((value >> i) & 1);
  s.Return(reversed);
  return {};
}

Status ExecuteBfindU(Step& s) {
  s.Return(HighestBit(s.Operand(0), s.Width(), s.Has(kShiftAmount)));
  return {};
}

Status ExecuteBfindS(Step& s) {
  Bits128 value = s.Operand(0);
  if (SignBit(value, s.Width())) value = ~value & MaskOf(s.Width());
  s.Return(HighestBit(value, s.Width(), s.Has(kShiftAmount)));
  return {};
}

namespace {
// Position or length of a bit field. The manual takes both mod 256; a GPU (H200) does so for 32 bits only.
uint32_t FieldOperand(const Step& s, size_t number) {
  return s.Width() == 64 ? std::min(s.Operand32(number), 256u) : s.Operand32(number) & 0xFF;
}
}  // namespace

Status ExecuteBfeU(Step& s) {
  s.Return(ExtractField(s.Operand(0), FieldOperand(s, 1), FieldOperand(s, 2), s.Width(), false));
  return {};
}

Status ExecuteBfeS(Step& s) {
  uint32_t position = FieldOperand(s, 1), length = FieldOperand(s, 2);
  uint32_t sign_at = std::min(position + length - 1, static_cast<uint32_t>(s.Width() - 1));
  bool sign = length != 0 && ((s.Operand(0) >> sign_at) & 1) != 0;
  s.Return(ExtractField(s.Operand(0), position, length, s.Width(), sign));
  return {};
}

Status ExecuteBfi(Step& s) {
  Bits128 field = s.Operand(0), into = s.Operand(1);
  uint32_t position = FieldOperand(s, 2), length = FieldOperand(s, 3);
  for (uint32_t i = 0; i < length && position + i < static_cast<uint32_t>(s.Width()); ++i) {
    Bits128 bit = Bits128{1} << (position + i);
    into = ((field >> i) & 1) != 0 ? into | bit : into & ~bit;
  }
  s.Return(into);
  return {};
}

Status ExecuteBmsk(Step& s) {
  uint64_t position = s.Operand32(0), length = s.Operand32(1);
  if (s.Has(kWrap)) {
    position %= 32;
    length %= 32;
  }
  uint64_t ones = length >= 32 ? 0xFFFFFFFF : (uint64_t{1} << length) - 1;
  s.Return(position >= 32 ? 0 : ones << position);
  return {};
}

Status ExecuteFns(Step& s) {
  uint32_t mask = s.Operand32(0), base = s.Operand32(1);
  int32_t offset = static_cast<int32_t>(s.Operand32(2));
  int64_t remaining = offset == 0 ? 0 : std::abs(int64_t{offset}) - 1, step = offset < 0 ? -1 : 1;
  uint32_t found = 0xFFFFFFFF;
  if (offset == INT32_MIN) found = 0;  // its negation overflows; an H200 returns 0 for every mask
  for (int64_t position = base; position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1) != 0 && remaining-- == 0) {
      found = static_cast<uint32_t>(position);
      break;
    }
    if (offset == 0) break;
  }
  s.Return(found);
  return {};
}

namespace {
// Which of the eight bytes byte `i` of the result is; bit 3 (general mode) repeats that byte's sign.
uint32_t PermuteSelector(PermuteMode mode, uint32_t control, uint32_t i) {
  const uint32_t c = control & 3;
  switch (mode) {
    case PermuteMode::kGeneral:
      return control >> (4 * i) & 15;
    case PermuteMode::kF4e:
      return c + i;
    case PermuteMode::kB4e:
      return (c - i) & 7;
    case PermuteMode::kRc8:
      return c;
    case PermuteMode::kEcl:
      return std::max(i, c);
    case PermuteMode::kEcr:
      return std::min(i, c);
    case PermuteMode::kRc16:
      return (c & 1) * 2 + (i & 1);
  }
  std::unreachable();
}
}  // namespace

Status ExecutePrmt(Step& s) {
  uint64_t bytes = s.Operand64(0) | s.Operand64(1) << 32;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t select = PermuteSelector(s.inst.attrs.permute, s.Operand32(2), i);
    uint32_t byte = bytes >> (8 * (select & 7)) & 0xFF;
    if (select >= 8) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  s.Return(result);
  return {};
}

Status ExecuteLop3(Step& s) {
  Bits128 a = s.Operand(0), b = s.Operand(1), c = s.Operand(2), result = 0;
  for (uint32_t row = 0; row < 8; ++row) {  // the truth table's index is a, b, c as a binary number
    if ((s.inst.attrs.index >> row & 1) == 0) continue;
    result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  s.Return(result);
  return {};
}

}  // namespace ptx2cpu::ir::interpret
