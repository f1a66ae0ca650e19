// PTX modifiers that are also words of the IR's attributes (ir/attributes.def).
#pragma once

#include "ir/result.h"
#include "ir/type.h"
#include "ptx-parser/match/table.h"

namespace ptx2cpu::ptx {

// The value with that word. The PTX table and attributes.def must agree: another word is our own bug.
template <typename Enum>
Enum AttributeOf(Word word) {
  for (int i = 0; i < ir::kCountOf<Enum>; ++i) {
    if (Word(ir::Name(static_cast<Enum>(i))) == word) return static_cast<Enum>(i);
  }
  CHECK(false, "a modifier that the PTX table has and the IR's attributes do not");
}

}  // namespace ptx2cpu::ptx
