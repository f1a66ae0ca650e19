// Shifts, bit fields, permutations and counts.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <utility>

#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

namespace intrinsic = llvm::Intrinsic;

namespace {

llvm::Value* Resize(Site& s, llvm::Value* value, unsigned bits) {
  return s.b.CreateZExtOrTrunc(value, ShapedLike(value, s.e.I(bits)));
}

// Smaller of a value and a constant, unsigned.
llvm::Value* AtMost(Site& s, llvm::Value* value, uint64_t limit) {
  return s.b.CreateBinaryIntrinsic(intrinsic::umin, value, Literal(value, limit));
}

llvm::Value* AtLeast(Site& s, llvm::Value* amount, uint64_t width) {
  return s.b.CreateICmpUGE(amount, Literal(amount, width));
}

// LLVM's shifts are undefined at the width and beyond: those get the value `beyond`.
llvm::Value* ShiftLeft(Site& s, llvm::Value* value, llvm::Value* amount, unsigned width) {
  llvm::Value* safe = Resize(s, s.b.CreateAnd(amount, Literal(amount, width - 1)), width);
  return s.b.CreateSelect(AtLeast(s, amount, width), Literal(value, 0), s.b.CreateShl(value, safe));
}
llvm::Value* ShiftRight(Site& s, llvm::Value* value, llvm::Value* amount, unsigned width) {
  llvm::Value* safe = Resize(s, s.b.CreateAnd(amount, Literal(amount, width - 1)), width);
  return s.b.CreateSelect(AtLeast(s, amount, width), Literal(value, 0), s.b.CreateLShr(value, safe));
}
// `length` ones, all of them when length >= width.
llvm::Value* Ones(Site& s, llvm::Value* like, llvm::Value* length, unsigned width) {
  return s.b.CreateSub(ShiftLeft(s, Literal(like, 1), length, width), Literal(like, 1));
}
// Position or length of a bit field. The manual takes both mod 256; a GPU (H200) does so for 32 bits only.
llvm::Value* FieldOperand(Site& s, size_t number) {
  llvm::Value* amount = s.Operand(number);
  return s.Width() == 64 ? AtMost(s, amount, 256) : s.b.CreateAnd(amount, Literal(amount, 255));
}

}  // namespace

Status EmitShl(Site& s) {
  s.Return(ShiftLeft(s, s.Operand(0), s.Operand(1), s.Width()));
  return {};
}
Status EmitShrU(Site& s) {
  s.Return(ShiftRight(s, s.Operand(0), s.Operand(1), s.Width()));
  return {};
}
Status EmitShrS(Site& s) {
  s.Return(s.b.CreateAShr(s.Operand(0), Resize(s, AtMost(s, s.Operand(1), s.Width() - 1), s.Width())));
  return {};
}

namespace {
Status Funnel(Site& s, bool left) {
  llvm::Value *low = s.Operand(0), *high = s.Operand(1), *amount = s.Operand(2);
  llvm::Value* word = Resize(s, amount, s.Width());
  llvm::Value* result =
      s.b.CreateIntrinsic(left ? intrinsic::fshl : intrinsic::fshr, {low->getType()}, {high, low, word});
  if (!s.Has(ir::kWrap)) result = s.b.CreateSelect(AtLeast(s, amount, s.Width()), left ? low : high, result);
  s.Return(result);
  return {};
}
}  // namespace

Status EmitFunnelL(Site& s) { return Funnel(s, true); }
Status EmitFunnelR(Site& s) { return Funnel(s, false); }

Status EmitClz(Site& s) {
  llvm::Value* a = s.Operand(0);
  s.Return(Resize(s, s.b.CreateIntrinsic(intrinsic::ctlz, {a->getType()}, {a, s.b.getFalse()}), 32));
  return {};
}

Status EmitPopc(Site& s) {
  s.Return(Resize(s, s.b.CreateUnaryIntrinsic(intrinsic::ctpop, s.Operand(0)), 32));
  return {};
}

