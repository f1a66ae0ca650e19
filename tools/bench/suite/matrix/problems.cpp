#include <fmt/format.h>

#include <bit>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

namespace {

constexpr uint32_t kSide = 128, kThreads = 256;  // of the blocks of kernels.cu

// Between 2^-10 and 1, with as many significant bits as all types but bf16 have. Sums of numbers with few
// bits are faster (runtime/warp/matrix_short.h).
std::vector<float> Factors(uint32_t n, uint32_t seed) {
  std::vector<float> values;
  for (const uint32_t word : Words(size_t{n} * n, seed, 1 << 24)) {
    const float value = static_cast<float>(word | 1 << 14) / (1 << 24);
    values.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000));
  }
  return values;
}
std::vector<uint8_t> Elements(ElementType type, uint32_t n, uint32_t seed) {
  if (type == ElementType::kS8) return Bytes(size_t{n} * n, seed);
  std::vector<uint8_t> bytes;
  for (const float value : Factors(n, seed)) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t half = ((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff);
    const uint32_t element = type == ElementType::kF16    ? half
                             : type == ElementType::kBF16 ? bits >> 16
                                                          : bits;
    for (uint32_t n_byte = 0; n_byte < BytesOf(type); ++n_byte)
      bytes.push_back(static_cast<uint8_t>(element >> 8 * n_byte));
  }
  return bytes;
}

// Sums of floats with the bits of an H100, or by chains of multiply-adds.
Problem Product(std::string kernel, ElementType type, Size size, std::string sums = "recorded") {
  const uint32_t n = size == Size::kFull ? 1024 : kSide;
  Problem problem{.flops = 2.0 * n * n * n, .size = fmt::format("{0} x {0}, tile 128 x 128", n)};
  const Argument a = problem.In(Elements(type, n, 1)), b = problem.In(Elements(type, n, 2));
  const Argument c = type == ElementType::kS8 ? problem.Out<uint32_t>(size_t{n} * n)
                                              : problem.Out<float>(size_t{n} * n, {.relative = 1e-4});
  const Argument side = problem.Value(n), bytes = problem.Value(n * BytesOf(type));
  problem.Launch(std::move(kernel), {n / kSide, n / kSide}, {kThreads}, {a, b, c, side, bytes});
  problem.product = MatrixProduct{type, n, a, b, c};
  problem.matrix_sums = std::move(sums);
  return problem;
}

}  // namespace

Problem MmaF16(Size size) { return Product("mma_f16", ElementType::kF16, size); }
Problem MmaBf16(Size size) { return Product("mma_bf16", ElementType::kBF16, size); }
Problem MmaTf32(Size size) { return Product("mma_tf32", ElementType::kTF32, size); }
Problem ChainedF16(Size size) { return Product("mma_f16", ElementType::kF16, size, "chained"); }
Problem ChainedBf16(Size size) { return Product("mma_bf16", ElementType::kBF16, size, "chained"); }
Problem ChainedTf32(Size size) { return Product("mma_tf32", ElementType::kTF32, size, "chained"); }
Problem MmaS8(Size size) { return Product("mma_s8", ElementType::kS8, size); }

}  // namespace ptx2cpu::suite
