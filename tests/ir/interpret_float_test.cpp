// Float rows of the table: expected values by hand from PTX ISA 9.7.3 and 9.7.4.
#include <cmath>

#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

constexpr uint64_t kSmallest = 1, kSmallestNormal = 0x00800000;  // f32

uint64_t Op(Opcode op, uint64_t a, uint64_t b, Attrs attrs = {}) {
  return Evaluate(op, kF32Type, {{kF32Type, a}, {kF32Type, b}}, attrs);
}
uint64_t One(Opcode op, uint64_t a, Attrs attrs = {}) {
  return Evaluate(op, kF32Type, {{kF32Type, a}}, attrs);
}
uint64_t Fma(Type type, uint64_t a, uint64_t b, uint64_t c, Attrs attrs = {}) {
  return Evaluate(Opcode::kFFma, type, {{type, a}, {type, b}, {type, c}}, attrs);
}
float AsFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double AsDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
bool IsNan32(uint64_t bits) { return std::isnan(AsFloat(bits)); }

}  // namespace

TEST_CASE("interpret float: addition rounds as asked") {
  uint64_t one = F32(1), tiny = F32(0x1p-30f), next = F32(1 + 0x1p-23f), before = F32(1 - 0x1p-24f);
  CHECK(Op(Opcode::kFAdd, one, tiny, {.rounding = kRn}) == one);
  CHECK(Op(Opcode::kFAdd, one, tiny, {.rounding = kRp}) == next);
  CHECK(Op(Opcode::kFAdd, one, tiny, {.rounding = kRm}) == one);
  CHECK(Op(Opcode::kFSub, one, tiny, {.rounding = kRz}) == before);
  CHECK(Op(Opcode::kFSub, one, tiny, {.rounding = kRm}) == before);
  CHECK(Op(Opcode::kFSub, one, tiny, {.rounding = kRp}) == one);
  CHECK(Op(Opcode::kFSub, one, one, {.rounding = kRn}) == 0);
  CHECK(Op(Opcode::kFSub, one, one, {.rounding = kRm}) == kMinusZero);
  CHECK(IsNan32(Op(Opcode::kFSub, kInf, kInf)));
  CHECK(Op(Opcode::kFAdd, kMinusZero, kMinusZero) == kMinusZero);
  CHECK(Op(Opcode::kFAdd, F32(3e38f), F32(3e38f), {.rounding = kRn}) == kInf);
  CHECK(Op(Opcode::kFAdd, F32(3e38f), F32(3e38f), {.rounding = kRz}) == 0x7F7FFFFF);
}

TEST_CASE("interpret float: ftz flushes inputs and results, keeping the sign") {
  CHECK(Op(Opcode::kFAdd, kSmallest, kSmallest) == 2);
  CHECK(Op(Opcode::kFAdd, kSmallest, kSmallest, {.flags = kFtz}) == 0);
  CHECK(Op(Opcode::kFMul, kSmallestNormal, F32(-0.5f)) == 0x80400000);
  CHECK(Op(Opcode::kFMul, kSmallestNormal, F32(-0.5f), {.flags = kFtz}) == kMinusZero);
  CHECK(One(Opcode::kFNeg, kSmallest, {.flags = kFtz}) == kMinusZero);
  CHECK(One(Opcode::kFAbs, kMinusZero | kSmallest, {.flags = kFtz}) == 0);
  CHECK(Evaluate(Opcode::kFAdd, kF16, {{kF16, 1}, {kF16, 1}}, {.flags = kFtz}) == 0);
  CHECK(Evaluate(Opcode::kFAdd, kF16, {{kF16, 1}, {kF16, 1}}) == 2);
}

TEST_CASE("interpret float: sat clamps to [0,1] and NaN to zero") {
  CHECK(Op(Opcode::kFAdd, F32(0.75f), F32(0.75f), {.flags = kSat}) == F32(1));
  CHECK(Op(Opcode::kFAdd, F32(-0.75f), F32(0.25f), {.flags = kSat}) == 0);
  CHECK(Op(Opcode::kFSub, kInf, kInf, {.flags = kSat}) == 0);
  CHECK(Op(Opcode::kFMul, F32(0.5f), F32(0.5f), {.flags = kSat}) == F32(0.25f));
  CHECK(Op(Opcode::kFMul, kInf, F32(2), {.flags = kSat}) == F32(1));
}

