// 9.7.9.5 and 9.7.9.6: shfl.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::ShuffleMode;
using ir::Type;
using ir::ValueId;

namespace {

ShuffleMode ModeOf(const Emitter& e) {
  if (e.Has("up")) return ShuffleMode::kUp;
  if (e.Has("down")) return ShuffleMode::kDown;
  if (e.Has("bfly")) return ShuffleMode::kBfly;
  return ShuffleMode::kIdx;
}

void Shuffle(Emitter& e, ValueId members, uint32_t flags) {
  auto [value, in_range] =
      e.b.Inst2(Opcode::kShuffle, Type::kI32,
                {e.Read(1, Type::kI32), e.Read(2, Type::kI32), e.Read(3, Type::kI32), members},
                {.flags = flags, .shuffle = ModeOf(e)});
  const ast::Operand& destination = e.Operand(0);
  e.Write(0, value);
  if (destination.kind == ast::OperandKind::kPair)
    e.WriteOperand(e.ast.Children(destination)[1], in_range, false);
}

}  // namespace

void shfl_sync(Emitter& e) { Shuffle(e, e.Read(4, Type::kI32), 0); }
void shfl(Emitter& e) { Shuffle(e, e.Const(Type::kI32, 0xffffffffu), ir::kLegacy); }

}  // namespace ptx2cpu::ptx::rows
