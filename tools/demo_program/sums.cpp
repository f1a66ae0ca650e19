// Kernels that sum: eight ways to reduce a block, and a tiled matrix product.
#include <fmt/format.h>

#include <numeric>

#include "tools/demo_program/exhibit.h"

namespace ptx2cpu::demo {

namespace {

struct Reduction {
  std::string_view kernel, how;
  uint32_t
      per_block;  // elements that one block takes, as a multiple of its threads; 0: any number (grid stride)
};

constexpr Reduction kReductions[] = {
    {"reduce_interleaved_modulo", "a remainder chooses the threads", 1},
    {"reduce_interleaved_index", "consecutive threads", 1},
    {"reduce_sequential", "halves folded", 1},
    {"reduce_first_add", "one addition while loading", 2},
    {"reduce_last_warp", "last warp without barriers", 2},
    {"reduce_unrolled", "unrolled by templates", 1},
    {"reduce_grid_stride", "many elements per thread", 0},
    {"reduce_shuffle", "warp shuffles", 0},
};

}  // namespace

Status ShowReductions(Run& run) {
  constexpr uint32_t kCount = 3'000'000, kBlock = 256;
  Draws draws(13);
  std::vector<uint32_t> in(kCount);
  for (uint32_t& value : in) value = draws.Below(1000);
  const uint32_t wanted = std::accumulate(in.begin(), in.end(), 0u);
  run.page().Line(fmt::format("  {:<26} {:<30} {:>7} {:>10}", "kernel", "how", "ms", "sum"));
  size_t wrong = 0;
  for (const Reduction& reduction : kReductions) {
    const uint32_t blocks = reduction.per_block == 0 ? 128 : BlocksFor(kCount, kBlock * reduction.per_block);
    std::vector<uint32_t> sums(blocks);
    Run one(run.program(), TRY(run.program().Get(reduction.kernel)), run.page());
    const Shape shape{.grid = {blocks}, .block = {kBlock}, .shared_bytes = 4 * kBlock};
    const bool last = &reduction == &kReductions[std::size(kReductions) - 1];
    const auto start = std::chrono::steady_clock::now();
    TRY_STATUS((last ? run : one).Launch(shape, in.data(), sums.data(), kCount));
    const double milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    const uint32_t sum = std::accumulate(sums.begin(), sums.end(), 0u);
    run.page().Line(
        fmt::format("  {:<26} {:<30} {:>7.2f} {:>10}", reduction.kernel, reduction.how, milliseconds, sum));
    wrong += sum != wanted;
  }
  run.Check(wrong, std::size(kReductions), "sums");
  return {};
}

Status ShowMatrixProduct(Run& run) {
  constexpr int kRows = 250, kColumns = 270, kInner = 260;  // no multiples of the tile
  Draws draws(17);
  std::vector<float> a(kRows * kInner), b(kInner * kColumns), c(kRows * kColumns), wanted(c.size());
  for (float& value : a) value = draws.Unit() - 0.5f;
  for (float& value : b) value = draws.Unit() - 0.5f;
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kInner; ++k) {
      for (int column = 0; column < kColumns; ++column) {
        float& sum = wanted[row * kColumns + column];
        sum = std::fma(a[row * kInner + k], b[k * kColumns + column], sum);
      }
    }
  }
  const Shape shape{.grid = {BlocksFor(kColumns, 16), BlocksFor(kRows, 16)}, .block = {16, 16}};
  TRY_STATUS(run.Launch(shape, a.data(), b.data(), c.data(), kRows, kColumns, kInner));
  run.page().Line(fmt::format("  {}x{} times {}x{}; a corner of A, of B, and of the product:", kRows, kInner,
                              kInner, kColumns));
  const auto corner = [](const std::vector<float>& matrix, int pitch, int row) {
    std::string text;
    for (int i = 0; i < 3; ++i) text += fmt::format("{:>7.3f}", matrix[row * pitch + i]);
    return text;
  };
  for (int row = 0; row < 3; ++row) {
    run.page().Line(fmt::format("  {} |{} |{}", corner(a, kInner, row), corner(b, kColumns, row),
                                corner(c, kColumns, row)));
  }
  run.CheckEqual<float>(c, wanted, "elements");
  return {};
}

}  // namespace ptx2cpu::demo
