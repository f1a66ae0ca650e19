// Integer rows of the table: expected values by hand from PTX ISA 9.7.1 and 9.7.8.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

uint64_t Op32(Opcode op, uint64_t a, uint64_t b, Attrs attrs = {}) {
  return Evaluate(op, kI32, {{kI32, a}, {kI32, b}}, attrs);
}
uint64_t Op64(Opcode op, uint64_t a, uint64_t b) { return Evaluate(op, kI64, {{kI64, a}, {kI64, b}}); }
uint64_t Op16(Opcode op, uint64_t a, uint64_t b) { return Evaluate(op, kI16, {{kI16, a}, {kI16, b}}); }
uint64_t One32(Opcode op, uint64_t a, Attrs attrs = {}) { return Evaluate(op, kI32, {{kI32, a}}, attrs); }
uint64_t Words(Opcode op, std::vector<uint64_t> words, Attrs attrs = {}) {
  std::vector<Typed> operands;
  for (uint64_t word : words) operands.push_back({kI32, word});
  return EvaluateAll(op, Type::kVoid, Type::kVoid, operands, attrs)[0].low;
}

}  // namespace

TEST_CASE("interpret integer: add, sub, mul wrap around; sat clamps") {
  CHECK(Op32(Opcode::kAdd, 0xFFFFFFFF, 1) == 0);
  CHECK(Op32(Opcode::kAdd, 0x7FFFFFFF, 1, {.flags = kSat}) == 0x7FFFFFFF);
  CHECK(Op32(Opcode::kAdd, 0x80000000, 0xFFFFFFFF, {.flags = kSat}) == 0x80000000);
  CHECK(Op32(Opcode::kAdd, 5, 0xFFFFFFFF, {.flags = kSat}) == 4);
  CHECK(Op32(Opcode::kSub, 0, 1) == 0xFFFFFFFF);
  CHECK(Op32(Opcode::kSub, 0x80000000, 1, {.flags = kSat}) == 0x80000000);
  CHECK(Op32(Opcode::kSub, 0, 0x80000000, {.flags = kSat}) == 0x7FFFFFFF);
  CHECK(Op32(Opcode::kSub, 0xFFFFFFFF, 0x80000000, {.flags = kSat}) == 0x7FFFFFFF);
  CHECK(Op16(Opcode::kAdd, 0xFFFF, 2) == 1);
  CHECK(Op64(Opcode::kMul, 0xFFFFFFFFFFFFFFFF, 3) == 0xFFFFFFFFFFFFFFFD);
  CHECK(Op16(Opcode::kMul, 0x1234, 0x100) == 0x3400);
  auto wide = EvaluateAll(Opcode::kAdd, kI128, Type::kVoid, {{kI128, ~0ull, 0}, {kI128, 1, 0}});
  CHECK(wide[0] == Bits2{0, 1});
}

TEST_CASE("interpret integer: high halves of products") {
  CHECK(Op32(Opcode::kMulHiU, 0xFFFFFFFF, 0xFFFFFFFF) == 0xFFFFFFFE);
  CHECK(Op32(Opcode::kMulHiS, 0xFFFFFFFF, 0xFFFFFFFF) == 0);
  CHECK(Op32(Opcode::kMulHiS, 0x80000000, 2) == 0xFFFFFFFF);
  CHECK(Op64(Opcode::kMulHiU, ~0ull, ~0ull) == ~0ull - 1);
  CHECK(Op64(Opcode::kMulHiS, uint64_t{1} << 63, uint64_t{1} << 63) == uint64_t{1} << 62);
  CHECK(Op16(Opcode::kMulHiS, 0x8000, 0x8000) == 0x4000);
  auto wide =
      EvaluateAll(Opcode::kMulHiU, kI128, Type::kVoid, {{kI128, ~0ull, ~0ull}, {kI128, ~0ull, ~0ull}});
  CHECK(wide[0] == Bits2{~0ull - 1, ~0ull});
}

