// Conversions: expected values by hand from PTX ISA 9.7.9.21 and the formats of 5.2.3.
#include <cmath>

#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

uint64_t Convert(Opcode op, Type to, Type from, uint64_t bits, Attrs attrs = {}) {
  return EvaluateFrom(op, to, from, {{from, bits}}, attrs);
}
uint64_t Narrow(NarrowFormat format, Type to, std::vector<float> values, Attrs attrs = {}) {
  std::vector<Typed> operands;
  for (float value : values) operands.push_back({kF32Type, F32(value)});
  attrs.narrow = format;
  return EvaluateFrom(Opcode::kToNarrow, to, kF32Type, operands, attrs);
}

}  // namespace

TEST_CASE("interpret convert: between float formats") {
  CHECK(Convert(Opcode::kFConvert, kF64Type, kF32Type, F32(1.5f)) == F64(1.5));
  CHECK(Convert(Opcode::kFConvert, kF64Type, kF32Type, 1) == F64(0x1p-149));
  CHECK(Convert(Opcode::kFConvert, kF64Type, kF32Type, 1, {.flags = kFtz}) == 0);
  CHECK(Convert(Opcode::kFConvert, kF32Type, kF64Type, F64(0x1p-140), {.flags = kFtz, .rounding = kRn}) == 0);
  CHECK(Convert(Opcode::kFConvert, kF16, kF32Type, F32(1 + 0x1p-11f), {.rounding = kRn}) == 0x3C00);
  CHECK(Convert(Opcode::kFConvert, kF16, kF32Type, F32(1 + 0x1p-11f), {.rounding = kRp}) == 0x3C01);
  CHECK(Convert(Opcode::kFConvert, kF16, kF32Type, F32(1e6f), {.rounding = kRn}) == 0x7C00);
  CHECK(Convert(Opcode::kFConvert, kF16, kF32Type, F32(1e6f), {.flags = kSatFinite, .rounding = kRn}) ==
        0x7BFF);
  CHECK(Convert(Opcode::kFConvert, kBF16, kF32Type, kInf | 0x80000000,
                {.flags = kSatFinite, .rounding = kRn}) == 0xFF7F);
  CHECK(Convert(Opcode::kFConvert, kBF16, kF32Type, kNan32, {.flags = kSatFinite, .rounding = kRn}) ==
        0x7FFF);
  CHECK(Convert(Opcode::kFConvert, kBF16, kF32Type, F32(-1), {.flags = kRelu, .rounding = kRn}) == 0);
  CHECK(Convert(Opcode::kFConvert, kBF16, kF32Type, 0x3F808000, {.rounding = kRn}) == 0x3F80);
  CHECK(Convert(Opcode::kFConvert, kBF16, kF32Type, 0x3F818000, {.rounding = kRn}) == 0x3F82);
  CHECK(Convert(Opcode::kFConvert, kBF16, kF32Type, 0x3F81FFFF, {.rounding = kRz}) == 0x3F81);
  CHECK(Convert(Opcode::kFConvert, kF32Type, kF16, 0x0001, {.flags = kFtz}) ==
        F32(0x1p-24f));  // ftz is for f32 only
  CHECK(Convert(Opcode::kFConvert, kF32Type, kF32Type, F32(-0.5f), {.flags = kSat}) == 0);
  CHECK(Convert(Opcode::kFConvert, kF32Type, kF32Type, kNan32, {.flags = kSat}) == 0);
  CHECK(Convert(Opcode::kFConvert, kF16, kF64Type, F64(1 + 0x1p-11 + 0x1p-52), {.rounding = kRn}) ==
        0x3C01);  // once, not via f32
}

