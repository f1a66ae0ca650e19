#include <algorithm>

#include "ptx-parser/match/table.h"

namespace ptx2cpu::ptx {

bool ConstantRule::Allows(int64_t value) const {
  return (values.empty() || std::ranges::find(values, value) != values.end()) && value % multiple == 0 &&
         value >= least && value <= most;
}

std::string ConstantRule::Text() const {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + std::to_string(values[i]);
  if (multiple != 1) text = "a multiple of " + std::to_string(multiple);
  if (least == INT64_MIN) return text;
  if (!text.empty()) text += ", ";
  if (most == INT64_MAX) return text + "at least " + std::to_string(least);
  return text + std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace ptx2cpu::ptx
