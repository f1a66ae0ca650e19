// One function per translated row of the PTX table, named after the row; a row without one does not link.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

#define ROW(name, family, section, syntax, definitions) void name(Emitter& e);
#define ROW_PARSE_ONLY(name, family, section, syntax, definitions)
#define GROUP(name, words)
#include "ptx-parser/match/instructions.def"
#undef ROW
#undef ROW_PARSE_ONLY
#undef GROUP

using RowFunction = void (*)(Emitter& e);
RowFunction Find(RowId row);  // null for rows that are not translated

}  // namespace ptx2cpu::ptx::rows
