// Kernels whose output is numbers: saxpy, histogram, sort, scan, edit distance.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tools/demo_program/exhibit.h"

namespace ptx2cpu::demo {

namespace {

// "name  1 2 3 4 ... 9": the first values of a list in columns.
template <typename T>
std::string Row(std::string_view name, std::span<const T> values, size_t shown, int width) {
  std::string line = fmt::format("  {:<8}", name);
  for (size_t i = 0; i < std::min(shown, values.size()); ++i) line += fmt::format("{:>{}}", values[i], width);
  if (shown < values.size()) line += " ...";
  return line;
}

}  // namespace

Status ShowSaxpy(Run& run) {
  constexpr uint32_t kCount = 1'000'003;  // no multiple of the block: the last threads leave early
  constexpr float kFactor = 2.5f;
  std::vector<float> x(kCount), y(kCount);
  for (uint32_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(i % 10);
  std::vector<float> wanted(kCount);
  for (uint32_t i = 0; i < kCount; ++i) wanted[i] = std::fma(kFactor, x[i], y[i]);
  run.page().Line(Row<float>("x", x, 9, 7));
  run.page().Line(Row<float>("y", y, 9, 7));
  TRY_STATUS(
      run.Launch({.grid = {BlocksFor(kCount, 256)}, .block = {256}}, kFactor, x.data(), y.data(), kCount));
  run.page().Line(Row<float>("2.5x+y", y, 9, 7));
  run.CheckEqual<float>(y, wanted, "floats");
  return {};
}

Status ShowHistogram(Run& run) {
  constexpr uint32_t kCount = 2'000'000;
  Draws draws(11);
  std::vector<uint8_t> samples(kCount);
  for (uint8_t& sample : samples)
    sample =
        static_cast<uint8_t>((draws.Below(256) + draws.Below(256) + draws.Below(256) + draws.Below(256)) / 4);
  std::vector<uint32_t> bins(256), wanted(256);
  TRY_STATUS(run.Launch({.grid = {32}, .block = {256}}, samples.data(), bins.data(), kCount));
  for (const uint8_t sample : samples) ++wanted[sample];

  std::vector<uint32_t> sums;
  for (size_t i = 0; i < bins.size(); i += 16)
    sums.push_back(std::accumulate(bins.begin() + i, bins.begin() + i + 16, 0u));
  const uint32_t most = *std::max_element(sums.begin(), sums.end());
  for (size_t i = 0; i < sums.size(); ++i) {
    run.page().Line(fmt::format("  {:>3}..{:<3} {:>7} {}", i * 16, i * 16 + 15, sums[i],
                                std::string(sums[i] * uint64_t{58} / most, '#')));
  }
  run.CheckEqual<uint32_t>(bins, wanted, "bins");
  return {};
}

Status ShowSort(Run& run) {
  constexpr uint32_t kLength = 2048, kSegments = 8;
  Draws draws(3);
  std::vector<int32_t> data(kLength * kSegments);
  for (int32_t& value : data) value = static_cast<int32_t>(draws.Below(20000)) - 10000;
  std::vector<int32_t> wanted = data;
  for (uint32_t i = 0; i < kSegments; ++i) {
    const auto begin = wanted.begin() + i * kLength, end = begin + kLength;
    if (i % 2 == 0)
      std::sort(begin, end);
    else
      std::sort(begin, end, std::greater<>());
  }
  run.page().Line(Row<int32_t>("before", data, 9, 7));
  TRY_STATUS(
      run.Launch({.grid = {kSegments}, .block = {256}, .shared_bytes = 4 * kLength}, data.data(), kLength));
  run.page().Line(Row<int32_t>("up", data, 9, 7));
  run.page().Line(Row<int32_t>("down", std::span<const int32_t>(data).subspan(kLength), 9, 7));
  run.CheckEqual<int32_t>(data, wanted,
                          fmt::format("words in {} segments, by turns upwards and downwards,", kSegments));
  return {};
}

Status ShowScan(Run& run) {
  constexpr uint32_t kCount = 1024 * 64, kBlock = 1024;
  Draws draws(5);
  std::vector<uint32_t> in(kCount), out(kCount), totals(kCount / kBlock), wanted(kCount);
  for (uint32_t& value : in) value = draws.Below(10);
  for (uint32_t i = 0; i < kCount; ++i) wanted[i] = in[i] + (i % kBlock == 0 ? 0 : wanted[i - 1]);
  TRY_STATUS(run.Launch({.grid = {kCount / kBlock}, .block = {kBlock}}, in.data(), out.data(), totals.data(),
                        kCount));
  run.page().Line(Row<uint32_t>("in", in, 16, 4));
  run.page().Line(Row<uint32_t>("sums", out, 16, 4));
  run.CheckEqual<uint32_t>(out, wanted, "sums");
  return {};
}

namespace {

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int cost = std::min({diagonal + (a[i - 1] != b[j - 1]), row[j] + 1, row[j - 1] + 1});
      diagonal = std::exchange(row[j], cost);
    }
  }
  return row.back();
}

}  // namespace

Status ShowEditDistance(Run& run) {
  constexpr std::string_view kPairs[][2] = {
      {"saturday", "sundries"}, {"elephant", "relevant"}, {"parallel", "parallel"}, {"triangle", "integral"}};
  constexpr int kLength = 8, kPairCount = std::size(kPairs);
  std::string a, b;
  std::vector<int32_t> wanted;
  for (const auto& [first, second] : kPairs)
    a += first, b += second, wanted.push_back(EditDistance(first, second));
  std::vector<int32_t> distances(kPairCount);
  const Shape shape{.grid = {kPairCount}, .block = {32}, .shared_bytes = 12 * (kLength + 1)};
  TRY_STATUS(run.Launch(shape, a.data(), b.data(), distances.data(), kLength, kLength));
  for (int i = 0; i < kPairCount; ++i)
    run.page().Line(fmt::format("  {} -> {}   {} letters changed, added or removed", kPairs[i][0],
                                kPairs[i][1], distances[i]));
  run.CheckEqual<int32_t>(distances, wanted, "distances");
  return {};
}

}  // namespace ptx2cpu::demo
