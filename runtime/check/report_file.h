// The report of a process's checks as a file, and the findings that a file excludes from it.
#pragma once

#include <string>
#include <vector>

#include "runtime/check/finding.h"

namespace ptx2cpu::rt::check {

struct LocatedFinding {
  Finding finding;
  Place place, other;
};
// As JSON.
std::string JsonReport(const std::vector<LocatedFinding>& findings);
// SARIF 2.1.0 where the name ends in .sarif, else JSON of our own. False: the file cannot be written.
bool WriteReport(const std::string& path, const std::vector<LocatedFinding>& findings);

// A line "ERROR KERNEL [PTX LINE]": a word of findings.def or *, a pattern as of a shell, a line number.
// Empty lines and what follows a # are ignored.
struct Suppression {
  std::string error, kernel;
  uint32_t ptx_line = 0;
};
std::vector<Suppression> ReadSuppressions(const std::string& path);

}  // namespace ptx2cpu::rt::check
