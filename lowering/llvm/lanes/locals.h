// Local variables of lanes that run at once: word after word, each of all lanes, so that a word with one
// offset in all lanes is one vector, and offsets that are constants leave values after LLVM's promotion.
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// The bytes of such a word. 0: some access needs a thread's locals in one piece.
unsigned LocalGranule(const FunctionEmitter& e);

}  // namespace ptx2cpu::lowering
