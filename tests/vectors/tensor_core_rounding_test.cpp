// Sums of tcgen05.mma that are not exact: the rule that runtime/tensor/README.md states, and numbers of any
// kind in both engines.
#include <catch2/catch.hpp>
#include <random>

#include "tests/vectors/tensor_core_kernel.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

constexpr const char* kAddresses =
    "cvt.u64.u32 %q, %base;\n  and.b64 %q, %q, 0x3ffff;\n  shr.u64 %q, %q, 4;\n  add.u64 %q1, %q1, %q;\n  ";
// Stored along k without a swizzle, 32 bytes of k.
constexpr uint64_t kDescriptor = uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32 | uint64_t{1} << 46;

}  // namespace

// A has 2^-12 at k = 0 and zeros after it; column n of B has a factor there.
TEST_CASE("tcgen05.mma: a sum is cut off 25 bits below its largest term, then toward zero") {
  struct Sum {
    uint32_t d, factor;  // f32, f16
    uint32_t result;
  };
  constexpr Sum kSums[] = {
      {0x4c800000, 0x6c00, 0x4c800000},  // 2^26 + 1: below the last bit that counts
      {0x4c800000, 0x7a00, 0x4c800001},  // 2^26 + 12: toward zero to 2^26 + 8
      {0x3f800000, 0x8800, 0x3f7fffff},  // 1 - 2^-25: toward zero, to nearest it were 1
      {0x3f800000, 0x8400, 0x3f800000},  // 1 - 2^-26: nothing is left of the product
      {0x7f800000, 0x6c00, 0x7f800000},  // an infinity
      {0x7fc12345, 0x6c00, 0x7fffffff},  // NaN
      {0x80000000, 0x0000, 0x00000000},  // zero has no sign
      {0xbf800000, 0x6c00, 0x00000000},  // -1 + 1
  };
  TensorKernel kernel{.operation = std::string(kAddresses) +
                                   "tcgen05.mma.cta_group::1.kind::f16 [%t], [%t+8], %q1, %w2, %counts;",
                      .columns = 16,
                      .numbers = {0, kDescriptor, 1u << 4 | 1u << 17 | 8u << 24, 0, 0, 0, 0, 1}};
  kernel.shared.resize(64);
  kernel.memory.resize(size_t{kTensorLanes} * kernel.columns);
  for (uint32_t lane = 0; lane < kTensorLanes; ++lane) kernel.Cell(0, lane, 8) = 0x0c00;
  TensorKernel expected = kernel;
  for (uint32_t n = 0; n < 8; ++n) {
    kernel.shared[n * 4] = kSums[n].factor;
    for (uint32_t lane = 0; lane < kTensorLanes; ++lane) {
      kernel.Cell(0, lane, n) = kSums[n].d;
      expected.Cell(0, lane, n) = kSums[n].result;
    }
  }
  CheckTensorKernel(kernel, expected.memory);
}

// Bits of any kind, infinities and NaN with them: the interpreter and the runtime agree.
TEST_CASE("tcgen05.mma: sums of any numbers are the same in both engines") {
  const std::string plain = ".cta_group::1.kind::", end = " [%t], [%t+16], %q1, %w2, ",
                    scales = ".block_scale.", scaled = end + "[%t+24], [%t+28], ";
  const std::pair<std::string, uint32_t> kinds[] = {
      {plain + "f16" + end, 1u << 4},
      {plain + "f16" + end, 0},
      {plain + "f16" + end, 1u << 4 | 1u << 7 | 1u << 10 | 1u << 13},
      {plain + "tf32" + end, 1u << 4 | 2u << 7 | 2u << 10},
      {plain + "f8f6f4" + end, 1u << 4 | 1u << 7},
      {plain + "f8f6f4" + end, 1u << 7 | 3u << 10},
      {plain + "mxf8f6f4" + scales + "block32" + scaled, 1u << 10 | 1u << 23},
      {plain + "mxf4nvf4" + scales + "block16" + scaled, 1u << 7 | 1u << 10},
      {plain + "mxf4" + scales + "block32" + scaled, 1u << 7 | 1u << 10 | 1u << 23},
  };
  std::mt19937 random(3);
  for (const auto& [operation, descriptor] : kinds) {
    INFO(operation << descriptor);
    TensorKernel kernel{.operation = kAddresses + ("tcgen05.mma" + operation) + "%counts;",
                        .columns = 32,
                        .numbers = {0, kDescriptor, descriptor | 2u << 17 | 8u << 24, 0, 0, 0, 0, 1}};
    kernel.shared.resize(256);
    kernel.memory.resize(size_t{kTensorLanes} * kernel.columns);
    for (uint32_t& word : kernel.shared) word = static_cast<uint32_t>(random());
    for (uint32_t& word : kernel.memory) word = static_cast<uint32_t>(random());
    const TensorResult result = RunTensorKernel(kernel);
    CHECK(result.interpreted == result.compiled);
    CHECK(result.interpreted != kernel.memory);
  }
}
