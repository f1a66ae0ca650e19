// cuBLASLt against sums in double precision: types, orders, operations, epilogues, scale factors, batches.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cublaslt_types.h"
#include "runtime/cuda/libraries/core/fp8.h"
#include "tests/libraries/dropin.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

cublasLtHandle_t Handle() {
  static cublasLtHandle_t handle = nullptr;
  if (handle == nullptr) REQUIRE(CublasLt().Call("cublasLtCreate", &handle) == 0);
  return handle;
}

// Values of any type as doubles.
struct Array {
  cudaDataType type;
  std::vector<char> bytes;
  Array(cudaDataType type, size_t count) : type(type), bytes(count * Bytes(type)) {}
  static size_t Bytes(cudaDataType type) {
    switch (type) {
      case CUDA_R_8I:
      case CUDA_R_8F_E4M3:
      case CUDA_R_8F_E5M2:
        return 1;
      case CUDA_R_16F:
      case CUDA_R_16BF:
        return 2;
      case CUDA_R_64F:
        return 8;
      default:
        return 4;
    }
  }
  size_t size() const { return bytes.size() / Bytes(type); }
  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(bytes.data());
  }
  double Get(size_t i) {
    if (type == CUDA_R_8I) return As<int8_t>()[i];
    if (type == CUDA_R_32I) return As<int32_t>()[i];
    if (type == CUDA_R_64F) return As<double>()[i];
    if (type == CUDA_R_16F) return libraries::ToFloat(As<__half>()[i]);
    if (type == CUDA_R_16BF) return libraries::ToFloat(As<__nv_bfloat16>()[i]);
    if (type == CUDA_R_8F_E4M3) return libraries::ToFloat(As<libraries::Fp8E4m3>()[i]);
    if (type == CUDA_R_8F_E5M2) return libraries::ToFloat(As<libraries::Fp8E5m2>()[i]);
    return As<float>()[i];
  }
  void Set(size_t i, double value) {
    const auto narrow = static_cast<float>(value);
    if (type == CUDA_R_8I) {
      As<int8_t>()[i] = static_cast<int8_t>(value);
    } else if (type == CUDA_R_32I) {
      As<int32_t>()[i] = static_cast<int32_t>(value);
    } else if (type == CUDA_R_64F) {
      As<double>()[i] = value;
    } else if (type == CUDA_R_16F) {
      libraries::FromFloat(narrow, As<__half>()[i]);
    } else if (type == CUDA_R_16BF) {
      libraries::FromFloat(narrow, As<__nv_bfloat16>()[i]);
    } else if (type == CUDA_R_8F_E4M3) {
      libraries::FromFloat(narrow, As<libraries::Fp8E4m3>()[i]);
    } else if (type == CUDA_R_8F_E5M2) {
      libraries::FromFloat(narrow, As<libraries::Fp8E5m2>()[i]);
    } else {
      As<float>()[i] = narrow;
    }
  }
};
Array Random(cudaDataType type, size_t count, unsigned seed) {
  Array array(type, count);
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> range(-8, 8);
  for (size_t i = 0; i < count; ++i)
    array.Set(i, range(engine) / (type == CUDA_R_8I || type == CUDA_R_32I ? 1.0 : 4.0));
  return array;
}

// The layout of a matrix, and where its elements are.
struct Layout {
  cublasLtMatrixLayout_t layout = nullptr;
  int rows, columns, ld;
  bool by_rows;
  Layout(cudaDataType type, int rows, int columns, bool by_rows, int batch = 1)
      : rows(rows), columns(columns), ld((by_rows ? columns : rows) + 3), by_rows(by_rows) {
    REQUIRE(CublasLt().Call("cublasLtMatrixLayoutCreate", &layout, type, static_cast<uint64_t>(rows),
                            static_cast<uint64_t>(columns), static_cast<int64_t>(ld)) == 0);
    Set<int32_t>(1, by_rows ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL);
    Set<int32_t>(5, batch);
    Set<int64_t>(6, stride());
  }
  ~Layout() { CublasLt().Call("cublasLtMatrixLayoutDestroy", layout); }
  Layout(const Layout&) = delete;
  template <typename T>
  void Set(int attribute, T value) {
    REQUIRE(CublasLt().Call("cublasLtMatrixLayoutSetAttribute", layout, attribute,
                            static_cast<const void*>(&value), sizeof value) == 0);
  }
  int stride() const { return ld * (by_rows ? rows : columns); }
  size_t At(int i, int j, int batch = 0) const {
    return static_cast<size_t>(batch * stride() + (by_rows ? i * ld + j : i + j * ld));
  }
};

