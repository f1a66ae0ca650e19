// Choosing modifier combinations of a form so that every pair of words occurs, not every product of all
// words.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ptx-parser/match/table.h"

namespace ptx2cpu::vectors {

// One way to write a form: the chosen word of each element ("" where an optional one is left out).
using Choice = std::vector<std::string>;

// A small set of choices in which each pair of words of different elements appears together at least once, in
// a fixed order, those with fewer optional words first. Linked elements ({.x.y}) appear together or not at
// all. Choices in `excluded` (found illegal) are not made and cover nothing.
std::vector<Choice> ChoosePairwise(const ptx::Form& form, const std::set<Choice>& excluded);

}  // namespace ptx2cpu::vectors