TEST_CASE("interpret integer: division and remainder with their corners") {
  CHECK(Op32(Opcode::kDivS, 0xFFFFFFF9, 2) == 0xFFFFFFFD);  // -7 / 2 = -3
  CHECK(Op32(Opcode::kRemS, 0xFFFFFFF9, 2) == 0xFFFFFFFF);  // -7 % 2 = -1
  CHECK(Op32(Opcode::kRemS, 7, 0xFFFFFFFE) == 1);
  CHECK(Op32(Opcode::kDivS, 0x80000000, 0xFFFFFFFF) == 0x80000000);
  CHECK(Op32(Opcode::kRemS, 0x80000000, 0xFFFFFFFF) == 0);
  CHECK(Op32(Opcode::kDivS, 5, 0) == 0xFFFFFFFF);
  CHECK(Op32(Opcode::kDivU, 5, 0) == 0xFFFFFFFF);
  CHECK(Op64(Opcode::kDivU, 5, 0) == ~0ull);
  CHECK(Op32(Opcode::kRemU, 5, 0) == 0xFFFFFFFF);
  CHECK(Op64(Opcode::kRemS, 5, 0) == ~0ull);
  CHECK(Op32(Opcode::kDivU, 0xFFFFFFFF, 10) == 429496729);
  CHECK(Op32(Opcode::kRemU, 0xFFFFFFFF, 10) == 5);
}

TEST_CASE("interpret integer: minimum, maximum, absolute value, negation") {
  CHECK(Op32(Opcode::kMinS, 0xFFFFFFFF, 1) == 0xFFFFFFFF);
  CHECK(Op32(Opcode::kMinU, 0xFFFFFFFF, 1) == 1);
  CHECK(Op32(Opcode::kMaxS, 0xFFFFFFFF, 1) == 1);
  CHECK(Op32(Opcode::kMaxU, 0xFFFFFFFF, 1) == 0xFFFFFFFF);
  CHECK(One32(Opcode::kAbs, 0xFFFFFFFE) == 2);
  CHECK(One32(Opcode::kAbs, 0x80000000) == 0x80000000);
  CHECK(One32(Opcode::kNeg, 1) == 0xFFFFFFFF);
  CHECK(One32(Opcode::kNeg, 0x80000000) == 0x80000000);
}

TEST_CASE("interpret integer: carry and borrow") {
  auto add = [](uint64_t a, uint64_t b, uint64_t carry) {
    return EvaluateAll(Opcode::kAddCarry, kI32, Type::kVoid, {{kI32, a}, {kI32, b}, {Type::kI1, carry}});
  };
  CHECK(add(0xFFFFFFFF, 0, 1)[0].low == 0);
  CHECK(add(0xFFFFFFFF, 0, 1)[1].low == 1);
  CHECK(add(0xFFFFFFFF, 0xFFFFFFFF, 1)[0].low == 0xFFFFFFFF);
  CHECK(add(0xFFFFFFFF, 0xFFFFFFFF, 1)[1].low == 1);
  CHECK(add(1, 2, 1)[1].low == 0);
  auto sub = [](uint64_t a, uint64_t b, uint64_t borrow) {
    return EvaluateAll(Opcode::kSubBorrow, kI32, Type::kVoid, {{kI32, a}, {kI32, b}, {Type::kI1, borrow}});
  };
  CHECK(sub(0, 0, 1)[0].low == 0xFFFFFFFF);
  CHECK(sub(0, 0, 1)[1].low == 1);
  CHECK(sub(5, 4, 1)[0].low == 0);
  CHECK(sub(5, 4, 1)[1].low == 0);
  CHECK(sub(4, 5, 0)[1].low == 1);
  CHECK(sub(0, 0xFFFFFFFF, 1)[1].low == 1);
}

TEST_CASE("interpret integer: bitwise operations and lop3") {
  CHECK(Op32(Opcode::kAnd, 0xF0F0, 0xFF00) == 0xF000);
  CHECK(Op32(Opcode::kOr, 0xF0F0, 0x0F00) == 0xFFF0);
  CHECK(Op32(Opcode::kXor, 0xF0F0, 0xFF00) == 0x0FF0);
  CHECK(One32(Opcode::kNot, 0x0F0F0F0F) == 0xF0F0F0F0);
  CHECK(Evaluate(Opcode::kNot, Type::kI1, {{Type::kI1, 1}}) == 0);
  auto lop3 = [](uint32_t table) {
    return Evaluate(Opcode::kLop3, kI32, {{kI32, 0xF0}, {kI32, 0xCC}, {kI32, 0xAA}}, {.index = table}) & 0xFF;
  };
  for (uint32_t table : {0x00u, 0x80u, 0x1Au, 0xE2u, 0x96u, 0xFFu})
    CHECK(lop3(table) == table);  // PTX: ta, tb, tc
}

