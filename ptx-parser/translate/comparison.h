// Comparisons by PTX's names, shared by set, setp and their half-precision forms.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

// The IR predicate of .CmpOp (or .FCmpOp) for a source type.
ir::Compare CompareOf(const Emitter& e, PtxType type);
// a CmpOp b.
ir::ValueId CompareValues(Emitter& e, ir::Compare compare, ir::ValueId a, ir::ValueId b);
// result BoolOp c, or the result itself where the form has no BoolOp. `c` is operand 3.
ir::ValueId Combine(Emitter& e, ir::ValueId result, ir::ValueId c);
// Operand 3 if the form has one.
ir::ValueId ReadCombined(Emitter& e);

}  // namespace ptx2cpu::ptx::rows