Status EmitBrev(Site& s) {
  s.Return(s.b.CreateUnaryIntrinsic(intrinsic::bitreverse, s.Operand(0)));
  return {};
}

namespace {
Status HighestBit(Site& s, llvm::Value* value) {
  llvm::Value* zeros =
      Resize(s, s.b.CreateIntrinsic(intrinsic::ctlz, {value->getType()}, {value, s.b.getFalse()}), 32);
  llvm::Value* position =
      s.Has(ir::kShiftAmount) ? zeros : s.b.CreateSub(Literal(zeros, s.Width() - 1), zeros);
  s.Return(s.b.CreateSelect(s.b.CreateICmpEQ(value, Literal(value, 0)), Literal(zeros, ~0u), position));
  return {};
}
}  // namespace

Status EmitBfindU(Site& s) { return HighestBit(s, s.Operand(0)); }
Status EmitBfindS(Site& s) {
  llvm::Value* a = s.Operand(0);
  return HighestBit(s, s.b.CreateXor(a, s.b.CreateAShr(a, Literal(a, s.Width() - 1))));
}

Status EmitBfeU(Site& s) {
  llvm::Value* a = s.Operand(0);
  llvm::Value* field = ShiftRight(s, a, FieldOperand(s, 1), s.Width());
  s.Return(s.b.CreateAnd(field, Ones(s, a, FieldOperand(s, 2), s.Width())));
  return {};
}

// Bits above the value's top repeat its sign, as do those above the field.
Status EmitBfeS(Site& s) {
  unsigned width = s.Width();
  llvm::Value *a = s.Operand(0), *length = FieldOperand(s, 2);
  llvm::Value* field = s.b.CreateAShr(a, Resize(s, AtMost(s, FieldOperand(s, 1), width - 1), width));
  llvm::Value* clamped = AtMost(s, length, width);
  llvm::Value* unused = s.b.CreateSub(Literal(clamped, width), clamped);
  unused = Resize(s, AtMost(s, unused, width - 1), width);
  llvm::Value* extended = s.b.CreateAShr(s.b.CreateShl(field, unused), unused);
  s.Return(s.b.CreateSelect(s.b.CreateICmpEQ(length, Literal(length, 0)), Literal(a, 0), extended));
  return {};
}

Status EmitBfi(Site& s) {
  unsigned width = s.Width();
  llvm::Value *field = s.Operand(0), *into = s.Operand(1), *position = FieldOperand(s, 2);
  llvm::Value* mask = ShiftLeft(s, Ones(s, into, FieldOperand(s, 3), width), position, width);
  llvm::Value* placed = s.b.CreateAnd(ShiftLeft(s, field, position, width), mask);
  s.Return(s.b.CreateOr(s.b.CreateAnd(into, s.b.CreateNot(mask)), placed));
  return {};
}

Status EmitBmsk(Site& s) {
  llvm::Value *position = s.Operand(0), *length = s.Operand(1);
  if (s.Has(ir::kWrap)) {
    position = s.b.CreateAnd(position, Literal(position, 31));
    length = s.b.CreateAnd(length, Literal(length, 31));
  }
  s.Return(ShiftLeft(s, Ones(s, length, length, 32), position, 32));
  return {};
}

Status EmitFns(Site& s) {
  s.Return(EachLane(s.e, {s.Operand(0), s.Operand(1), s.Operand(2)},
                    [&](const std::vector<llvm::Value*>& arguments) {
                      return s.b.CreateCall(s.e.m.Service("ptx2cpu_fns"), arguments);
                    }));
  return {};
}

