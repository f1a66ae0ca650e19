// cuBLAS functions whose types are arguments: which types go together, exact conversions, one rounding of
// results.
#include <cstring>

#include "runtime/cuda/libraries/core/narrow.h"
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

uint16_t ToHalf(float value) {
  __half half;
  libraries::FromFloat(value, half);
  return half.bits;
}
uint16_t ToBfloat(float value) {
  __nv_bfloat16 narrow;
  libraries::FromFloat(value, narrow);
  return narrow.bits;
}
float FromBits(cudaDataType_t type, uint16_t bits) {
  return type == CUDA_R_16F ? libraries::ToFloat(__half{bits}) : libraries::ToFloat(__nv_bfloat16{bits});
}
uint16_t ToBits(cudaDataType_t type, float value) {
  return type == CUDA_R_16F ? ToHalf(value) : ToBfloat(value);
}

struct Shape {
  int m, n, k;
};
constexpr Shape kShapes[] = {{1, 1, 1}, {9, 6, 33}, {64, 3, 200}, {3, 70, 40}, {300, 260, 128}};

}  // namespace

TEST_CASE("narrow values: every half and bfloat16 converts exactly and back") {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = libraries::ToFloat(__half{half});
    _Float16 native;
    std::memcpy(&native, &half, 2);
    const auto expected = static_cast<float>(native);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(value));
      REQUIRE((ToHalf(value) & 0x7fff) == 0x7fff);
    } else {
      REQUIRE(value == expected);
      REQUIRE(std::signbit(value) == std::signbit(expected));
      REQUIRE(ToHalf(value) == half);
    }
    const float wide = libraries::ToFloat(__nv_bfloat16{half});
    if (!std::isnan(wide)) REQUIRE(ToBfloat(wide) == half);
  }
}

TEST_CASE("narrow values: floats round to the nearest, ties to even") {
  std::mt19937 engine(1);
  for (int i = 0; i < 2000000; ++i) {
    // Half of them within the range of a half, with all kinds of last bits.
    const uint32_t random = engine();
    const uint32_t bits = i % 2 == 0 ? random : (random & 0x8fffffffu) + 0x36000000u;
    float value;
    std::memcpy(&value, &bits, 4);
    const auto native = static_cast<_Float16>(value);
    uint16_t expected;
    std::memcpy(&expected, &native, 2);
    if (std::isnan(value)) continue;
    INFO(value);
    REQUIRE(ToHalf(value) == expected);
  }
}

TEST_CASE("cublas products of 16 bits: the sum in single precision, one rounding") {
  const Blas blas;
  Random random(12);
  for (const cudaDataType_t type : {CUDA_R_16F, CUDA_R_16BF}) {
    for (const auto& [m, n, k] : kShapes) {
      for (const cublasOperation_t op_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        for (const cublasOperation_t op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
          INFO("type " << type << " " << m << " x " << n << " x " << k << " " << op_a << op_b);
          std::vector<uint16_t> a(m * k), b(k * n), c(m * n);
          for (auto* values : {&a, &b, &c})
            for (uint16_t& v : *values) v = ToBits(type, random.Value<float>());
          const auto widened = [&](const std::vector<uint16_t>& values) {
            std::vector<double> wide;
            for (const uint16_t v : values) wide.push_back(static_cast<double>(FromBits(type, v)));
            return wide;
          };
          const float alpha = 0.5f, beta = -2.0f;
          const std::vector<Wide> product =
              Times(m, n, k, Stored(op_a, m, k, widened(a), op_a == CUBLAS_OP_N ? m : k),
                    Stored(op_b, k, n, widened(b), op_b == CUBLAS_OP_N ? k : n));
          const std::vector<double> before = widened(c);
          std::vector<uint16_t> result = c;
          REQUIRE(blas("GemmEx", op_a, op_b, m, n, k, static_cast<const void*>(&alpha),
                       static_cast<const void*>(a.data()), type, op_a == CUBLAS_OP_N ? m : k,
                       static_cast<const void*>(b.data()), type, op_b == CUBLAS_OP_N ? k : n,
                       static_cast<const void*>(&beta), static_cast<void*>(result.data()), type, m,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == 0);
          const double ulp = type == CUDA_R_16F ? 0x1p-11 : 0x1p-8;
          for (int i = 0; i < m * n; ++i) {
            const double expected = 0.5 * product[i].real() - 2.0 * before[i];
            REQUIRE(std::abs(static_cast<double>(FromBits(type, result[i])) - expected) <=
                    ulp * std::abs(expected) + 1e-6 * k);
          }
          // The result in single precision.
          std::vector<float> single(m * n, 3.0f);
          const float one = 1, zero = 0;
          REQUIRE(blas("GemmEx", op_a, op_b, m, n, k, static_cast<const void*>(&one),
                       static_cast<const void*>(a.data()), type, op_a == CUBLAS_OP_N ? m : k,
                       static_cast<const void*>(b.data()), type, op_b == CUBLAS_OP_N ? k : n,
                       static_cast<const void*>(&zero), static_cast<void*>(single.data()), CUDA_R_32F, m,
                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == 0);
          CheckNear(single, product, k);
          if (type != CUDA_R_16F) continue;
          const uint16_t half = ToHalf(0.5f), minus_two = ToHalf(-2.0f);
          std::vector<uint16_t> again = c;
          REQUIRE(blas("Hgemm", op_a, op_b, m, n, k, &half, a.data(), op_a == CUBLAS_OP_N ? m : k, b.data(),
                       op_b == CUBLAS_OP_N ? k : n, &minus_two, again.data(), m) == 0);
          CHECK(again == result);
        }
      }
    }
  }
}

TEST_CASE("cublas products of integers are exact") {
  const Blas blas;
  std::mt19937 engine(13);
  for (const auto& [m, n, k] : {Shape{1, 1, 1}, Shape{12, 8, 100}, Shape{40, 36, 5000}}) {
    std::vector<int8_t> a(m * k), b(k * n);
    for (auto* values : {&a, &b})
      for (int8_t& v : *values) v = static_cast<int8_t>(engine());
    a[0] = -128, b[0] = -128;
    std::vector<int32_t> c(m * n, 5);
    const int32_t alpha = 3, beta = -7;
    REQUIRE(blas("GemmEx", CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, static_cast<const void*>(&alpha),
                 static_cast<const void*>(a.data()), CUDA_R_8I, k, static_cast<const void*>(b.data()),
                 CUDA_R_8I, k, static_cast<const void*>(&beta), static_cast<void*>(c.data()), CUDA_R_32I, m,
                 CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT) == 0);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        int32_t sum = 0;
        for (int l = 0; l < k; ++l) sum += a[l + i * k] * b[l + j * k];
        REQUIRE(c[i + j * m] == 3 * sum - 35);
      }
    }
  }
}

