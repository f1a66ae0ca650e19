// Comparison of a kernel's output with what is expected, by the manifest's rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/record/manifest.h"

namespace ptx2cpu::rt {

// Nothing when `actual` is as expected; else one line: how many elements differ, and the first with both
// values.
std::optional<std::string> FindDifference(const Expectation& expectation, const ScalarType& type,
                                          const std::vector<std::byte>& actual,
                                          const std::vector<std::byte>& expected);

// The same for what a kernel printed.
std::optional<std::string> FindStdoutDifference(StdoutRule rule, const std::string& actual,
                                                const std::string& expected);

}  // namespace ptx2cpu::rt
