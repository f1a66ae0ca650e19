// Measured times as a table for a terminal, as JSON, as a page (BENCHMARKS.md) and as a chart.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/suite/measure.h"

namespace ptx2cpu::suite {

struct Report {
  std::string machine, date, command;  // one line each
  Held held = Held::kNative;
  std::string chart = {};        // file of the chart, for the page; empty: none
  std::array<Limits, 2> limits;  // of one thread, of all threads
  std::vector<Measured> measured;
};

std::string TableHeader(bool all_threads);
std::string TableLine(const Measured& measured, const Limits& limits);
std::string Summary(const Report& report, bool all_threads);  // geometric means, the lowest ratios
std::string Json(const Report& report);
std::string Markdown(const Report& report);
std::string Chart(const Report& report);  // SVG

}  // namespace ptx2cpu::suite
