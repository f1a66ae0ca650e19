// Comparisons as LLVM names them.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>

#include "ir/type.h"

namespace ptx2cpu::lowering {

// Of integers (ICMP) or of floats (FCMP), as the comparison is. nullopt: kNone.
std::optional<llvm::CmpInst::Predicate> PredicateOf(ir::Compare compare);

}  // namespace ptx2cpu::lowering
