#include "ptx-parser/translate/stack.h"

#include <algorithm>

#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

constexpr uint32_t kStackBytes = 16 * 1024, kStackAlign = 16;
constexpr int64_t kLeastAlign = 8;
// An address at which no thread has local memory, so that an access faults.
constexpr uint64_t kNoStack = 0x7fff0000;

}  // namespace

bool UsesStack(std::span<const Match> matches) {
  return std::ranges::any_of(matches, [](const Match& match) {
    return match.row == RowId::k_alloca_bytes || match.row == RowId::k_stacksave ||
           match.row == RowId::k_stackrestore;
  });
}

void Stack::Begin() {
  ir::Function& f = b_.f;
  ir::LocalVariable local{"stack", kStackBytes, kStackAlign, 0};
  local.offset = (f.local_bytes + kStackAlign - 1) / kStackAlign * kStackAlign;
  f.local_bytes = local.offset + kStackBytes;
  local_ = static_cast<uint32_t>(f.locals.size());
  f.locals.push_back(std::move(local));
  pointer_ = b_.ssa.Declare(Type::kI64);
  b_.ssa.Write(pointer_, b_.b.block, b_.Offset(Base(), kStackBytes));
}

ValueId Stack::Base() { return b_.b.Symbol(ir::Space::kLocal, local_); }

namespace rows {

namespace {
ValueId InTypeOf(Emitter& e, ValueId address) {
  return Bits(e.type()) == 32 ? e.b.Convert(Opcode::kTrunc, Type::kI32, address) : address;
}
ValueId ReadAddress(Emitter& e, size_t operand) {
  const ValueId value = e.Read(operand);
  return Bits(e.type()) == 32 ? e.b.Convert(Opcode::kZext, Type::kI64, value) : value;
}
}  // namespace

void stacksave(Emitter& e) { e.Write(0, InTypeOf(e, e.stack.ReadPointer())); }

void stackrestore(Emitter& e) {
  if (e.Operand(0).symbol_kind != ast::SymbolKind::kRegister)
    return e.Fail(ErrorCode::kSyntax, "stackrestore takes the register that stacksave has written");
  e.stack.WritePointer(ReadAddress(e, 0));
}

// An address relative to the window is aligned if both its base and the distance are.
void alloca_bytes(Emitter& e) {
  const int64_t wanted = e.Present(2) ? *e.Immediate(2) : kLeastAlign;
  if (wanted <= 0 || (wanted & (wanted - 1)) != 0)
    return e.Fail(ErrorCode::kSyntax, "an alignment is a power of two, not " + std::to_string(wanted));
  const int64_t align = std::max(wanted, kLeastAlign);
  if (align > kStackAlign * 64) {
    static_cast<void>(e.Unsupported("alloca with this alignment"));
    return;
  }
  const ValueId pointer = e.stack.ReadPointer(), base = e.stack.Base(), size = ReadAddress(e, 1);
  const ValueId mask = e.Const(Type::kI64, ~static_cast<uint64_t>(align - 1));
  const ValueId below =
      e.b.Binary(Opcode::kAnd, Type::kI64, e.b.Binary(Opcode::kSub, Type::kI64, pointer, size), mask);
  const ValueId room = e.b.Binary(Opcode::kSub, Type::kI64, pointer, base);
  const ValueId fits = e.b.Binary(Opcode::kAnd, Type::kI1, e.b.Icmp(ir::Compare::kUle, size, room),
                                  e.b.Icmp(ir::Compare::kUle, base, below));
  const ValueId result = e.b.Select(fits, below, e.Const(Type::kI64, kNoStack));
  e.stack.WritePointer(e.b.Select(fits, below, pointer));
  e.Write(0, InTypeOf(e, result));
}

}  // namespace rows
}  // namespace ptx2cpu::ptx
