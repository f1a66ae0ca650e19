// The reference of PTX instructions for people: the instruction table, joined with the vector files that test
// its rows.
#pragma once

#include <filesystem>
#include <string>

#include "ir/result.h"

namespace ptx2cpu::docs {

// Markdown: counts, one table per family in the order of instructions.def, one line per row. `vectors` is
// tests/ptx.
Result<std::string> RenderInstructionReference(const std::filesystem::path& vectors);

}  // namespace ptx2cpu::docs
