#include "tools/bench/suite/check_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/abi/check.h"

namespace ptx2cpu::suite {

namespace {

double MillisecondsOf(const Measured& measured, Who who) { return measured.Of(who)->seconds * 1e3; }

std::vector<double> Factors(const Report& report) {
  std::vector<double> factors;
  for (const Measured& measured : report.measured) factors.push_back(*measured.Ratio(Who::kChecked));
  return factors;
}

}  // namespace

Status CheckFound(const Row& row, std::span<const std::string_view> errors, uint32_t kinds) {
  const auto other = std::ranges::find_if(errors, [&](std::string_view error) { return error != row.finds; });
  if (other != errors.end())
    return Fail(ErrorCode::kInternal,
                fmt::format("checks find '{}' in {}, which has no such error (see above)", *other, row.name));
  const bool is_wanted = row.finds == "race" && (kinds & PTX2CPU_CHECKS_RACE) != 0;
  if (is_wanted && errors.empty())
    return Fail(ErrorCode::kInternal, fmt::format("checks do not find '{}' in {}", row.finds, row.name));
  return {};
}

std::string CheckHeader(const std::string& kinds) {
  return fmt::format("{:<20}{:>12}{:>8}{:>12}{:>8}{:>9}\n", kinds, "plain ms", "spread", "checked ms",
                     "spread", "factor");
}

std::string CheckLine(const Measured& measured) {
  return fmt::format("{:<20}{:>12.3f}{:>6.0f} %{:>12.3f}{:>6.0f} %{:>9.2f}\n", measured.row->name,
                     MillisecondsOf(measured, Who::kOurs), 100 * measured.Of(Who::kOurs)->spread,
                     MillisecondsOf(measured, Who::kChecked), 100 * measured.Of(Who::kChecked)->spread,
                     *measured.Ratio(Who::kChecked));
}

std::string CheckSummary(const Report& report) {
  const auto factors = Factors(report);
  return fmt::format(
      "time with checks / time without: geometric mean {:.2f}, highest {:.2f}, of {} kernels\n",
      GeometricMean(factors), *std::ranges::max_element(factors), factors.size());
}

std::string CheckMarkdown(const Report& report, const std::string& kinds, bool is_first) {
  std::string text;
  if (is_first) {
    text = fmt::format(
        "# What checks cost\n\nEvery kernel of `tools/bench/suite` on one thread, with and without "
        "`--check`: medians of alternating runs, in\nmilliseconds of processor time, and their "
        "quotient.\n\n- machine: {}\n- date: {}\n- command: `{}`\n",
        report.machine, report.date, report.command);
  }
  text += fmt::format(
      "\n## {}\n\n| kernel | size | plain | spread | checked | spread | factor "
      "|\n|---|---|---|---|---|---|---|\n",
      kinds);
  for (const Measured& measured : report.measured) {
    text += fmt::format("| `{}` | {} | {:.3f} | {:.0f} % | {:.3f} | {:.0f} % | {:.2f} |\n",
                        measured.row->name, measured.size, MillisecondsOf(measured, Who::kOurs),
                        100 * measured.Of(Who::kOurs)->spread, MillisecondsOf(measured, Who::kChecked),
                        100 * measured.Of(Who::kChecked)->spread, *measured.Ratio(Who::kChecked));
  }
  return text + "\n- " + CheckSummary(report);
}

}  // namespace ptx2cpu::suite