struct Operation {
  cublasLtMatmulDesc_t descr = nullptr;
  Operation(cublasComputeType_t compute, cudaDataType scale) {
    REQUIRE(CublasLt().Call("cublasLtMatmulDescCreate", &descr, compute, scale) == 0);
  }
  ~Operation() { CublasLt().Call("cublasLtMatmulDescDestroy", descr); }
  Operation(const Operation&) = delete;
  template <typename T>
  void Set(int attribute, T value) {
    REQUIRE(CublasLt().Call("cublasLtMatmulDescSetAttribute", descr, attribute,
                            static_cast<const void*>(&value), sizeof value) == 0);
  }
};
constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8, kAux = 11, kAuxLd = 12, kPointerMode = 2,
              kScaleA = 17, kScaleB = 18, kScaleD = 20, kAmaxD = 21, kModeA = 31, kModeB = 32;

int Run(Operation& op, const void* alpha, Array& a, Layout& la, Array& b, Layout& lb, const void* beta,
        Array& c, Layout& lc, Array& d, Layout& ld) {
  return CublasLt().Call(
      "cublasLtMatmul", Handle(), op.descr, alpha, static_cast<const void*>(a.bytes.data()), la.layout,
      static_cast<const void*>(b.bytes.data()), lb.layout, beta, static_cast<const void*>(c.bytes.data()),
      lc.layout, static_cast<void*>(d.bytes.data()), ld.layout,
      static_cast<const cublasLtMatmulAlgo_t*>(nullptr), static_cast<void*>(nullptr), size_t{0},
      static_cast<cudaStream_t>(nullptr));
}

// op(A) op(B) at (i, j).
double Sum(Array& a, const Layout& la, bool ta, Array& b, const Layout& lb, bool tb, int i, int j, int depth,
           int batch = 0) {
  double sum = 0;
  for (int k = 0; k < depth; ++k)
    sum += a.Get(ta ? la.At(k, i, batch) : la.At(i, k, batch)) *
           b.Get(tb ? lb.At(j, k, batch) : lb.At(k, j, batch));
  return sum;
}

constexpr int kM = 19, kN = 14, kK = 23;

}  // namespace

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

TEST_CASE("cublaslt: transformations change types and orders, and add") {
  Layout la(CUDA_R_32F, 5, 7, false), lb(CUDA_R_16F, 7, 5, true), lc(CUDA_R_16BF, 7, 5, false);
  Array a = Random(CUDA_R_32F, static_cast<size_t>(la.stride()), 12),
        b = Random(CUDA_R_16F, static_cast<size_t>(lb.stride()), 13),
        c(CUDA_R_16BF, static_cast<size_t>(lc.stride()));
  cublasLtMatrixTransformDesc_t descr = nullptr;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescCreate", &descr, CUDA_R_32F) == 0);
  const int32_t transposed = CUBLAS_OP_T;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescSetAttribute", descr, 2,
                          static_cast<const void*>(&transposed), sizeof transposed) == 0);
  const float alpha = 2, beta = -1;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransform", Handle(), descr, static_cast<const void*>(&alpha),
                          static_cast<const void*>(a.bytes.data()), la.layout,
                          static_cast<const void*>(&beta), static_cast<const void*>(b.bytes.data()),
                          lb.layout, static_cast<void*>(c.bytes.data()), lc.layout,
                          static_cast<cudaStream_t>(nullptr)) == 0);
  Wait();
  for (int i = 0; i < 7; ++i) {
    for (int j = 0; j < 5; ++j) CHECK(c.Get(lc.At(i, j)) == 2 * a.Get(la.At(j, i)) - b.Get(lb.At(i, j)));
  }
  // Column blocks of 32 and back.
  Layout from(CUDA_R_8I, 6, 40, false), to(CUDA_R_8I, 6, 40, false), again(CUDA_R_8I, 6, 40, false);
  to.Set<int32_t>(1, CUBLASLT_ORDER_COL32);
  to.Set<int64_t>(4, 32 * 6);
  Array x = Random(CUDA_R_8I, static_cast<size_t>(from.stride()), 14), blocks(CUDA_R_8I, 2 * 32 * 6),
        y(CUDA_R_8I, x.size());
  const int32_t plain = CUBLAS_OP_N;
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescSetAttribute", descr, 2,
                          static_cast<const void*>(&plain), sizeof plain) == 0);
  const float one = 1;
  const auto convert = [&](Array& source, Layout& ls, Array& target, Layout& lt) {
    return CublasLt().Call("cublasLtMatrixTransform", Handle(), descr, static_cast<const void*>(&one),
                           static_cast<const void*>(source.bytes.data()), ls.layout, nullptr, nullptr,
                           nullptr, static_cast<void*>(target.bytes.data()), lt.layout,
                           static_cast<cudaStream_t>(nullptr));
  };
  REQUIRE(convert(x, from, blocks, to) == 0);
  REQUIRE(convert(blocks, to, y, again) == 0);
  Wait();
  CHECK(blocks.Get(32 * 6 + 2 * 32 + 1) == x.Get(from.At(2, 33)));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 40; ++j) REQUIRE(y.Get(again.At(i, j)) == x.Get(from.At(i, j)));
  }
  REQUIRE(CublasLt().Call("cublasLtMatrixTransformDescDestroy", descr) == 0);
}

