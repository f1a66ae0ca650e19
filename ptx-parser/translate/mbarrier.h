// Changes of mbarrier objects by asynchronous copies.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

// These bytes have come: complete-tx of the object at the place.
void CompleteBytes(Emitter& e, const Place& place, ir::ValueId bytes);
// The address that operand `operand` names; an error outside of shared memory, of which `what` is the
// subject.
Place SharedAddress(Emitter& e, size_t operand, std::string_view what);
// The same of an mbarrier object.
Place ObjectAddress(Emitter& e, size_t operand);
// Notes what checks ask of asynchronous copies and their order (ptx2cpu_sync_step of runtime/abi/check.h);
// the code does nothing.
void NoteSync(Emitter& e, uint32_t step, ir::ValueId a, uint32_t b = 0);
void NoteSync(Emitter& e, uint32_t step, uint32_t a = 0, uint32_t b = 0);
// An arrival that counts once.
void ArriveOnce(Emitter& e, const Place& place);
// The part of a shared address of the cluster that is the same in every block.
ir::ValueId OffsetInWindow(Emitter& e, size_t operand);

}  // namespace ptx2cpu::ptx::rows
