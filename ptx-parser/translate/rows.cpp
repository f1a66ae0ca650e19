#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

RowFunction Find(RowId row) {
  static constexpr RowFunction kFunctions[] = {
#define ROW(name, family, section, syntax, definitions) name,
#define ROW_PARSE_ONLY(name, family, section, syntax, definitions) nullptr,
#define GROUP(name, words)
#include "ptx-parser/match/instructions.def"
#undef ROW
#undef ROW_PARSE_ONLY
#undef GROUP
  };
  return kFunctions[static_cast<size_t>(row)];
}

}  // namespace ptx2cpu::ptx::rows