TEST_CASE("interpret float: fma rounds once in every format") {
  CHECK(Fma(kF32Type, F32(1 + 0x1p-12f), F32(1 + 0x1p-12f), F32(-1 - 0x1p-11f)) == F32(0x1p-24f));
  // (1 + 2^-10)^2 + 2^-24 in f16: just above the tie 1 + 2^-9 + 2^-20 has no tie; c decides a tie of 1 +
  // 2^-11
  CHECK(Fma(kF16, 0x3C00, 0x3C00, 0x1000) == 0x3C00);  // 1 + 2^-11: a tie, to even
  CHECK(Fma(kF16, 0x3C01, 0x3BFF, 0x0001) ==
        0x3C00);  // (1 + 2^-10)(1 - 2^-11) + 2^-24: just below the tie 1 + 2^-11
  CHECK(Fma(kF16, 0x7BFF, 0x7BFF, 0xFC00) == 0xFC00);  // finite product (beyond f16) - inf
  CHECK(Fma(kF16, 0x7BFF, 0x4000, 0xFBFF) == 0x7BFF);  // 65504 * 2 - 65504: no overflow in between
  // bf16: 2^100 * 2^-100 + 2^-133 rounds to 1; a double would lose nothing here but 2^127 * 2^127 - ...
  // overflows to inf
  CHECK(Fma(kBF16, 0x7F00, 0x7F00, 0xFF80) == 0xFF80);
  CHECK(Fma(kBF16, 0x3F81, 0x3F81, 0x0001) == 0x3F82);  // 1 + 2^-6 + 2^-14 + tiny
  CHECK(Fma(kBF16, 0x3F80, 0x3F80, 0x3B80) == 0x3F80);  // 1 + 2^-8: tie to even
  CHECK(Fma(kF64Type, F64(1 + 0x1p-52), F64(1 - 0x1p-52), F64(-1)) == F64(-0x1p-104));
  CHECK(Fma(kF32Type, F32(-2), F32(3), F32(1), {.flags = kRelu}) == 0);
  CHECK(Fma(kF16, 0x7C00, 0x0000, 0x3C00, {.flags = kRelu}) == 0x7FFF);
  CHECK(Fma(kF32Type, F32(2), F32(3), F32(1), {.flags = kSat}) == F32(1));
}

TEST_CASE("interpret float: division, reciprocal, square root") {
  CHECK(Op(Opcode::kFDiv, F32(1), F32(3), {.rounding = kRn}) == 0x3EAAAAAB);
  CHECK(Op(Opcode::kFDiv, F32(1), F32(3), {.rounding = kRz}) == 0x3EAAAAAA);
  CHECK(Op(Opcode::kFDiv, F32(-1), F32(3), {.rounding = kRm}) == 0xBEAAAAAB);
  CHECK(Op(Opcode::kFDiv, F32(1), kMinusZero) == kMinusInf);
  CHECK(IsNan32(Op(Opcode::kFDiv, 0, 0)));
  CHECK(IsNan32(Op(Opcode::kFDiv, kInf, kMinusInf)));
  CHECK(Op(Opcode::kFDiv, F32(6), F32(3), {.flags = kFullRange}) == F32(2));
  CHECK(Op(Opcode::kFDiv, F32(-6), F32(0x1.8p126f), {.flags = kApprox}) == kMinusZero);
  CHECK(IsNan32(Op(Opcode::kFDiv, kInf, F32(0x1.8p126f), {.flags = kApprox})));
  CHECK(Op(Opcode::kFDiv, F32(6), F32(0x1p126f), {.flags = kApprox}) == F32(6 * 0x1p-126f));
  CHECK(One(Opcode::kFRcp, F32(3), {.rounding = kRp}) == 0x3EAAAAAB);
  CHECK(One(Opcode::kFRcp, kMinusInf, {.flags = kApprox}) == kMinusZero);
  CHECK(One(Opcode::kFRcp, kMinusZero, {.flags = kApprox}) == kMinusInf);
  CHECK(One(Opcode::kFRcp, kSmallest, {.flags = kApprox | kFtz}) == kInf);
  CHECK(One(Opcode::kFSqrt, F32(2), {.rounding = kRn}) == 0x3FB504F3);
  CHECK(One(Opcode::kFSqrt, F32(2), {.rounding = kRp}) == 0x3FB504F4);
  CHECK(One(Opcode::kFSqrt, kMinusZero) == kMinusZero);
  CHECK(IsNan32(One(Opcode::kFSqrt, F32(-1))));
  CHECK(Evaluate(Opcode::kFSqrt, kF64Type, {{kF64Type, F64(2)}}, {.rounding = kRn}) == F64(std::sqrt(2.0)));
}

