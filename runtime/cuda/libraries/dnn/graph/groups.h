// Sums over groups of elements, in double precision; their order does not depend on the number of threads.
#pragma once

#include "runtime/cuda/libraries/dnn/graph/program.h"

namespace ptx2cpu::cudnn {

inline constexpr int64_t kLanes = 16;
template <size_t kSums>
using Totals = double[kSums][kLanes];

// What a total begins with, and the total of two.
struct Addition {
  static constexpr double kBegin = 0;
  static double Join(double a, double b) { return a + b; }
};

namespace internal {

// Groups whose elements are next to each other, one after the other.
template <typename Op, size_t kSums, typename Take, typename Done>
void TakeGroup(const Groups& groups, int64_t group, int64_t from, const Take& take, const Done& done) {
  Totals<kSums> totals;
  std::fill_n(&totals[0][0], kSums * kLanes, Op::kBegin);
  const auto& inner = groups.inside.inner;
  groups.inside.For(0, groups.inside.Rows(), [&](const auto& place) {
    const int64_t at = from + place[0], whole = inner.extent / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane)
        take(totals, lane, at + (i + lane) * inner.steps[0], group);
    }
    for (int64_t i = whole; i < inner.extent; ++i) take(totals, i - whole, at + i * inner.steps[0], group);
  });
  double sums[kSums];
  for (size_t sum = 0; sum < kSums; ++sum) {
    sums[sum] = totals[sum][0];
    for (int64_t lane = 1; lane < kLanes; ++lane) sums[sum] = Op::Join(sums[sum], totals[sum][lane]);
  }
  done(group, sums);
}

// Neighbouring groups together, row by row.
template <typename Op, size_t kSums, typename Take, typename Done>
void TakeGroups(const Groups& groups, int64_t group, int64_t count, int64_t from, const Take& take,
                const Done& done) {
  Totals<kSums> totals;
  std::fill_n(&totals[0][0], kSums * kLanes, Op::kBegin);
  const auto& inner = groups.inside.inner;
  groups.inside.For(0, groups.inside.Rows(), [&](const auto& place) {
    for (int64_t i = 0; i < inner.extent; ++i) {
      const int64_t at = from + place[0] + i * inner.steps[0];
      for (int64_t lane = 0; lane < count; ++lane) take(totals, lane, at + lane, group + lane);
    }
  });
  for (int64_t lane = 0; lane < count; ++lane) {
    double sums[kSums];
    for (size_t sum = 0; sum < kSums; ++sum) sums[sum] = totals[sum][lane];
    done(group + lane, sums);
  }
}

}  // namespace internal

// take(totals, lane, an element's place, its group) adds an element to totals[...][lane]; done(group, sums)
// gets the kSums totals of each group. Groups are numbered in the order of the output, which is packed.
template <typename Op, size_t kSums, typename Take, typename Done>
void ForGroups(const Groups& groups, const Take& take, const Done& done) {
  const auto& kept = groups.kept.inner;
  const bool together = kept.steps[1] == 1 && kept.extent > 1 && groups.count > 1;
  const int64_t at_once = together ? kLanes : 1, tiles = (kept.extent + at_once - 1) / at_once;
  const int64_t grain = std::max<int64_t>(16384 / std::max<int64_t>(groups.count * at_once, 1), 1);
  libraries::ForRanges(groups.kept.Rows() * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const auto places = groups.kept.PlacesOf(piece / tiles);
      const int64_t first = piece % tiles * at_once;
      const int64_t group = places[0] + first, from = places[1] + first * kept.steps[1];
      if (together) {
        internal::TakeGroups<Op, kSums>(groups, group, std::min(at_once, kept.extent - first), from, take,
                                        done);
      } else {
        internal::TakeGroup<Op, kSums>(groups, group, from, take, done);
      }
    }
  });
}

}  // namespace ptx2cpu::cudnn