TEST_CASE("interpret integer: shifts beyond the width") {
  CHECK(Op32(Opcode::kShl, 1, 31) == 0x80000000);
  CHECK(Op32(Opcode::kShl, 1, 32) == 0);
  CHECK(Op32(Opcode::kShl, 1, 0xFFFFFFFF) == 0);
  CHECK(Op32(Opcode::kShrU, 0x80000000, 31) == 1);
  CHECK(Op32(Opcode::kShrU, 0x80000000, 32) == 0);
  CHECK(Op32(Opcode::kShrS, 0x80000000, 32) == 0xFFFFFFFF);
  CHECK(Op32(Opcode::kShrS, 0x80000000, 4) == 0xF8000000);
  CHECK(Op32(Opcode::kShrS, 0x40000000, 0xFFFFFFFF) == 0);
  CHECK(Evaluate(Opcode::kShrS, kI16, {{kI16, 0x8000}, {kI32, 99}}) == 0xFFFF);
  CHECK(Evaluate(Opcode::kShl, kI64, {{kI64, 1}, {kI32, 63}}) == uint64_t{1} << 63);
}

TEST_CASE("interpret integer: funnel shifts") {
  auto funnel = [](Opcode op, uint64_t amount, uint32_t flags) {
    return Evaluate(op, kI32, {{kI32, 0x11223344}, {kI32, 0xAABBCCDD}, {kI32, amount}}, {.flags = flags});
  };
  CHECK(funnel(Opcode::kFunnelL, 8, 0) == 0xBBCCDD11);
  CHECK(funnel(Opcode::kFunnelR, 8, 0) == 0xDD112233);
  CHECK(funnel(Opcode::kFunnelL, 0, 0) == 0xAABBCCDD);
  CHECK(funnel(Opcode::kFunnelR, 0, 0) == 0x11223344);
  CHECK(funnel(Opcode::kFunnelL, 40, 0) == 0x11223344);
  CHECK(funnel(Opcode::kFunnelR, 40, 0) == 0xAABBCCDD);
  CHECK(funnel(Opcode::kFunnelL, 40, kWrap) == 0xBBCCDD11);
  CHECK(funnel(Opcode::kFunnelR, 32, kWrap) == 0x11223344);
}

TEST_CASE("interpret integer: counting and finding bits") {
  CHECK(One32(Opcode::kClz, 0) == 32);
  CHECK(One32(Opcode::kClz, 1) == 31);
  CHECK(Evaluate(Opcode::kClz, kI64, {{kI64, 0}}) == 64);
  CHECK(One32(Opcode::kPopc, 0xF0F00001) == 9);
  CHECK(Evaluate(Opcode::kPopc, kI64, {{kI64, ~0ull}}) == 64);
  CHECK(One32(Opcode::kBrev, 0x00000001) == 0x80000000);
  CHECK(One32(Opcode::kBrev, 0x12345678) == 0x1E6A2C48);
  CHECK(One32(Opcode::kBfindU, 0) == 0xFFFFFFFF);
  CHECK(One32(Opcode::kBfindU, 0x80000000) == 31);
  CHECK(One32(Opcode::kBfindU, 1, {.flags = kShiftAmount}) == 31);
  CHECK(One32(Opcode::kBfindU, 0, {.flags = kShiftAmount}) == 0xFFFFFFFF);
  CHECK(One32(Opcode::kBfindS, 0xFFFFFFFF) == 0xFFFFFFFF);
  CHECK(One32(Opcode::kBfindS, 0xFFFFFFFE) == 0);
  CHECK(One32(Opcode::kBfindS, 0x7FFFFFFF) == 30);
  CHECK(Evaluate(Opcode::kBfindS, kI64, {{kI64, uint64_t{1} << 63}}) == 62);
  CHECK(Words(Opcode::kFns, {0b1011000, 3, 1}) == 3);
  CHECK(Words(Opcode::kFns, {0b1011000, 3, 2}) == 4);
  CHECK(Words(Opcode::kFns, {0b1011000, 3, 3}) == 6);
  CHECK(Words(Opcode::kFns, {0b1011000, 3, 4}) == 0xFFFFFFFF);
  CHECK(Words(Opcode::kFns, {0b1011000, 5, 0xFFFFFFFF}) == 4);
  CHECK(Words(Opcode::kFns, {0b1011000, 4, 0}) == 4);
  CHECK(Words(Opcode::kFns, {0b1011000, 5, 0}) == 0xFFFFFFFF);
}

