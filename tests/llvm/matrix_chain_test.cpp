// Products of matrices as chains of multiply-adds (BuildOptions::matrix_sums): compiled code has the bits of
// the interpreter, and both modes are within the bound of sums in single precision.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "ir/function.h"
#include "ir/interpret/exact.h"
#include "lowering/compile.h"
#include "tests/llvm/matrix_kernel.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Bits of an element: normal in every format, of some exponents; some are zeros, in `special` data a few are
// infinite or NaN.
uint32_t Element(const char* type, std::mt19937& random, bool special) {
  const std::string name = type;
  const uint32_t exponent = random() % 12 + 4;  // of 2^-11 to 2^0
  const uint32_t fraction = random() & 0x7fffff, sign = random() % 2 << 31;
  const bool is_zero = random() % 16 == 0, is_top = special && random() % 64 == 0;
  if (name == "f16") {
    const uint32_t top = random() % 2 == 0 ? 0x7c00 : 0x7e00;
    return (is_zero ? 0 : is_top ? top : exponent << 10 | fraction >> 13) | sign >> 16;
  }
  const uint32_t top = random() % 2 == 0 ? 0x7f800000 : 0x7fc00000;
  const uint32_t bits = (is_zero ? 0 : is_top ? top : (exponent + 112) << 23 | fraction) | sign;
  return name == "bf16" ? bits >> 16 : bits;
}

std::vector<uint32_t> Words(const char* type, uint32_t registers, std::mt19937& random, bool special) {
  std::vector<uint32_t> words(size_t{registers} * kLanes);
  const std::string name = type;
  for (uint32_t& word : words) {
    word = Element(type, random, special);
    if (name == "f16" || name == "bf16") word |= Element(type, random, special) << 16;
  }
  return words;
}

// -- the sum in double, exact enough: where an element is, by the figures of the manual --

double Number(const char* type, uint32_t bits) {
  const std::string name = type;
  if (name == "f16")
    return ir::interpret::ToDouble(ir::interpret::Decode(ir::FormatOf(ir::Type::kF16), bits & 0xffff));
  if (name == "bf16") bits <<= 16;
  if (name == "tf32") bits &= 0xffffe000;
  return std::bit_cast<float>(bits);
}
double Factor(const Form& form, const std::vector<uint32_t>& words, uint32_t row, uint32_t k,
              uint32_t groups) {
  const bool is_word = std::string(form.factor) == "tf32";
  const uint32_t in_tile = is_word ? 4 : 8, place = k % in_tile,
                 lane = row % 8 * 4 + (is_word ? place : place / 2);
  const uint32_t word = words[(k / in_tile * groups + row / 8) * kLanes + lane];
  return Number(form.factor, is_word || place % 2 == 0 ? word : word >> 16);
}
double Accumulator(const Form& form, const std::vector<uint32_t>& words, uint32_t row, uint32_t column) {
  const uint32_t lane = row % 8 * 4 + column / 2;
  if (std::string(form.sum) == "f16") return Number("f16", words[row / 8 * kLanes + lane] >> column % 2 * 16);
  return Number("f32", words[(row / 8 * 2 + column % 2) * kLanes + lane]);
}

void CheckBound(const Form& form, const Data& data, const std::vector<uint32_t>& results) {
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t column = 0; column < 8; ++column) {
      double sum = Accumulator(form, data.c, row, column), magnitude = std::abs(sum);
      for (uint32_t k = 0; k < form.depth; ++k) {
        const double product = Factor(form, data.a, row, k, 2) * Factor(form, data.b, column, k, 1);
        sum += product;
        magnitude += std::abs(product);
      }
      const double off = std::abs(Accumulator(form, results, row, column) - sum);
      const double rounding = std::string(form.sum) == "f16" ? std::abs(sum) * 0x1p-11 + 0x1p-25 : 0;
      CHECK(off <= magnitude * (form.depth + 1) * 0x1p-23 + rounding);
    }
  }
}

}  // namespace

TEST_CASE("products as chains have one result everywhere, within the bound of f32", "[matrix][long]") {
  std::mt19937 random(31);
  bool differs = false;
  for (const Form& form : kForms) {
    const std::string text = Kernel(form);
    auto build = [&](lowering::MatrixSums sums) {
      lowering::BuildOptions options;
      options.matrix_sums = sums;
      return BuildKernel(text, "k", options);
    };
    const ir::Module chained = build(lowering::MatrixSums::kChained),
                     recorded = build(lowering::MatrixSums::kRecorded);
    auto interpreted = [&](harness::KernelCall& call) { return harness::RunInterpreter(chained, call); };
    auto native = Compiled(chained, "native"), avx2 = Compiled(chained, "x86-64-v3"),
         sse = Compiled(chained, "x86-64-v2"), as_recorded = Compiled(recorded, "native");
    for (int round = 0; round < 6; ++round) {
      const bool special = round >= 4;
      const Data data{Words(form.factor, form.a, random, special),
                      Words(form.factor, form.b, random, special), Words(form.sum, form.c, random, special)};
      INFO(form.shape << " " << form.factor << " to " << form.sum << ", round " << round);
      const std::vector<uint32_t> wanted = Results(interpreted, data), other = Results(as_recorded, data);
      CHECK(Results(native, data) == wanted);
      CHECK(Results(avx2, data) == wanted);
      CHECK(Results(sse, data) == wanted);
      if (special) continue;
      CheckBound(form, data, wanted);
      CheckBound(form, data, other);
      differs |= wanted != other;
    }
  }
  CHECK(differs);
}
