// What single passes gain: the time of each kernel without one over its time with it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/suite/report.h"

namespace ptx2cpu::suite {

// The passes that `names` has, with commas between them, or "all": those that code is right without
// (Translator::OptionalPasses). Errors: kUsage for another name.
Result<std::vector<std::string>> PassesNamed(std::string_view names);
// The passes that change the code of a kernel of the row: others cannot gain anything there.
Result<std::set<std::string>> PassesThatChange(const Row& row, const std::string& suite);

struct Gain {
  std::string pass;
  Measured measured;  // with Setting::omit
};
std::string GainHeader();
std::string GainLine(const Gain& gain);
// The page tools/docs/ablation.md: a row for each pass, also for passes that change no kernel.
std::string GainMarkdown(const Report& head, std::span<const std::string> passes,
                         std::span<const Gain> gains);

}  // namespace ptx2cpu::suite