TEST_CASE("interpret integer: bit fields") {
  auto extract = [](Opcode op, uint64_t value, uint64_t position, uint64_t length) {
    return Evaluate(op, kI32, {{kI32, value}, {kI32, position}, {kI32, length}});
  };
  CHECK(extract(Opcode::kBfeU, 0xABCD1234, 8, 8) == 0x12);
  CHECK(extract(Opcode::kBfeS, 0xABCD1234, 16, 8) == 0xFFFFFFCD);
  CHECK(extract(Opcode::kBfeS, 0xABCD1234, 24, 32) == 0xFFFFFFAB);  // beyond the msb: the value's sign
  CHECK(extract(Opcode::kBfeU, 0xABCD1234, 24, 32) == 0xAB);
  CHECK(extract(Opcode::kBfeS, 0x80000000, 40, 4) == 0xFFFFFFFF);
  CHECK(extract(Opcode::kBfeS, 0xFFFFFFFF, 0, 0) == 0);
  CHECK(extract(Opcode::kBfeU, 0xABCD1234, 0x108, 8) == 0x12);  // taken mod 256
  CHECK(Evaluate(Opcode::kBfeU, kI64, {{kI64, 0xABCD1234}, {kI32, 0x108}, {kI32, 8}}) ==
        0);  // but not for 64 bits
  auto insert = [](uint64_t field, uint64_t into, uint64_t position, uint64_t length) {
    return Evaluate(Opcode::kBfi, kI32, {{kI32, field}, {kI32, into}, {kI32, position}, {kI32, length}});
  };
  CHECK(insert(0xFF, 0, 4, 4) == 0xF0);
  CHECK(insert(0, 0xFFFFFFFF, 28, 8) == 0x0FFFFFFF);
  CHECK(insert(0xFF, 0x1234, 32, 8) == 0x1234);
  CHECK(insert(0xFF, 0x1234, 4, 0) == 0x1234);
  CHECK(Words(Opcode::kBmsk, {1, 2}) == 6);
  CHECK(Words(Opcode::kBmsk, {0, 32}) == 0xFFFFFFFF);
  CHECK(Words(Opcode::kBmsk, {4, 40}) == 0xFFFFFFF0);
  CHECK(Words(Opcode::kBmsk, {32, 1}) == 0);
  CHECK(Words(Opcode::kBmsk, {33, 34}, {.flags = kWrap}) == 6);
  CHECK(Words(Opcode::kBmsk, {0, 32}, {.flags = kWrap}) == 0);
}

TEST_CASE("interpret integer: byte permutes of all modes") {
  // bytes 0..7 are 0x80, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xF7
  using enum PermuteMode;
  auto prmt = [](uint64_t selector, PermuteMode mode) {
    return Words(Opcode::kPrmt, {0x33221180, 0xF7665544, selector}, {.permute = mode});
  };
  CHECK(prmt(0x7654, kGeneral) == 0xF7665544);
  CHECK(prmt(0x0123, kGeneral) == 0x80112233);
  CHECK(prmt(0xF8F8, kGeneral) == 0xFFFFFFFF);
  CHECK(prmt(0x9999, kGeneral) == 0);
  CHECK(prmt(1, kF4e) == 0x44332211);
  CHECK(prmt(0, kB4e) == 0x5566F780);
  CHECK(prmt(3, kB4e) == 0x80112233);
  CHECK(prmt(2, kRc8) == 0x22222222);
  CHECK(prmt(1, kEcl) == 0x33221111);
  CHECK(prmt(2, kEcr) == 0x22221180);
  CHECK(prmt(1, kRc16) == 0x33223322);
  CHECK(prmt(2, kRc16) == 0x11801180);
}