TEST_CASE("interpret convert: rounding to integral floats") {
  auto round = [](double value, Rounding mode) {
    return std::bit_cast<double>(
        Evaluate(Opcode::kFRound, kF64Type, {{kF64Type, F64(value)}}, {.rounding = mode}));
  };
  CHECK(round(2.5, kRn) == 2);
  CHECK(round(3.5, kRn) == 4);
  CHECK(round(-2.5, kRz) == -2);
  CHECK(round(-2.1, kRm) == -3);
  CHECK(round(2.1, kRp) == 3);
  CHECK(F64(round(-0.3, kRn)) == F64(-0.0));
  CHECK(F64(round(-0.0, kRp)) == F64(-0.0));
  CHECK(round(0x1.8p60, kRn) == 0x1.8p60);
  CHECK(round(-INFINITY, kRn) == -INFINITY);
  CHECK(Evaluate(Opcode::kFRound, kF32Type, {{kF32Type, 1}}, {.flags = kFtz, .rounding = kRp}) == 0);
  CHECK(Evaluate(Opcode::kFRound, kF32Type, {{kF32Type, 1}}, {.rounding = kRp}) == F32(1));
}

TEST_CASE("interpret convert: float to integer clamps, and NaN goes by the manual") {
  auto to = [](Opcode op, Type type, float value, Rounding mode) {
    return Convert(op, type, kF32Type, F32(value), {.rounding = mode});
  };
  CHECK(to(Opcode::kFToS, kI32, -2.5f, kRn) == 0xFFFFFFFE);
  CHECK(to(Opcode::kFToS, kI32, -2.5f, kRm) == 0xFFFFFFFD);
  CHECK(to(Opcode::kFToS, kI32, 2.5f, kRp) == 3);
  CHECK(to(Opcode::kFToS, kI32, 3e9f, kRz) == 0x7FFFFFFF);
  CHECK(to(Opcode::kFToS, kI32, -3e9f, kRz) == 0x80000000);
  CHECK(to(Opcode::kFToU, kI32, 3e9f, kRz) == 3000000000u);
  CHECK(to(Opcode::kFToU, kI32, -0.9f, kRz) == 0);
  CHECK(to(Opcode::kFToU, kI32, -5.0f, kRz) == 0);
  CHECK(to(Opcode::kFToU, kI64, INFINITY, kRz) == ~0ull);
  CHECK(to(Opcode::kFToS, kI8, 200.0f, kRn) == 0x7F);
  CHECK(to(Opcode::kFToS, kI8, -200.0f, kRn) == 0x80);
  CHECK(to(Opcode::kFToU, kI8, 255.5f, kRn) == 0xFF);
  CHECK(to(Opcode::kFToS, kI32, NAN, kRz) == 0);
  CHECK(to(Opcode::kFToU, kI16, NAN, kRz) == 0);
  CHECK(to(Opcode::kFToS, kI64, NAN, kRz) == uint64_t{1} << 63);
  CHECK(to(Opcode::kFToU, kI64, NAN, kRz) == uint64_t{1} << 63);
  CHECK(Convert(Opcode::kFToS, kI32, kF64Type, F64(NAN), {.rounding = kRz}) == 0x80000000);
  CHECK(Convert(Opcode::kFToU, kI32, kF64Type, F64(NAN), {.rounding = kRz}) == 0x80000000);
  CHECK(Convert(Opcode::kFToS, kI8, kF64Type, F64(NAN), {.rounding = kRz}) == 0x80);
  CHECK(Convert(Opcode::kFToU, kI32, kF32Type, 1, {.rounding = kRp}) == 1);
  CHECK(Convert(Opcode::kFToU, kI32, kF32Type, 1, {.flags = kFtz, .rounding = kRp}) == 0);
  CHECK(Convert(Opcode::kFToS, kI64, kF64Type, F64(-0x1p63), {.rounding = kRz}) == uint64_t{1} << 63);
  CHECK(Convert(Opcode::kFToS, kI16, kF16, 0x7C00, {.rounding = kRz}) == 0x7FFF);
}

