// Reads the notation of instructions.def, which its head explains.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx-parser/match/table.h"

namespace ptx2cpu::ptx {

// Words of a modifier by the name of their group.
using Groups = std::map<std::string, std::vector<std::string>, std::less<>>;

std::string_view Trim(std::string_view text);
// Parts between separators, trimmed; empty ones are left out.
std::vector<std::string_view> Split(std::string_view text, char separator);

// "type = b32 b64; op = min max".
Groups ReadDefinitions(std::string_view text);
// One form, such as "add{.sat}.type d, a, b", of a row with groups of its own.
Form ReadForm(RowId row, std::string_view text, const Groups& own, const Groups& shared);

}  // namespace ptx2cpu::ptx