namespace {
// Which of the eight bytes byte `i` of the result is; bit 3 (general mode) repeats that byte's sign.
llvm::Value* PermuteSelector(Site& s, llvm::Value* control, uint32_t i) {
  llvm::Value* c = s.b.CreateAnd(control, Literal(control, 3));
  auto literal = [&](uint64_t v) { return Literal(control, v); };
  using enum ir::PermuteMode;
  switch (s.inst.attrs.permute) {
    case kF4e:
      return s.b.CreateAdd(c, literal(i));
    case kB4e:
      return s.b.CreateAnd(s.b.CreateSub(c, literal(i)), literal(7));
    case kRc8:
      return c;
    case kEcl:
      return s.b.CreateBinaryIntrinsic(intrinsic::umax, c, literal(i));
    case kEcr:
      return s.b.CreateBinaryIntrinsic(intrinsic::umin, c, literal(i));
    case kRc16:
      return s.b.CreateOr(s.b.CreateShl(s.b.CreateAnd(control, literal(1)), literal(1)), literal(i & 1));
    case kGeneral:
      return s.b.CreateAnd(s.b.CreateLShr(control, literal(4 * i)), literal(15));
  }
  std::unreachable();
}
}  // namespace

Status EmitPrmt(Site& s) {
  llvm::Value *low = Resize(s, s.Operand(0), 64), *high = Resize(s, s.Operand(1), 64),
              *control = s.Operand(2);
  llvm::Value* bytes = s.b.CreateOr(low, s.b.CreateShl(high, Literal(high, 32)));
  llvm::Value* result = Literal(control, 0);
  for (uint32_t i = 0; i < 4; ++i) {
    llvm::Value* selector = PermuteSelector(s, control, i);
    llvm::Value* shift =
        Resize(s, s.b.CreateShl(s.b.CreateAnd(selector, Literal(selector, 7)), Literal(selector, 3)), 64);
    llvm::Value* byte = Resize(s, s.b.CreateLShr(bytes, shift), 8);
    if (s.inst.attrs.permute == ir::PermuteMode::kGeneral) {
      llvm::Value* sign = s.b.CreateAShr(byte, Literal(byte, 7));
      byte = s.b.CreateSelect(AtLeast(s, selector, 8), sign, byte);
    }
    result = s.b.CreateOr(result, s.b.CreateShl(Resize(s, byte, 32), Literal(control, 8 * i)));
  }
  s.Return(result);
  return {};
}

namespace {
// The two-input function with the given four-entry truth table (index: b, c).
llvm::Value* TwoInputs(Site& s, uint32_t table, llvm::Value* b, llvm::Value* c) {
  auto& at = s.b;
  switch (table & 15) {
    case 0:
      return Literal(b, 0);
    case 1:
      return at.CreateNot(at.CreateOr(b, c));
    case 2:
      return at.CreateAnd(at.CreateNot(b), c);
    case 3:
      return at.CreateNot(b);
    case 4:
      return at.CreateAnd(b, at.CreateNot(c));
    case 5:
      return at.CreateNot(c);
    case 6:
      return at.CreateXor(b, c);
    case 7:
      return at.CreateNot(at.CreateAnd(b, c));
    case 8:
      return at.CreateAnd(b, c);
    case 9:
      return at.CreateNot(at.CreateXor(b, c));
    case 10:
      return c;
    case 11:
      return at.CreateOr(at.CreateNot(b), c);
    case 12:
      return b;
    case 13:
      return at.CreateOr(b, at.CreateNot(c));
    case 14:
      return at.CreateOr(b, c);
    default:
      return llvm::Constant::getAllOnesValue(b->getType());
  }
}
}  // namespace

// Split at a: f(0, b, c) where a is 0; where a is 1, what f(1, b, c) differs in is flipped.
Status EmitLop3(Site& s) {
  llvm::Value *a = s.Operand(0), *b = s.Operand(1), *c = s.Operand(2);
  uint32_t low = s.inst.attrs.index & 15, high = s.inst.attrs.index >> 4 & 15;
  llvm::Value* flip = s.b.CreateAnd(a, TwoInputs(s, low ^ high, b, c));
  s.Return(s.b.CreateXor(flip, TwoInputs(s, low, b, c)));
  return {};
}

}  // namespace ptx2cpu::lowering