TEST_CASE("interpret convert: integer to float rounds once") {
  CHECK(Convert(Opcode::kSToF, kF32Type, kI32, 0xFFFFFFFF, {.rounding = kRn}) == F32(-1));
  CHECK(Convert(Opcode::kUToF, kF32Type, kI32, 0xFFFFFFFF, {.rounding = kRn}) == F32(0x1p32f));
  CHECK(Convert(Opcode::kUToF, kF32Type, kI32, 0xFFFFFFFF, {.rounding = kRz}) == 0x4F7FFFFF);
  CHECK(Convert(Opcode::kUToF, kF64Type, kI64, ~0ull, {.rounding = kRn}) == F64(0x1p64));
  CHECK(Convert(Opcode::kSToF, kF32Type, kI64, uint64_t{1} << 63, {.rounding = kRn}) == F32(-0x1p63f));
  CHECK(Convert(Opcode::kUToF, kF32Type, kI64, (uint64_t{1} << 40) + (1 << 16) + 1, {.rounding = kRn}) ==
        0x53800001);
  CHECK(Convert(Opcode::kSToF, kF16, kI32, 65520, {.rounding = kRn}) == 0x7C00);
  CHECK(Convert(Opcode::kSToF, kF16, kI32, 65519, {.rounding = kRn}) == 0x7BFF);
  CHECK(Convert(Opcode::kSToF, kF32Type, kI8, 0x80, {.rounding = kRn}) == F32(-128));
  CHECK(Convert(Opcode::kSToF, kBF16, kI32, 0, {.rounding = kRn}) == 0);
  CHECK(Convert(Opcode::kUToF, kF32Type, kI32, 7, {.flags = kSat, .rounding = kRn}) == F32(1));
}

TEST_CASE("interpret convert: tf32") {
  auto tf32 = [](uint64_t bits, Rounding mode, uint32_t flags = 0) {
    return EvaluateFrom(Opcode::kToNarrow, kI32, kF32Type, {{kF32Type, bits}},
                        {.flags = flags, .rounding = mode, .narrow = NarrowFormat::kTF32});
  };
  CHECK(tf32(0x3F801000, Rounding::kNearestAway) == 0x3F802000);  // a tie
  CHECK(tf32(0x3F801000, kRn) == 0x3F800000);
  CHECK(tf32(0x3F803000, kRn) == 0x3F804000);
  CHECK(tf32(0x3F801FFF, kRz) == 0x3F800000);
  CHECK(tf32(0x7F7FFFFF, kRn) == 0x7F800000);
  CHECK(tf32(0x7F7FFFFF, kRn, kSatFinite) == 0x7F7FE000);
  CHECK(tf32(F32(-2), kRn, kRelu) == 0);
  CHECK(tf32(0x7FC12345, kRn) == 0x7FFFE000);
  CHECK(tf32(0x7FC12345, Rounding::kNearestAway) == 0x7FC12000);              // recorded on an H200:
  CHECK(tf32(0x7FC00000, Rounding::kNearestAway, kSatFinite) == 0x7FBFE000);  // no canonical NaN here
  CHECK(tf32(0xFF800000, Rounding::kNearestAway, kSatFinite) == 0xFF7FE000);
}

TEST_CASE("interpret convert: to e4m3, e5m2 and smaller, packed with the first operand high") {
  Attrs rn{.flags = kSatFinite, .rounding = kRn};
  CHECK(Narrow(NarrowFormat::kE4M3, kI16, {1.0f, 2.0f}, rn) == 0x3840);
  CHECK(Narrow(NarrowFormat::kE4M3, kI16, {1000.0f, -1000.0f}, rn) == 0x7EFE);
  CHECK(Narrow(NarrowFormat::kE4M3, kI16, {NAN, INFINITY}, rn) == 0x7F7E);
  CHECK(Narrow(NarrowFormat::kE4M3, kI16, {-1.0f, 0x1p-9f}, {.flags = kSatFinite | kRelu, .rounding = kRn}) ==
        0x0001);
  CHECK(Narrow(NarrowFormat::kE4M3, kI16, {0x1p-10f, 0x1.8p-10f}, rn) ==
        0x0001);  // tie to even, above the tie
  CHECK(Narrow(NarrowFormat::kE5M2, kI16, {1.0f, 57344.0f}, rn) == 0x3C7B);
  CHECK(Narrow(NarrowFormat::kE5M2, kI16, {1e9f, NAN}, rn) == 0x7B7F);
  CHECK(Narrow(NarrowFormat::kE5M2, kI16, {1.125f, 1.375f}, rn) == 0x3C3E);  // ties to even
  CHECK(Narrow(NarrowFormat::kE2M3, kI16, {7.5f, -100.0f}, rn) == 0x1F3F);
  CHECK(Narrow(NarrowFormat::kE3M2, kI16, {28.0f, -0.0625f}, rn) == 0x1F21);
  CHECK(Narrow(NarrowFormat::kE2M1, kI8, {6.0f, -1.0f}, rn) == 0x7A);
  CHECK(Narrow(NarrowFormat::kE2M1, kI8, {NAN, 0.25f}, rn) == 0x70);
  CHECK(Narrow(NarrowFormat::kE2M1, kI8, {2.5f, 5.0f}, rn) == 0x46);
  CHECK(EvaluateFrom(Opcode::kToNarrow, kI16, kF16, {{kF16, 0x3C00}, {kF16, 0xC000}},
                     {.flags = kSatFinite, .rounding = kRn, .narrow = NarrowFormat::kE4M3}) == 0x38C0);
}

