// 9.7.14: matrix instructions. Fragments lie in registers of a whole warp.
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;

namespace {
// .aligned: all threads of the warp execute the same instruction.
constexpr uint32_t kAllLanes = 0xffffffffu;
}  // namespace

void movmatrix(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kMatrixTranspose, Type::kVoid, e.Read(1, Type::kI32),
                        e.Const(Type::kI32, kAllLanes)));
}

}  // namespace ptx2cpu::ptx::rows
