// Orders, scopes and spaces of memory instructions, by the words of the opcode.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

ir::Scope ScopeOf(const Emitter& e);               // kNone if no scope is written
ir::MemoryOrder LoadStoreOrder(const Emitter& e);  // weak unless written
ir::Space SpaceOfWords(const Emitter& e);          // of .global, .shared::cta ...; generic if none is written

// The generic address of a place in shared memory; another place's own address.
ir::ValueId RealAddress(Emitter& e, const Place& place);

// The attributes of atom, red and reductions of bulk copies: order, scope and space, and the operation on the
// last type of the opcode.
ir::Attrs AtomicAttrs(const Emitter& e, ir::Space space);
ir::AtomicOp AtomicOperation(const Emitter& e);
// The address of such an operation. A thread's own memory, which a name without a space may mean, by its
// generic address.
Place AtomicAddress(Emitter& e, size_t operand);

}  // namespace ptx2cpu::ptx::rows