TEST_CASE("interpret convert: ue8m0 holds powers of two") {
  auto scale = [](float a, float b, Rounding mode, uint32_t flags = 0) {
    return Narrow(NarrowFormat::kUE8M0, kI16, {a, b}, {.flags = flags, .rounding = mode});
  };
  CHECK(scale(1.0f, 2.0f, kRz) == 0x7F80);
  CHECK(scale(3.0f, 3.0f, kRz) == 0x8080);
  CHECK(scale(3.0f, 4.0f, kRp) == 0x8181);
  CHECK(scale(0.0f, 0x1p-149f, kRp) == 0x0000);
  CHECK(scale(NAN, INFINITY, kRz, kSatFinite) == 0xFFFE);
  CHECK(scale(0x1.8p127f, -2.0f, kRp, kSatFinite) == 0xFE80);
  CHECK(scale(0x1.8p127f, 1.0f, kRp) == 0xFF7F);
}

TEST_CASE("interpret convert: stochastic rounding of four values") {
  // 1 + 2^-4 in e4m3 (unit 2^-3): half a unit is cut off, so a carry needs the top random bit.
  Attrs rs{.rounding = Rounding::kStochastic, .narrow = NarrowFormat::kE4M3};
  std::vector<Typed> operands(4, Typed{kF32Type, F32(1 + 0x1p-4f)});
  operands.push_back({kI32, 0x80007FFF});
  CHECK(EvaluateFrom(Opcode::kToNarrow, kI32, kF32Type, operands, rs) == 0x39393838);
}

TEST_CASE("interpret convert: from the narrow formats, low one first") {
  auto from = [](NarrowFormat format, Type type, Type container, uint64_t bits, uint32_t flags = 0) {
    auto results = EvaluateAll(Opcode::kFromNarrow, type, container, {{container, bits}},
                               {.flags = flags, .narrow = format}, 2);
    return std::pair(results[0].low, results[1].low);
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  CHECK(from(NarrowFormat::kE4M3, kF16, kI16, 0xC038) == Pair(0x3C00, 0xC000));
  CHECK(from(NarrowFormat::kE4M3, kF16, kI16, 0x7F01) == Pair(0x1800, 0x7FFF));
  CHECK(from(NarrowFormat::kE5M2, kF16, kI16, 0xFC01) == Pair(0x0100, 0xFC00));
  CHECK(from(NarrowFormat::kE5M2, kF16, kI16, 0xBC3C, kRelu) == Pair(0x3C00, 0x0000));
  CHECK(from(NarrowFormat::kE2M3, kF16, kI16, 0x3F01) == Pair(0x3000, 0xC780));
  CHECK(from(NarrowFormat::kE3M2, kF16, kI16, 0x1F01) == Pair(0x2C00, 0x4F00));
  CHECK(from(NarrowFormat::kE2M1, kF16, kI8, 0xF1) == Pair(0x3800, 0xC600));
  CHECK(from(NarrowFormat::kUE8M0, kBF16, kI16, 0xFF7F) == Pair(0x3F80, 0x7FFF));
  CHECK(from(NarrowFormat::kUE8M0, kBF16, kI16, 0xFE00) == Pair(0x0040, 0x7F00));
}

}  // namespace ptx2cpu::ir::interpret_test
