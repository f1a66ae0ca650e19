// Atomics. One host thread interprets, so a read-modify-write is atomic because it is one step.
#include <algorithm>

#include "ir/interpret/machine.h"
#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::ir::interpret {

namespace {

constexpr uint64_t kAtomicCost = 100;  // of a slice: see kSpinCost

// Each half on its own.
template <typename Operation>
Bits128 Halves(Bits128 a, Bits128 b, Operation operation) {
  uint64_t low = operation(static_cast<uint64_t>(a & 0xFFFF), static_cast<uint64_t>(b & 0xFFFF));
  uint64_t high = operation(static_cast<uint64_t>(a >> 16 & 0xFFFF), static_cast<uint64_t>(b >> 16 & 0xFFFF));
  return low | high << 16;
}

Bits128 AddHalves(Type type, Bits128 a, Bits128 b) {
  const Format& format = FormatOf(type);
  return Halves(
      a, b, [&](uint64_t x, uint64_t y) { return AddFloats(format, x, y, Rounding::kNearestEven, false); });
}

Bits128 MinMaxHalves(Type type, Bits128 a, Bits128 b, bool maximum, uint32_t flags) {
  const Format& format = FormatOf(type);
  return Halves(a, b, [&](uint64_t x, uint64_t y) {
    return static_cast<uint64_t>(MinMax(format, x, y, maximum, flags));
  });
}

}  // namespace

Bits128 Combine(AtomicOp op, Type type, Bits128 old, Bits128 operand, uint32_t flags) {
  int width = Bits(type);
  Signed128 signed_old = AsSigned(old, width), signed_operand = AsSigned(operand, width);
  switch (op) {
    case AtomicOp::kAdd:
      return old + operand;
    case AtomicOp::kMinS:
      return signed_old < signed_operand ? old : operand;
    case AtomicOp::kMaxS:
      return signed_old > signed_operand ? old : operand;
    case AtomicOp::kMinU:
      return std::min(old, operand);
    case AtomicOp::kMaxU:
      return std::max(old, operand);
    case AtomicOp::kInc:
      return old >= operand ? 0 : old + 1;
    case AtomicOp::kDec:
      return old == 0 || old > operand ? operand : old - 1;
    case AtomicOp::kAnd:
      return old & operand;
    case AtomicOp::kOr:
      return old | operand;
    case AtomicOp::kXor:
      return old ^ operand;
    case AtomicOp::kExchange:
      return operand;
    case AtomicOp::kFAdd:
      return AddFloats(FormatOf(type), static_cast<uint64_t>(old), static_cast<uint64_t>(operand),
                       Rounding::kNearestEven, (flags & kFtz) != 0);
    case AtomicOp::kFMin:
    case AtomicOp::kFMax:
      return MinMax(FormatOf(type), static_cast<uint64_t>(old), static_cast<uint64_t>(operand),
                    op == AtomicOp::kFMax, flags);
    case AtomicOp::kAddF16x2:
      return AddHalves(Type::kF16, old, operand);
    case AtomicOp::kAddBF16x2:
      return AddHalves(Type::kBF16, old, operand);
    case AtomicOp::kMinF16x2:
      return MinMaxHalves(Type::kF16, old, operand, false, flags);
    case AtomicOp::kMaxF16x2:
      return MinMaxHalves(Type::kF16, old, operand, true, flags);
    case AtomicOp::kMinBF16x2:
      return MinMaxHalves(Type::kBF16, old, operand, false, flags);
    case AtomicOp::kMaxBF16x2:
      return MinMaxHalves(Type::kBF16, old, operand, true, flags);
    case AtomicOp::kMbarrier:
      return mbarrier::Update(static_cast<uint64_t>(old), static_cast<uint64_t>(operand));
    case AtomicOp::kNone:
      break;
  }
  return old;
}

namespace {
Result<std::byte*> LocateAtomic(Step& s) {
  s.thread.budget -= std::min(s.thread.budget, kAtomicCost);
  uint32_t size = static_cast<uint32_t>(Bytes(s.inst.type));
  return Locate(s, s.inst.attrs.space, s.Operand64(0), size, size, Access::kReadWrite);
}
}  // namespace

Status ExecuteAtomic(Step& s) {
  if (s.inst.attrs.atomic == AtomicOp::kNone) return s.Fault("atomic names no operation");
  std::byte* at = TRY(LocateAtomic(s));
  uint32_t flags = s.inst.attrs.flags;
  if (BlockOfShared(s.machine, reinterpret_cast<uint64_t>(at)) != nullptr)
    flags &= ~uint32_t{kFtz};  // through a generic address
  Bits128 old = Fetch(at, s.inst.type);
  Put(at, s.inst.type, Combine(s.inst.attrs.atomic, s.inst.type, old, s.Operand(1), flags));
  s.Return(old);
  return {};
}

Status ExecuteAtomicCas(Step& s) {
  std::byte* at = TRY(LocateAtomic(s));
  Bits128 old = Fetch(at, s.inst.type);
  if (old == s.Operand(1)) Put(at, s.inst.type, s.Operand(2));
  s.Return(old);
  return {};
}

}  // namespace ptx2cpu::ir::interpret
