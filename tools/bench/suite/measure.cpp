#include "tools/bench/suite/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/engine/background.h"
#include "tools/bench/suite/clock.h"

namespace ptx2cpu::suite {

namespace {

constexpr int kWarmUps = 3, kMinSamples = 5, kMaxSamples = 101;
constexpr double kWarmSeconds = 0.2;  // after these, and one run, a contender is warm
// Threads of pools spin for a while before they sleep: no contender shall pay for the one before.
constexpr auto kPause = std::chrono::milliseconds(3);

struct Sample {
  double thread = 0, wall = 0, process = 0;
};

Result<Sample> Run(const Problem& problem, const Contender& contender) {
  problem.Reset();
  const double thread = SecondsOf(CLOCK_THREAD_CPUTIME_ID), wall = SecondsOf(CLOCK_MONOTONIC),
               process = SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  TRY_STATUS(contender.run());
  return Sample{SecondsOf(CLOCK_THREAD_CPUTIME_ID) - thread, SecondsOf(CLOCK_MONOTONIC) - wall,
                SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - process};
}

double Quantile(std::vector<double>& values, double q) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Figures FiguresOf(const std::vector<Sample>& samples, Who who, bool all_threads) {
  std::vector<double> times, walls, processes;
  for (const Sample& sample : samples) {
    walls.push_back(sample.wall);
    processes.push_back(sample.process);
    // An OpenCL device may work in a thread of its own.
    times.push_back(all_threads ? sample.wall : who == Who::kOpenCl ? sample.process : sample.thread);
  }
  const double median = Quantile(times, 0.5);
  return {median, (Quantile(times, 0.75) - Quantile(times, 0.25)) / 2 / median, Quantile(walls, 0.5),
          Quantile(processes, 0.5), static_cast<int>(samples.size())};
}

Status CheckAll(const Row& row, const Problem& problem, std::span<const Contender> contenders) {
  problem.Clear();
  problem.Reset();
  TRY_STATUS(OpenMp(row, problem, 1, Held::kNative, false).run());
  const std::vector<std::byte> expected = problem.Results();
  for (const Contender& contender : contenders) {
    problem.Clear();
    problem.Reset();
    TRY_STATUS(contender.run());
    if (const Status same = problem.Compare(expected); !same) {
      return Fail(ErrorCode::kInternal, std::string(row.name) + ", " + std::string(NameOf(contender.who)) +
                                            ": " + same.error().Render());
    }
  }
  return {};
}

}  // namespace

std::optional<double> Measured::Ratio(Who who) const {
  const auto &ours = Of(Who::kOurs), &theirs = Of(who);
  if (!ours || !theirs) return std::nullopt;
  return theirs->seconds / ours->seconds;
}

bool Measured::MemoryBound(const Limits& limits) const {
  return bytes / limits.copy_bytes >= flops / (doubles ? limits.doubles : limits.floats);
}

double Measured::Share(const Limits& limits) const {
  const double roof =
      MemoryBound(limits) ? bytes / limits.copy_bytes : flops / (doubles ? limits.doubles : limits.floats);
  return roof / Of(Who::kOurs)->seconds;
}

Status Check(const Row& row, Size size, bool all_threads, const Setting& setting) {
  const Problem problem = row.problem(size);
  return CheckAll(row, problem, TRY(Contenders(row, problem, all_threads ? 0 : 1, setting)));
}

Result<Measured> Measure(const Row& row, const MeasureOptions& options) {
  const Problem problem = row.problem(Size::kFull);
  const std::vector<Contender> contenders =
      TRY(Contenders(row, problem, options.all_threads ? 0 : 1, options.setting));
  TRY_STATUS(CheckAll(row, problem, contenders));
  for (const Contender& contender : contenders) {
    double spent = 0;
    for (int i = 0; i < kWarmUps && spent < kWarmSeconds; ++i) spent += TRY(Run(problem, contender)).process;
  }
  rt::WaitForBackground();  // code for the block shapes
  std::array<std::vector<Sample>, kContenders> samples;
  std::array<double, kContenders> spent{};
  bool again = true;
  for (int round = 0; again && round < kMaxSamples; ++round) {
    again = false;
    for (const Contender& contender : contenders) {
      const auto who = static_cast<size_t>(contender.who);
      // A slow contender has enough samples before the others.
      if (round >= kMinSamples && spent[who] >= options.seconds) continue;
      if (options.all_threads) std::this_thread::sleep_for(kPause);
      const Sample sample = TRY(Run(problem, contender));
      samples[who].push_back(sample);
      spent[who] += sample.process;
      again = true;
    }
  }
  Measured measured{.row = &row,
                    .size = problem.size,
                    .all_threads = options.all_threads,
                    .bytes = problem.bytes,
                    .flops = problem.flops,
                    .doubles = problem.doubles,
                    .is_product = problem.product.has_value()};
  for (const Contender& contender : contenders) {
    const auto who = static_cast<size_t>(contender.who);
    measured.figures[who] = FiguresOf(samples[who], contender.who, options.all_threads);
  }
  return measured;
}

double GeometricMean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace ptx2cpu::suite
