// Atomic additions of floats that wait in a log: applied in order, subnormal numbers zero where PTX has it.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "runtime/abi/deferred_atomics.h"
#include "runtime/launch/launch.h"

using namespace ptx2cpu::rt;

namespace {

template <typename Float>
using WordOf = std::conditional_t<sizeof(Float) == 8, uint64_t, uint32_t>;

struct Params {
  void* sum;
  const void* operands;  // one for each block
  uint32_t form;
};

template <typename Float>
void AddOne(ptx2cpu_block* block) {
  Params params;
  std::memcpy(&params, block->params, sizeof params);
  auto* head = reinterpret_cast<ptx2cpu_deferred_head*>(block->slots);
  REQUIRE(head->prepared == PTX2CPU_DEFERRED_PREPARED);
  WordOf<Float> operand;
  std::memcpy(&operand, static_cast<const std::byte*>(params.operands) + block->ctaid[0] * sizeof operand,
              sizeof operand);
  head->append(head, reinterpret_cast<uint64_t>(params.sum), params.form, operand);
}

template <typename Float>
Float Flushed(Float value, bool flush) {
  return flush && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(Float{0}, value) : value;
}

// By a launch, and one by one.
template <typename Float>
void CheckSum(Float start, const std::vector<Float>& operands, bool flush) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = "add";
  kernel.run_block = AddOne<Float>;
  kernel.parameter_bytes = sizeof(Params);
  kernel.flags = PTX2CPU_KERNEL_LOGS_ATOMICS;
  kernel.slot_bytes_per_block = sizeof(ptx2cpu_atomic_log);
  Float sum = start, expected = start;
  for (Float operand : operands)
    expected = Flushed(Flushed(expected, flush) + Flushed(operand, flush), flush);
  Params params{&sum, operands.data(),
                PTX2CPU_DEFERRED_ADD | PTX2CPU_DEFERRED_FADD | (flush ? PTX2CPU_DEFERRED_FLUSH : 0u) |
                    (sizeof(Float) == 8 ? PTX2CPU_DEFERRED_64 : 0u)};
  LaunchOptions options;
  options.max_workers = 1;
  REQUIRE_FALSE(Launch(kernel, {{static_cast<uint32_t>(operands.size()), 1, 1}, {32, 1, 1}},
                       std::as_bytes(std::span<const Params, 1>(&params, 1)), options));
  INFO("flush " << flush << ", " << operands.size() << " operands from " << start);
  CHECK(std::bit_cast<WordOf<Float>>(sum) == std::bit_cast<WordOf<Float>>(expected));
}

template <typename Float>
void CheckSums(bool flush) {
  using Limits = std::numeric_limits<Float>;
  const Float least = Limits::min(), tiny = Limits::denorm_min(), most = Limits::infinity();
  CheckSum<Float>(0, {1, Float(1e-7), 3, Float(-1e7), Float(0.1)}, flush);
  CheckSum<Float>(tiny, {Float(-0.0), 0}, flush);                            // what is in memory is zero
  CheckSum<Float>(-tiny, {Float(-0.0)}, flush);                              // and keeps its sign
  CheckSum<Float>(1, {tiny, -tiny, least, -least / 2}, flush);               // operands
  CheckSum<Float>(least * Float(1.5), {-least, least, tiny, least}, flush);  // a sum on the way
  CheckSum<Float>(-least * Float(1.5), {least}, flush);                      // the last one
  CheckSum<Float>(least, {-least, Float(-0.0)}, flush);
  CheckSum<Float>(1, {most, -least}, flush);
  std::vector<Float> many(3 * PTX2CPU_LOG_ENTRIES + 5);
  for (size_t n = 0; n < many.size(); ++n)
    many[n] =
        std::ldexp(Float(n % 7) - 3, n % 100 == 50 ? Limits::min_exponent - 2 : static_cast<int>(n % 9));
  CheckSum<Float>(0, many, flush);
}

}  // namespace

TEST_CASE("additions of floats that wait in a log have the bits of those done one by one") {
  for (bool flush : {false, true}) {
    CheckSums<float>(flush);
    CheckSums<double>(flush);
  }
}
