// LLVM's predicates for comparisons.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>

#include "ir/type.h"

namespace ptx2cpu::lowering {

// An integer predicate (ICMP) or a float predicate (FCMP), as the comparison is. nullopt: kNone.
std::optional<llvm::CmpInst::Predicate> PredicateOf(ir::Compare compare);

}  // namespace ptx2cpu::lowering