TEST_CASE("interpret integer: width conversions") {
  CHECK(EvaluateFrom(Opcode::kSext, kI32, kI8, {{kI8, 0x80}}) == 0xFFFFFF80);
  CHECK(EvaluateFrom(Opcode::kSext, kI32, Type::kI1, {{Type::kI1, 1}}) == 0xFFFFFFFF);
  CHECK(EvaluateFrom(Opcode::kZext, kI64, kI32, {{kI32, 0x80000000}}) == 0x80000000);
  CHECK(EvaluateFrom(Opcode::kTrunc, kI8, kI32, {{kI32, 0x1234}}) == 0x34);
  CHECK(EvaluateFrom(Opcode::kTrunc, Type::kI1, kI32, {{kI32, 2}}) == 0);
  auto wide = EvaluateAll(Opcode::kSext, kI128, kI64, {{kI64, uint64_t{1} << 63}});
  CHECK(wide[0] == Bits2{uint64_t{1} << 63, ~0ull});
  CHECK(EvaluateFrom(Opcode::kSatS, kI8, kI32, {{kI32, 300}}) == 0x7F);
  CHECK(EvaluateFrom(Opcode::kSatS, kI8, kI32, {{kI32, 0xFFFFFF00}}) == 0x80);
  CHECK(EvaluateFrom(Opcode::kSatS, kI8, kI32, {{kI32, 0xFFFFFFFF}}) == 0xFF);
  CHECK(EvaluateFrom(Opcode::kSatS, kI8, kI32, {{kI32, 300}}, {.flags = kUnsigned}) == 0xFF);
  CHECK(EvaluateFrom(Opcode::kSatS, kI8, kI32, {{kI32, 0xFFFFFFFF}}, {.flags = kUnsigned}) == 0);
  CHECK(EvaluateFrom(Opcode::kSatU, kI8, kI32, {{kI32, 0xFFFFFFFF}}) == 0x7F);
  CHECK(EvaluateFrom(Opcode::kSatU, kI8, kI32, {{kI32, 0xFFFFFFFF}}, {.flags = kUnsigned}) == 0xFF);
  CHECK(EvaluateFrom(Opcode::kSatS, kI32, kI32, {{kI32, 0xFFFFFFFF}}, {.flags = kUnsigned}) == 0);
}

TEST_CASE("interpret integer: comparisons") {
  auto icmp = [](Compare compare, uint64_t a, uint64_t b) {
    return EvaluateFrom(Opcode::kIcmp, Type::kVoid, kI32, {{kI32, a}, {kI32, b}}, {.compare = compare}) != 0;
  };
  CHECK(icmp(Compare::kEq, 3, 3));
  CHECK(!icmp(Compare::kNe, 3, 3));
  CHECK(icmp(Compare::kSlt, 0xFFFFFFFF, 0));
  CHECK(!icmp(Compare::kUlt, 0xFFFFFFFF, 0));
  CHECK(icmp(Compare::kSle, 0x80000000, 0x7FFFFFFF));
  CHECK(icmp(Compare::kSgt, 0, 0xFFFFFFFF));
  CHECK(icmp(Compare::kSge, 0, 0));
  CHECK(icmp(Compare::kUle, 0, 0xFFFFFFFF));
  CHECK(icmp(Compare::kUgt, 0xFFFFFFFF, 0));
  CHECK(icmp(Compare::kUge, 7, 7));
  CHECK(EvaluateFrom(Opcode::kIcmp, Type::kVoid, kI8, {{kI8, 0x80}, {kI8, 0x7F}},
                     {.compare = Compare::kSlt}) == 1);
}

TEST_CASE("interpret integer: dot products") {
  CHECK(Words(Opcode::kDp4a, {0x01020304, 0x05060708, 10}) == 1 * 5 + 2 * 6 + 3 * 7 + 4 * 8 + 10);
  CHECK(Words(Opcode::kDp4a, {0xFFFFFFFF, 0x01010101, 0}) == 4 * 255);
  CHECK(Words(Opcode::kDp4a, {0xFFFFFFFF, 0x01010101, 0}, {.flags = kSignedA}) == 0xFFFFFFFC);
  CHECK(Words(Opcode::kDp4a, {0xFFFFFFFF, 0xFFFFFFFF, 0}, {.flags = kSignedA | kSignedB}) == 4);
  CHECK(Words(Opcode::kDp2a, {0x00020003, 0x07060504, 1}) == 3 * 4 + 2 * 5 + 1);
  CHECK(Words(Opcode::kDp2a, {0x00020003, 0x07060504, 1}, {.flags = kHigh}) == 3 * 6 + 2 * 7 + 1);
  CHECK(Words(Opcode::kDp2a, {0xFFFF0000, 0x0000FF00, 0}, {.flags = kSignedA | kSignedB}) == 1);
}

}  // namespace ptx2cpu::ir::interpret_test
