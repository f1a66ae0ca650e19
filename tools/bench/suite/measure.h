// Times of one kernel by all contenders, in turns.
#pragma once

#include <optional>

#include "tools/bench/suite/contender.h"
#include "tools/bench/suite/limits.h"

namespace ptx2cpu::suite {

struct Figures {
  double seconds = 0;            // median: processor time of one thread, or wall clock time of all threads
  double spread = 0;             // half the distance of the quartiles, relative to the median
  double wall = 0, process = 0;  // medians of wall clock time and of the process's processor time
  int samples = 0;
};

struct Measured {
  const Row* row = nullptr;
  std::string size = {};
  bool all_threads = false;
  std::array<std::optional<Figures>, kContenders> figures = {};  // by Who
  double bytes = 0, flops = 0;
  bool doubles = false, is_product = false;

  const std::optional<Figures>& Of(Who who) const { return figures[static_cast<size_t>(who)]; }
  // Time of `who` relative to ours: above 1 ours is faster.
  std::optional<double> Ratio(Who who) const;
  // Which roof is lower for this problem, and the share of it that ours reaches.
  bool MemoryBound(const Limits& limits) const;
  double Share(const Limits& limits) const;
};

struct MeasureOptions {
  bool all_threads = false;
  double seconds = 0.3;  // of processor time, for the samples of a contender
  Setting setting = {};
};

// Errors: kInternal if a contender's result differs from that of OpenMP without -ffast-math on one thread.
Status Check(const Row& row, Size size, bool all_threads, const Setting& setting);
Result<Measured> Measure(const Row& row, const MeasureOptions& options);

double GeometricMean(std::span<const double> values);

}  // namespace ptx2cpu::suite
