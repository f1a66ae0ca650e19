// Measures the cost of the libraries over CPU engines: each call beside the engine's own, on one thread, in
// turns.
//
//   library_speed [--seconds S]     a table: medians of processor time, the engine's share of ours
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/libraries/calls.h"
#include "tools/bench/suite/clock.h"

namespace ptx2cpu::library_speed {

namespace {

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The time of one call; all calls are done at the end.
double TimeOf(const std::function<void()>& run, const std::function<void()>& wait, int calls) {
  const double begin = suite::SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  for (int call = 0; call < calls; ++call) run();
  wait();
  return (suite::SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - begin) / calls;
}

struct Times {
  double ours, engine;
};

Times Measure(const Comparison& comparison, double seconds) {
  // Small calls are timed many at a time.
  const auto at_once = [] {};
  const double once = TimeOf(comparison.engine, at_once, 1),
               first = TimeOf(comparison.ours, comparison.wait, 1);
  constexpr double kLeast = 2e-3;
  const int calls = std::clamp(static_cast<int>(kLeast / std::max(once, 1e-9)), 1, 2000);
  const int rounds = std::clamp(static_cast<int>(seconds / ((once + first) * calls)), 5, 200);
  std::vector<double> ours, engine;
  for (int round = 0; round < rounds; ++round) {
    engine.push_back(TimeOf(comparison.engine, at_once, calls));
    ours.push_back(TimeOf(comparison.ours, comparison.wait, calls));
  }
  return {Median(std::move(ours)), Median(std::move(engine))};
}

int Run(double seconds) {
  fmt::print("| call | engine | engine's time, us | ours, us | ratio | more, us | target |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  bool all_right = true;
  for (const Comparison& comparison : Comparisons()) {
    if (!comparison.missing.empty()) {
      fmt::print("| {} | {} is missing | - | - | - | - | - |\n", comparison.name, comparison.missing);
      continue;
    }
    const Times times = Measure(comparison, seconds);
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {} |\n", comparison.name,
               comparison.engine_name, times.engine * 1e6, times.ours * 1e6, times.engine / times.ours,
               (times.ours - times.engine) * 1e6, comparison.target);
    if (!comparison.agrees()) {
      all_right = false;
      fmt::print("\n{}: the results differ\n", comparison.name);
    }
  }
  return all_right ? 0 : 1;
}

}  // namespace

}  // namespace ptx2cpu::library_speed

int main(int argc, char** argv) {
  // Before the first call starts the pool.
  setenv("PTX2CPU_THREADS", "1", 1);
  double seconds = 2;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
      continue;
    }
    fmt::print(stderr, "usage: library_speed [--seconds S]\n");
    return 2;
  }
  return ptx2cpu::library_speed::Run(seconds);
}
