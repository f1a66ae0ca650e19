// Two versions of this program, run in turns.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "tools/bench/versions/versions.h"

namespace ptx2cpu::bench {

namespace {
constexpr int kTurns = 7;
}

Result<std::vector<Timing>> RunProgram(const std::string& path, const std::string& corpus_bin) {
  const std::string command = "'" + path + "' --plain '" + corpus_bin + "'";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Fail(ErrorCode::kUsage, "cannot run " + path);
  std::vector<Timing> timings;
  char name[128];
  double nanoseconds = 0;
  while (std::fscanf(pipe, "%127s %lf", name, &nanoseconds) == 2)
    timings.push_back({.name = name, .nanoseconds = nanoseconds});
  if (pclose(pipe) != 0 || timings.empty()) return Fail(ErrorCode::kUsage, path + " failed");
  return timings;
}

Status Compare(const std::string& self, const std::string& other, const std::string& corpus_bin, bool json) {
  std::map<std::string, std::vector<double>> ours, theirs;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const Timing& timing : TRY(RunProgram(self, corpus_bin)))
      ours[timing.name].push_back(timing.nanoseconds);
    for (const Timing& timing : TRY(RunProgram(other, corpus_bin)))
      theirs[timing.name].push_back(timing.nanoseconds);
  }
  fmt::print("{}",
             json ? "[" : fmt::format("{:<32}{:>12}{:>12}{:>8}\n", "kernel", "this us", "other us", "ratio"));
  const char* comma = "";
  for (const auto& [name, times] : ours) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) continue;
    const double here = Median(times), there = Median(found->second);
    if (json) {
      fmt::print("{}\n  {{\"kernel\": \"{}\", \"this_ns\": {:.0f}, \"other_ns\": {:.0f}, \"ratio\": {:.3f}}}",
                 comma, name, here, there, here / there);
      comma = ",";
    } else {
      fmt::print("{:<32}{:>12.2f}{:>12.2f}{:>8.2f}\n", name, here / 1e3, there / 1e3, here / there);
    }
  }
  if (json) fmt::print("\n]\n");
  return {};
}

}  // namespace ptx2cpu::bench