TEST_CASE("cublaslt: heuristics, attributes, status, exports of each soname") {
  Layout la(CUDA_R_32F, 4, 4, false), lb(CUDA_R_32F, 4, 4, false), lc(CUDA_R_32F, 4, 4, false),
      wrong(CUDA_R_32F, 4, 5, false), half(CUDA_R_16F, 4, 4, false);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(CublasLt().Call("cublasLtMatmulPreferenceCreate", &preference) == 0);
  const uint64_t room = 1 << 20;
  REQUIRE(CublasLt().Call("cublasLtMatmulPreferenceSetAttribute", preference, 1,
                          static_cast<const void*>(&room), sizeof room) == 0);
  cublasLtMatmulHeuristicResult_t results[4];
  int found = -1;
  const auto ask = [&](Layout& b) {
    return CublasLt().Call("cublasLtMatmulAlgoGetHeuristic", Handle(), op.descr, la.layout, b.layout,
                           lc.layout, lc.layout, preference, 4,
                           static_cast<cublasLtMatmulHeuristicResult_t*>(results), &found);
  };
  REQUIRE(ask(lb) == 0);
  CHECK(found == 1);
  CHECK(results[0].state == CUBLAS_STATUS_SUCCESS);
  CHECK(results[0].workspace_size <= room);
  CHECK(ask(wrong) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(found == 0);
  CHECK(ask(half) == CUBLAS_STATUS_NOT_SUPPORTED);
  REQUIRE(CublasLt().Call("cublasLtMatmulPreferenceDestroy", preference) == 0);

  uint64_t rows = 0;
  size_t written = 0;
  CHECK(CublasLt().Call("cublasLtMatrixLayoutGetAttribute", wrong.layout, 3, static_cast<void*>(&rows),
                        sizeof rows, &written) == 0);
  CHECK(rows == 5);
  CHECK(written == sizeof rows);
  CHECK(CublasLt().Call("cublasLtMatrixLayoutGetAttribute", wrong.layout, 3, static_cast<void*>(&rows),
                        size_t{4}, &written) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(CublasLt().Call("cublasLtMatmulDescSetAttribute", op.descr, 99, static_cast<const void*>(&rows),
                        sizeof rows) == CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayoutOpaque_t own;
  CHECK(CublasLt().Call("cublasLtMatrixLayoutInit_internal", &own, size_t{64}, CUDA_R_32F, uint64_t{3},
                        uint64_t{4}, int64_t{3}) == 0);
  CHECK(own.cols == 4);
  CHECK(CublasLt().Call("cublasLtCreate", nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(std::string(CublasLt().Call<const char*>("cublasLtGetStatusName", 15)) ==
        "CUBLAS_STATUS_NOT_SUPPORTED");

  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/lt/cublaslt.api");
  REQUIRE(table);
  for (const int major : {11, 12, 13}) {
    const std::string soname = "libcublasLt.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK((library.Find(function.name, soname.c_str()) != nullptr) == function.In(major));
    }
    CHECK(library.Call<size_t>("cublasLtGetVersion") / 10000 == static_cast<size_t>(major));
  }
}

TEST_CASE("cublaslt: a product is work of the stream that the call names, and is captured") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  Layout l(CUDA_R_32F, 2, 2, false);
  std::vector<float> a(10, 1.0f), b(10, 2.0f), d(10, 0.0f);
  Operation op(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  float alpha = 1;
  const float beta = 0;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(CublasLt().Call("cublasLtMatmul", Handle(), op.descr, static_cast<const void*>(&alpha),
                          static_cast<const void*>(a.data()), l.layout, static_cast<const void*>(b.data()),
                          l.layout, static_cast<const void*>(&beta), static_cast<const void*>(d.data()),
                          l.layout, static_cast<void*>(d.data()), l.layout,
                          static_cast<const cublasLtMatmulAlgo_t*>(nullptr), static_cast<void*>(nullptr),
                          size_t{0}, stream) == 0);
  alpha = 100;  // was read by the call
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(d[0] == 0.0f);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(d[0] == 4.0f);
  CHECK(d[6] == 4.0f);
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
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
