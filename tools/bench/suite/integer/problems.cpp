#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem Md5(Size size) {
  const uint32_t threads = size == Size::kFull ? 65536 : 700, words = size == Size::kFull ? 64 : 20;
  Problem problem{.size = fmt::format("{} candidates, {} of a thread", threads * words, words)};
  std::vector<uint32_t> left, table;
  for (const uint32_t word : Words(threads, 1, 26 * 26 * 26)) {
    left.push_back((word % 26 + 97) << 16 | (word / 26 % 26 + 97) << 24);
    left.push_back(0x61616161 + word / 676);
  }
  for (uint32_t word = 0; word < words; ++word) table.push_back((word % 26 + 97) | (word / 26 + 97) << 8);
  const uint32_t mask = size == Size::kFull ? 0xffff : 0x3ff;
  const Argument lefts = problem.In(left), rights = problem.In(table),
                 found = problem.InOut(std::vector<uint32_t>(2)), length = problem.Value(words),
                 wanted = problem.Value(0x5ca1ab1eu), bits = problem.Value(mask),
                 count = problem.Value(threads);
  problem.Launch("md5", {Blocks(threads, 256)}, {256}, {lefts, rights, found, length, wanted, bits, count});
  return problem;
}

Problem BitonicSort(Size size) {
  const uint32_t n = size == Size::kFull ? 262144 : 4096;
  Problem problem{.size = fmt::format("{} words", n)};
  const Argument words = problem.InOut(Words(n, 1, 0xffffffff)), count = problem.Value(n);
  problem.Launch("bitonic_shared", {n / 1024}, {512}, {words, problem.Value(2u), problem.Value(1024u)});
  for (uint32_t stage = 2048; stage <= n; stage *= 2) {
    for (uint32_t distance = stage / 2; distance > 512; distance /= 2)
      problem.Launch("bitonic_global", {n / 512}, {256},
                     {words, problem.Value(stage), problem.Value(distance)});
    problem.Launch("bitonic_shared", {n / 1024}, {512}, {words, problem.Value(stage), problem.Value(stage)});
  }
  static_cast<void>(count);  // for OpenMP
  return problem;
}

}  // namespace ptx2cpu::suite