TEST_CASE("interpret float: rsqrt and the approximations that make the upper half of a double") {
  CHECK(One(Opcode::kFRsqrt, F32(4)) == F32(0.5f));
  CHECK(One(Opcode::kFRsqrt, kMinusZero) == kMinusInf);
  CHECK(One(Opcode::kFRsqrt, kInf) == 0);
  CHECK(IsNan32(One(Opcode::kFRsqrt, kMinusInf)));
  auto rcp = [](uint64_t bits) {
    return Evaluate(Opcode::kFRcp, kF64Type, {{kF64Type, bits}}, {.flags = kApprox | kFtz});
  };
  CHECK(rcp(F64(4)) == F64(0.25));
  CHECK(rcp(F64(3)) == 0x3FD5555500000000);
  CHECK(rcp(F64(4) | 0xFFFFFFFF) == F64(0.25));  // the low half is ignored
  CHECK(rcp(0x8000000000000001) == F64(-INFINITY));
  CHECK(rcp(0x000FFFFF00000000) == F64(INFINITY));
  CHECK(rcp(F64(-INFINITY)) == 0x8000000000000000);
  CHECK(rcp(F64(NAN)) == 0x7FFFFFFF00000000);
  CHECK(rcp(0x7FEFFFFF00000000) == 0);  // the result would be subnormal
  auto rsqrt = [](uint64_t bits) {
    return Evaluate(Opcode::kFRsqrt, kF64Type, {{kF64Type, bits}}, {.flags = kFtz});
  };
  CHECK(rsqrt(F64(16)) == F64(0.25));
  CHECK(rsqrt(0x8000000000000001) == F64(-INFINITY));
  CHECK(rsqrt(F64(-2)) == 0x7FFFFFFF00000000);
  CHECK((rsqrt(F64(2)) & 0xFFFFFFFF) == 0);
  CHECK(std::abs(AsDouble(rsqrt(F64(2))) - 1 / std::sqrt(2.0)) < 0x1p-20);
  CHECK(std::abs(AsDouble(Evaluate(Opcode::kFRsqrt, kF64Type, {{kF64Type, F64(2)}})) - 1 / std::sqrt(2.0)) <
        0x1p-52);
}

TEST_CASE("interpret float: minimum and maximum") {
  CHECK(Op(Opcode::kFMin, F32(1), F32(-2)) == F32(-2));
  CHECK(Op(Opcode::kFMin, kMinusZero, 0) == kMinusZero);
  CHECK(Op(Opcode::kFMin, 0, kMinusZero) == kMinusZero);
  CHECK(Op(Opcode::kFMax, kMinusZero, 0) == 0);
  CHECK(Op(Opcode::kFMax, 0, kMinusZero) == 0);
  CHECK(Op(Opcode::kFMin, kNan32, F32(5)) == F32(5));
  CHECK(Op(Opcode::kFMax, F32(5), 0x7F800001) == F32(5));
  CHECK(Op(Opcode::kFMax, 0xFFC00000, 0x7F800001) == kNan32);
  CHECK(Op(Opcode::kFMin, kNan32, F32(5), {.flags = kPropagateNan}) == kNan32);
  CHECK(Op(Opcode::kFMin, F32(-3), F32(2), {.flags = kAbs | kXorSign}) == F32(-2));
  CHECK(Op(Opcode::kFMax, F32(-3), F32(-2), {.flags = kAbs | kXorSign}) == F32(3));
  CHECK(Op(Opcode::kFMin, F32(-3), F32(2), {.flags = kAbs}) == F32(2));
  CHECK(Op(Opcode::kFMax, kNan32, F32(-3), {.flags = kAbs | kXorSign}) == F32(-3));
  CHECK(Op(Opcode::kFMax, kSmallest, kMinusInf, {.flags = kFtz}) == 0);
  CHECK(Evaluate(Opcode::kFMax, kF16, {{kF16, 0x7E00}, {kF16, 0x3C00}}) == 0x3C00);
  CHECK(Evaluate(Opcode::kFMin, kBF16, {{kBF16, 0x7FC0}, {kBF16, 0x3F80}}, {.flags = kPropagateNan}) ==
        0x7FFF);
}

TEST_CASE("interpret float: signs") {
  CHECK(One(Opcode::kFNeg, F32(2)) == F32(-2));
  CHECK(One(Opcode::kFAbs, F32(-2)) == F32(2));
  CHECK(Op(Opcode::kFCopysign, F32(-1), F32(5)) == F32(-5));  // sign of the first, magnitude of the second
  CHECK(Op(Opcode::kFCopysign, F32(1), kMinusInf) == kInf);
}

