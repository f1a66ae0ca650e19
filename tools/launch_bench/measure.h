// Times of launches, as medians over batches; each implementation has the same four operations.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace ptx2cpu::launch_bench {

// One system that launches kernels. Times are wall-clock microseconds.
struct System {
  std::string name;
  std::function<void()> launch;               // an empty kernel of one block of 32 threads, asynchronously
  std::function<void()> finish;               // until all is done
  std::function<void(unsigned)> launch_grid;  // an almost empty kernel of that many blocks of one thread
  std::function<void(unsigned)> streams;  // has so many streams or queues from now on; empty: not measured
  std::function<void()> graph;  // launches a graph of kGraphNodes empty kernels; empty: there are none
};
inline constexpr unsigned kGraphNodes = 100;

inline double Now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Median over `batches` of the time of one of `count` calls, the finish included.
inline double PerCall(unsigned batches, unsigned count, const std::function<void()>& call,
                      const std::function<void()>& finish) {
  std::vector<double> times;
  for (unsigned batch = 0; batch < batches; ++batch) {
    const double begin = Now();
    for (unsigned i = 0; i < count; ++i) call();
    finish();
    times.push_back((Now() - begin) / count);
  }
  return Median(std::move(times));
}

// Empty if the library is missing; `why` explains it.
System OpenDriver(const std::string& library, std::string& why);
System OpenOpenCl(std::string& why);

}  // namespace ptx2cpu::launch_bench