TEST_CASE("cublas products: batches with types, and types that do not go together") {
  const Blas blas;
  Random random(14);
  const int m = 6, n = 5, k = 40, count = 30;
  std::vector<uint16_t> a(m * k * count), b(k * n * count);
  for (auto* values : {&a, &b})
    for (uint16_t& v : *values) v = ToHalf(random.Value<float>());
  std::vector<float> strided(m * n * count), listed(m * n * count), each(m * n * count);
  const float one = 1, zero = 0;
  const void *alpha = &one, *beta = &zero;
  std::vector<const void*> as, bs;
  std::vector<void*> cs;
  for (int i = 0; i < count; ++i) {
    as.push_back(&a[i * m * k]), bs.push_back(&b[i * k * n]), cs.push_back(&listed[i * m * n]);
    REQUIRE(blas("GemmEx", CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, as[i], CUDA_R_16F, m, bs[i], CUDA_R_16F,
                 k, beta, static_cast<void*>(&each[i * m * n]), CUDA_R_32F, m, CUBLAS_COMPUTE_32F,
                 CUBLAS_GEMM_DEFAULT) == 0);
  }
  REQUIRE(blas("GemmStridedBatchedEx", CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, as[0], CUDA_R_16F, m,
               static_cast<long long>(m * k), bs[0], CUDA_R_16F, k, static_cast<long long>(k * n), beta,
               static_cast<void*>(strided.data()), CUDA_R_32F, m, static_cast<long long>(m * n), count,
               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == 0);
  CHECK(strided == each);
  REQUIRE(blas("GemmBatchedEx", CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha,
               static_cast<const void* const*>(as.data()), CUDA_R_16F, m,
               static_cast<const void* const*>(bs.data()), CUDA_R_16F, k, beta,
               static_cast<void* const*>(cs.data()), CUDA_R_32F, m, count, CUBLAS_COMPUTE_32F,
               CUBLAS_GEMM_DEFAULT) == 0);
  CHECK(listed == each);
  const auto status = [&](cudaDataType_t ta, cudaDataType_t tb, cudaDataType_t tc,
                          cublasComputeType_t compute) {
    return blas("GemmEx", CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, as[0], ta, m, bs[0], tb, k, beta,
                static_cast<void*>(each.data()), tc, m, compute, CUBLAS_GEMM_DEFAULT);
  };
  CHECK(status(CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_16F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_64F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDA_R_64F, CUDA_R_64F, CUDA_R_32F, CUBLAS_COMPUTE_64F) == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("cublas vectors with types as arguments") {
  const Blas blas;
  Random random(15);
  const int n = 1000;
  for (const cudaDataType_t type : {CUDA_R_16F, CUDA_R_16BF}) {
    std::vector<uint16_t> x(n), y(n);
    for (auto* values : {&x, &y})
      for (uint16_t& v : *values) v = ToBits(type, random.Value<float>());
    double dot = 0, squares = 0, sum = 0;
    for (int i = 0; i < n; ++i) {
      const auto vx = static_cast<double>(FromBits(type, x[i])),
                 vy = static_cast<double>(FromBits(type, y[i]));
      dot += vx * vy, squares += vx * vx, sum += std::abs(vx);
    }
    const double ulp = type == CUDA_R_16F ? 0x1p-10 : 0x1p-7;
    uint16_t result = 0;
    const void *xs = x.data(), *ys = y.data();
    REQUIRE(blas("DotEx", n, xs, type, 1, ys, type, 1, static_cast<void*>(&result), type, CUDA_R_32F) == 0);
    CHECK(static_cast<double>(FromBits(type, result)) == Approx(dot).epsilon(ulp).margin(1e-5));
    REQUIRE(blas("Nrm2Ex", n, xs, type, 1, static_cast<void*>(&result), type, CUDA_R_32F) == 0);
    CHECK(static_cast<double>(FromBits(type, result)) == Approx(std::sqrt(squares)).epsilon(ulp));
    float wide = 0;
    REQUIRE(blas("AsumEx", n, xs, type, 1, static_cast<void*>(&wide), CUDA_R_32F, CUDA_R_32F) == 0);
    CHECK(wide == Approx(sum));
    const float alpha = 0.75f;
    std::vector<uint16_t> to = y;
    REQUIRE(blas("AxpyEx", n, static_cast<const void*>(&alpha), CUDA_R_32F, xs, type, 1,
                 static_cast<void*>(to.data()), type, 1, CUDA_R_32F) == 0);
    for (int i = 0; i < n; ++i)
      REQUIRE(to[i] == ToBits(type, FromBits(type, y[i]) + 0.75f * FromBits(type, x[i])));
    to = x;
    REQUIRE(blas("ScalEx", n, static_cast<const void*>(&alpha), CUDA_R_32F, static_cast<void*>(to.data()),
                 type, 1, CUDA_R_32F) == 0);
    for (int i = 0; i < n; ++i) REQUIRE(to[i] == ToBits(type, 0.75f * FromBits(type, x[i])));
    CHECK(blas("DotEx", n, xs, type, 1, ys, CUDA_R_32F, 1, static_cast<void*>(&result), type, CUDA_R_32F) ==
          CUBLAS_STATUS_NOT_SUPPORTED);
    int index = 0;
    std::vector<uint16_t> peak(n, ToBits(type, 0.5f));
    peak[77] = ToBits(type, -3.0f);
    REQUIRE(blas("IamaxEx", n, static_cast<const void*>(peak.data()), type, 1, &index) == 0);
    CHECK(index == 78);
  }
}

TEST_CASE("cublas products of complex integers, and their one-triangle forms") {
  const Blas blas;
  std::mt19937 engine(16);
  const int n = 10, k = 30;
  std::vector<int8_t> a(2 * n * k);
  for (int8_t& v : a) v = static_cast<int8_t>(engine() % 41 - 20);
  std::vector<cuComplex> wide(n * k);
  for (int i = 0; i < n * k; ++i) wide[i] = {static_cast<float>(a[2 * i]), static_cast<float>(a[2 * i + 1])};
  const cuComplex one(1, 0), zero(0, 0);
  std::vector<cuComplex> c(n * n);
  REQUIRE(blas("CgemmEx", CUBLAS_OP_N, CUBLAS_OP_C, n, n, k, &one, static_cast<const void*>(a.data()),
               CUDA_C_8I, n, static_cast<const void*>(a.data()), CUDA_C_8I, n, &zero,
               static_cast<void*>(c.data()), CUDA_C_32F, n) == 0);
  const std::vector<Wide> product = Times(n, n, k, Widened(wide), Stored(CUBLAS_OP_C, k, n, wide, n));
  CheckNear(c, product, 1);
  const float real_one = 1, real_zero = 0;
  std::vector<cuComplex> triangle(n * n);
  const std::vector<cuComplex> before = triangle;
  REQUIRE(blas("CherkEx", CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, n, k, &real_one,
               static_cast<const void*>(a.data()), CUDA_C_8I, n, &real_zero,
               static_cast<void*>(triangle.data()), CUDA_C_32F, n) == 0);
  CheckNear(triangle, Updated(Part::kUpper, n, n, 1, product, 0, before, n), k);
}