TEST_CASE("interpret float: comparisons with and without NaN") {
  auto fcmp = [](Compare compare, uint64_t a, uint64_t b, uint32_t flags = 0) {
    return EvaluateFrom(Opcode::kFcmp, Type::kVoid, kF32Type, {{kF32Type, a}, {kF32Type, b}},
                        {.flags = flags, .compare = compare}) != 0;
  };
  struct Row {
    Compare ordered, unordered;
    bool less, equal, greater;
  };
  const Row rows[] = {{Compare::kFeq, Compare::kFequ, false, true, false},
                      {Compare::kFne, Compare::kFneu, true, false, true},
                      {Compare::kFlt, Compare::kFltu, true, false, false},
                      {Compare::kFle, Compare::kFleu, true, true, false},
                      {Compare::kFgt, Compare::kFgtu, false, false, true},
                      {Compare::kFge, Compare::kFgeu, false, true, true}};
  for (const Row& row : rows) {
    for (Compare compare : {row.ordered, row.unordered}) {
      CHECK(fcmp(compare, F32(1), F32(2)) == row.less);
      CHECK(fcmp(compare, 0, kMinusZero) == row.equal);
      CHECK(fcmp(compare, kInf, kMinusInf) == row.greater);
      CHECK(fcmp(compare, kInf, kInf) == row.equal);
    }
    CHECK_FALSE(fcmp(row.ordered, kNan32, F32(1)));
    CHECK(fcmp(row.unordered, F32(1), kNan32));
  }
  CHECK(fcmp(Compare::kFnum, F32(1), F32(1)));
  CHECK_FALSE(fcmp(Compare::kFnum, F32(1), kNan32));
  CHECK(fcmp(Compare::kFnan, kNan32, F32(1)));
  CHECK_FALSE(fcmp(Compare::kFnan, F32(1), F32(1)));
  CHECK(fcmp(Compare::kFlt, 0, kSmallest));
  CHECK_FALSE(fcmp(Compare::kFlt, 0, kSmallest, kFtz));
}

TEST_CASE("interpret float: testp") {
  auto test = [](int property, uint64_t bits) {
    const Attrs attrs = {.test = static_cast<FloatTest>(property)};
    return EvaluateFrom(Opcode::kFTest, Type::kVoid, kF32Type, {{kF32Type, bits}}, attrs) != 0;
  };
  // finite, infinite, number, notanumber, normal, subnormal
  struct Row {
    uint64_t bits;
    const char* expected;
  };
  for (const Row& row : {Row{F32(1), "101010"}, Row{0, "101010"}, Row{kMinusZero, "101010"},
                         Row{kSmallest, "101001"}, Row{kMinusInf, "011000"}, Row{kNan32, "000100"}}) {
    for (int property = 0; property < kCountOf<FloatTest>; ++property)
      CHECK(test(property, row.bits) == (row.expected[property] == '1'));
  }
}

TEST_CASE("interpret float: approximate functions at the manual's special values") {
  CHECK(IsNan32(One(Opcode::kFSin, kInf)));
  CHECK(One(Opcode::kFSin, kMinusZero) == kMinusZero);
  CHECK(IsNan32(One(Opcode::kFCos, kMinusInf)));
  CHECK(One(Opcode::kFCos, kMinusZero) == F32(1));
  CHECK(IsNan32(One(Opcode::kFLg2, F32(-1))));
  CHECK(One(Opcode::kFLg2, kMinusZero) == kMinusInf);
  CHECK(One(Opcode::kFLg2, F32(8)) == F32(3));
  CHECK(One(Opcode::kFLg2, kSmallest) == F32(-149));
  CHECK(One(Opcode::kFLg2, kSmallest, {.flags = kFtz}) == kMinusInf);
  CHECK(One(Opcode::kFEx2, kMinusInf) == 0);
  CHECK(One(Opcode::kFEx2, kMinusZero) == F32(1));
  CHECK(One(Opcode::kFEx2, F32(-127)) == 0x00400000);
  CHECK(One(Opcode::kFEx2, F32(-127), {.flags = kFtz}) == 0);
  CHECK(One(Opcode::kFEx2, F32(200)) == kInf);
  CHECK(One(Opcode::kFTanh, kMinusInf) == F32(-1));
  CHECK(One(Opcode::kFTanh, kSmallest) == kSmallest);
  CHECK(One(Opcode::kFTanh, kMinusZero) == kMinusZero);
  CHECK(std::abs(AsFloat(One(Opcode::kFSin, F32(1))) - std::sin(1.0f)) < 0x1p-20f);
  CHECK(Evaluate(Opcode::kFEx2, kF16, {{kF16, 0x4000}}) == 0x4400);
  CHECK(Evaluate(Opcode::kFEx2, kBF16, {{kBF16, 0x0001}}, {.flags = kFtz}) == 0x3F80);
  CHECK(Evaluate(Opcode::kFTanh, kF16, {{kF16, 0xFC00}}) == 0xBC00);
}

}  // namespace ptx2cpu::ir::interpret_test
