// cuBLASLt against sums in double precision: types, orders, operations, epilogues, scale factors, batches.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/libraries/cublaslt_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cublaslt_case;

TEST_CASE("cublaslt: products of each type, order, operation, in batches") {
  struct Types {
    cublasComputeType_t compute;
    cudaDataType scale, operands, c, d;
  };
  const Types types[] = {{CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
                         {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
                         {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
                         {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
                         {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
                         {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
                         {CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
                         {CUBLAS_COMPUTE_32I, CUDA_R_32F, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I},
                         {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_8F_E4M3},
                         {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_32F}};
  for (const Types& t : types) {
    for (int variant = 0; variant < 32; ++variant) {
      const bool ta = variant & 1, tb = variant & 2, ra = variant & 4, rb = variant & 8, rd = variant & 16;
      INFO(t.compute << " " << t.operands << " " << t.d << " variant " << variant);
      Layout la(t.operands, ta ? kK : kM, ta ? kM : kK, ra, 2),
          lb(t.operands, tb ? kN : kK, tb ? kK : kN, rb, 2);
      Layout lc(t.c, kM, kN, rd, 2), ld(t.d, kM, kN, !rd, 2);
      Array a = Random(t.operands, static_cast<size_t>(2 * la.stride()), 1),
            b = Random(t.operands, static_cast<size_t>(2 * lb.stride()), 2),
            c = Random(t.c, static_cast<size_t>(2 * lc.stride()), 3),
            d(t.d, static_cast<size_t>(2 * ld.stride()));
      Operation op(t.compute, t.scale);
      op.Set<int32_t>(kTransA, ta);
      op.Set<int32_t>(kTransB, tb);
      const bool whole = t.scale == CUDA_R_32I;
      Array alpha(t.scale, 1), beta(t.scale, 1);
      alpha.Set(0, whole ? 2 : 0.5), beta.Set(0, whole ? -3 : 2);
      REQUIRE(Run(op, alpha.bytes.data(), a, la, b, lb, beta.bytes.data(), c, lc, d, ld) == 0);
      Wait();
      for (int batch = 0; batch < 2; ++batch) {
        for (int i = 0; i < kM; ++i) {
          for (int j = 0; j < kN; ++j) {
            const double exact = alpha.Get(0) * Sum(a, la, ta, b, lb, tb, i, j, kK, batch) +
                                 beta.Get(0) * c.Get(lc.At(i, j, batch));
            Array rounded(t.d, 1);  // sums of quarters are exact: one rounding is left
            rounded.Set(0, t.d == CUDA_R_8I ? std::fmin(127, std::fmax(-128, std::nearbyint(exact))) : exact);
            REQUIRE(d.Get(ld.At(i, j, batch)) == rounded.Get(0));
          }
        }
      }
    }
  }
}

TEST_CASE("cublaslt: conversions of 8-bit floats") {
  for (int bits = 0; bits < 256; ++bits) {
    const libraries::Fp8E4m3 small{static_cast<uint8_t>(bits)};
    const libraries::Fp8E5m2 wide{static_cast<uint8_t>(bits)};
    const int sign = bits & 0x80 ? -1 : 1;
    const auto value = [&](int exponent_bits, int fraction_bits, int bias) {
      const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
      const int fraction = bits & ((1 << fraction_bits) - 1);
      return sign * (exponent == 0
                         ? std::ldexp(fraction, 1 - bias - fraction_bits)
                         : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits));
    };
    libraries::Fp8E4m3 back_small;
    libraries::Fp8E5m2 back_wide;
    libraries::FromFloat(libraries::ToFloat(small), back_small);
    libraries::FromFloat(libraries::ToFloat(wide), back_wide);
    if ((bits & 0x7f) == 0x7f) {
      CHECK(std::isnan(libraries::ToFloat(small)));
      CHECK((back_small.bits & 0x7f) == 0x7f);
    } else {
      CHECK(libraries::ToFloat(small) == value(4, 3, 7));
      CHECK(back_small.bits == bits);
    }
    if ((bits & 0x7f) < 0x7c) {
      CHECK(libraries::ToFloat(wide) == value(5, 2, 15));
      CHECK(back_wide.bits == bits);
    }
  }
  // Halfway between two values: to the even one; larger than the largest: saturated.
  const auto e4m3 = [](float value) {
    libraries::Fp8E4m3 to;
    libraries::FromFloat(value, to);
    return libraries::ToFloat(to);
  };
  CHECK(e4m3(17) == 16);
  CHECK(e4m3(19) == 20);
  CHECK(e4m3(0x1p-10f) == 0);
  CHECK(e4m3(0x1.8p-9f) == 0x1p-8f);
  CHECK(e4m3(1000) == 448);
  CHECK(e4m3(-1e30f) == -448);
}

TEST_CASE("cublaslt: epilogues and their gradients") {
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  for (const cudaDataType type : {CUDA_R_32F, CUDA_R_16BF}) {
    const double tolerance = type == CUDA_R_32F ? 2e-5 : 1e-2;
    for (const uint32_t epilogue :
         {2u, 130u, 4u, 6u, 134u, 32u, 160u, 36u, 164u, 136u, 152u, 192u, 208u, 256u, 512u}) {
      INFO(type << " epilogue " << epilogue);
      Layout la(type, kM, kK, false), lb(type, kK, kN, false), lc(type, kM, kN, false);
      Array a = Random(type, static_cast<size_t>(la.stride()), 4),
            b = Random(type, static_cast<size_t>(lb.stride()), 5),
            c = Random(type, static_cast<size_t>(lc.stride()), 6), d(type, static_cast<size_t>(lc.stride())),
            bias = Random(type, kM + kN, 7);
      const bool bits = (epilogue & (2 | 8)) != 0;
      const int aux_ld = bits ? 128 : kM + 5;
      Array aux(bits ? CUDA_R_8I : type, static_cast<size_t>(bits ? 128 * kN / 8 : aux_ld * kN));
      if ((epilogue & (8 | 64)) != 0) aux = Random(aux.type, aux.size(), 8);
      Array bias_before = bias, aux_before = aux;
      Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
      op.Set<uint32_t>(kEpilogue, epilogue);
      // A pointer that the epilogue does not use is a wrong argument.
      if ((epilogue & (4 | 16 | 256 | 512)) != 0) op.Set<void*>(kBias, bias.bytes.data());
      op.Set<void*>(kAux, aux.bytes.data());
      op.Set<int64_t>(kAuxLd, aux_ld);
      const float alpha = 0.125f, beta = 1;
      REQUIRE(Run(op, &alpha, a, la, b, lb, &beta, c, lc, d, lc) == 0);
      Wait();
      const auto bit = [&](Array& array, int i, int j) {
        const size_t at = static_cast<size_t>(i + j * aux_ld);
        return (array.bytes[at / 8] >> (at % 8) & 1) != 0;
      };
      std::vector<double> row_sums(kM);
      for (int i = 0; i < kM; ++i) {
        for (int j = 0; j < kN; ++j) {
          double value = alpha * Sum(a, la, false, b, lb, false, i, j, kK) + c.Get(lc.At(i, j));
          if ((epilogue & 4) != 0) value += bias_before.Get(static_cast<size_t>(i));
          const size_t at = static_cast<size_t>(i + j * aux_ld);
          if ((epilogue & 2) != 0) {
            if ((epilogue & 128) != 0) REQUIRE(bit(aux, i, j) == (value >= 0));
            value = std::fmax(value, 0);
          } else if ((epilogue & 32) != 0) {
            if ((epilogue & 128) != 0)
              REQUIRE(aux.Get(at) == Approx(value).epsilon(tolerance).margin(tolerance));
            value = gelu(value);
          } else if ((epilogue & 8) != 0) {
            value = bit(aux_before, i, j) ? value : 0;
          } else if ((epilogue & 64) != 0) {
            const double x = aux_before.Get(at), step = 1e-5;
            value *= (gelu(x + step) - gelu(x - step)) / (2 * step);
          }
          row_sums[i] += value;
          REQUIRE(d.Get(lc.At(i, j)) == Approx(value).epsilon(tolerance).margin(tolerance));
        }
        if ((epilogue & 16) != 0)
          REQUIRE(bias.Get(static_cast<size_t>(i)) ==
                  Approx(row_sums[i]).epsilon(tolerance).margin(tolerance * 4));
        if (epilogue == 256) {
          double sum = 0;
          for (int k = 0; k < kK; ++k) sum += a.Get(la.At(i, k));
          REQUIRE(bias.Get(static_cast<size_t>(i)) == Approx(sum).epsilon(tolerance).margin(tolerance));
        }
      }
      for (int j = 0; epilogue == 512 && j < kN; ++j) {
        double sum = 0;
        for (int k = 0; k < kK; ++k) sum += b.Get(lb.At(k, j));
        REQUIRE(bias.Get(static_cast<size_t>(j)) == Approx(sum).epsilon(tolerance).margin(tolerance));
      }
    }
  }
}

TEST_CASE("cublaslt: scale factors of 8-bit floats, the largest value, vectors of alpha") {
  Layout la(CUDA_R_8F_E4M3, kK, kM, false), lb(CUDA_R_8F_E5M2, kK, kN, false), lc(CUDA_R_16BF, kM, kN, false),
      ld(CUDA_R_8F_E4M3, kM, kN, false);
  Array a = Random(CUDA_R_8F_E4M3, static_cast<size_t>(la.stride()), 9),
        b = Random(CUDA_R_8F_E5M2, static_cast<size_t>(lb.stride()), 10),
        c = Random(CUDA_R_16BF, static_cast<size_t>(lc.stride()), 11),
        d(CUDA_R_8F_E4M3, static_cast<size_t>(ld.stride()));
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  op.Set<int32_t>(kTransA, 1);
  float scale_a = 0.5f, scale_b = 4, scale_d = 0.25f, largest = -1;
  op.Set<float*>(kScaleA, &scale_a);
  op.Set<float*>(kScaleB, &scale_b);
  op.Set<float*>(kScaleD, &scale_d);
  op.Set<float*>(kAmaxD, &largest);
  const float alpha = 2, beta = 1;
  REQUIRE(Run(op, &alpha, a, la, b, lb, &beta, c, lc, d, ld) == 0);
  Wait();
  double expected_largest = 0;
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      const double value = 2 * 0.5 * 4 * Sum(a, la, true, b, lb, false, i, j, kK) + c.Get(lc.At(i, j));
      expected_largest = std::fmax(expected_largest, std::abs(value));
      Array rounded(CUDA_R_8F_E4M3, 1);
      rounded.Set(0, value * 0.25);
      REQUIRE(d.Get(ld.At(i, j)) == rounded.Get(0));
    }
  }
  CHECK(largest == expected_largest);

  // A factor for each row of A and each column of B, alpha for each row of D.
  Layout lf(CUDA_R_32F, kM, kN, false);
  Array f(CUDA_R_32F, static_cast<size_t>(lf.stride()));
  std::vector<float> rows(kM), columns(kN), alphas(kM);
  for (int i = 0; i < kM; ++i) rows[i] = static_cast<float>(i + 1), alphas[i] = static_cast<float>(2 * i - 5);
  for (int j = 0; j < kN; ++j) columns[j] = static_cast<float>(j - 3);
  Operation outer(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  outer.Set<int32_t>(kTransA, 1);
  outer.Set<float*>(kScaleA, rows.data());
  outer.Set<float*>(kScaleB, columns.data());
  outer.Set<int32_t>(kModeA, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  outer.Set<int32_t>(kModeB, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  outer.Set<int32_t>(kPointerMode, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO);
  REQUIRE(Run(outer, alphas.data(), a, la, b, lb, nullptr, f, lf, f, lf) == 0);
  Wait();
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j)
      REQUIRE(
          f.Get(lf.At(i, j)) ==
          Approx(alphas[i] * rows[i] * columns[j] * Sum(a, la, true, b, lb, false, i, j, kK)).margin(1e-6));
  }
}

TEST_CASE("cublaslt: bits of columns that share bytes are right on all threads") {
  constexpr int kRows = 33, kColumns = 6000, kTimes = 10;
  Layout la(CUDA_R_32F, kRows, 1, false), lb(CUDA_R_32F, 1, kColumns, false),
      ld(CUDA_R_32F, kRows, kColumns, false);
  Array a = Random(CUDA_R_32F, static_cast<size_t>(la.stride()), 1),
        b = Random(CUDA_R_32F, static_cast<size_t>(lb.stride()), 2),
        d(CUDA_R_32F, static_cast<size_t>(ld.stride()));
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  std::vector<char> bits(kRows * kColumns / 8 + 1);
  op.Set<uint32_t>(kEpilogue, 2 | 128);
  op.Set<void*>(kAux, bits.data());
  op.Set<int64_t>(kAuxLd, kRows);  // no whole bytes
  const float alpha = 1, beta = 0;
  for (int time = 0; time < kTimes; ++time) {
    std::ranges::fill(bits, static_cast<char>(time % 2 == 0 ? 0 : -1));
    REQUIRE(Run(op, &alpha, a, la, b, lb, &beta, d, ld, d, ld) == 0);
    Wait();
    size_t wrong = 0;
    for (size_t at = 0; at < size_t{kRows} * kColumns; ++at) {
      const double value = a.Get(at % kRows) * b.Get(lb.At(0, static_cast<int>(at / kRows)));
      wrong += ((bits[at / 8] >> (at % 8) & 1) != 0) != (value >= 0);
    }
    CHECK(wrong == 0);
  }
}
