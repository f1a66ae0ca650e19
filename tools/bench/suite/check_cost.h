// What checks of running kernels cost: the time of each kernel with them over its time without.
#pragma once

#include <span>
#include <string>

#include "tools/bench/suite/report.h"

namespace ptx2cpu::suite {

// Errors: kInternal if the errors that checks of these kinds have found, as words of findings.def, are not
// those that the kernel has.
Status CheckFound(const Row& row, std::span<const std::string_view> errors, uint32_t kinds);
// Lines of a table for a terminal. `report` holds kernels that were measured with Setting::checks.
std::string CheckHeader(const std::string& kinds);
std::string CheckLine(const Measured& measured);
std::string CheckSummary(const Report& report);  // geometric mean, the highest
// One section of the page tools/docs/check_cost.md; with its head where `is_first`.
std::string CheckMarkdown(const Report& report, const std::string& kinds, bool is_first);

}  // namespace ptx2cpu::suite
