#include "tools/api_table/api_table.h"

namespace ptx2cpu::api_table {

namespace {

std::string StateText(const Function& function) {
  switch (function.state) {
    case State::kImplemented:
    case State::kReports:
    case State::kFamily:
      return "implemented";
    case State::kRefused:
      return "refused: `" + function.code + "`";
    case State::kIgnored:
      return "ignored, success";
  }
  return "";
}

std::string VersionText(const Function& function) {
  if (function.first == function.last) return std::to_string(function.first);
  if (function.last == 1 << 30) return std::to_string(function.first) + " and later";
  return std::to_string(function.first) + " to " + std::to_string(function.last);
}

}  // namespace

std::string WriteCoverage(const Table& table, const Target& target) {
  size_t refused = 0, ignored = 0;
  for (const Function& function : table.functions) {
    refused += function.state == State::kRefused;
    ignored += function.state == State::kIgnored;
  }
  const size_t implemented = table.functions.size() - refused - ignored;
  const bool driver = target.space == "driver";
  std::string out = "# " + target.title + "\n\n";
  // The page names the table as people find it: from the root of the repository.
  out +=
      "Made from `" + target.file + "`; `cmake --build build/release --target update_docs` rewrites it.\n\n";
  out += "| state | functions |\n|---|---|\n| implemented | " + std::to_string(implemented) +
         " |\n| refused | " + std::to_string(refused) + " |\n| ignored | " + std::to_string(ignored) +
         " |\n\n";
  out += driver ? "| function | since | also | state |\n|---|---|---|---|\n"
                : "| function | versions | also | state |\n|---|---|---|---|\n";
  for (const Function& function : table.functions) {
    out += "| `" + function.name + "` | " + VersionText(function) + " | " +
           (function.variant.empty() ? "" : "`_" + function.variant + "`") + " | " + StateText(function) +
           " |\n";
  }
  return out;
}

}  // namespace ptx2cpu::api_table
