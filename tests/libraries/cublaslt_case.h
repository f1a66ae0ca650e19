// Tests of cuBLASLt: values of any type as doubles, layouts, operations, and the sums that define products.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cublaslt_types.h"
#include "runtime/cuda/libraries/core/fp8.h"
#include "tests/libraries/dropin.h"

namespace ptx2cpu::cublaslt_case {

using namespace ptx2cpu::cuda;

inline void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

inline cublasLtHandle_t Handle() {
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
inline Array Random(cudaDataType type, size_t count, unsigned seed) {
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
inline constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBias = 8, kAux = 11, kAuxLd = 12,
                     kPointerMode = 2, kScaleA = 17, kScaleB = 18, kScaleD = 20, kAmaxD = 21, kModeA = 31,
                     kModeB = 32;

inline int Run(Operation& op, const void* alpha, Array& a, Layout& la, Array& b, Layout& lb, const void* beta,
               Array& c, Layout& lc, Array& d, Layout& ld) {
  return CublasLt().Call(
      "cublasLtMatmul", Handle(), op.descr, alpha, static_cast<const void*>(a.bytes.data()), la.layout,
      static_cast<const void*>(b.bytes.data()), lb.layout, beta, static_cast<const void*>(c.bytes.data()),
      lc.layout, static_cast<void*>(d.bytes.data()), ld.layout,
      static_cast<const cublasLtMatmulAlgo_t*>(nullptr), static_cast<void*>(nullptr), size_t{0},
      static_cast<cudaStream_t>(nullptr));
}

// op(A) op(B) at (i, j).
inline double Sum(Array& a, const Layout& la, bool ta, Array& b, const Layout& lb, bool tb, int i, int j,
                  int depth, int batch = 0) {
  double sum = 0;
  for (int k = 0; k < depth; ++k)
    sum += a.Get(ta ? la.At(k, i, batch) : la.At(i, k, batch)) *
           b.Get(tb ? lb.At(j, k, batch) : lb.At(k, j, batch));
  return sum;
}

inline constexpr int kM = 19, kN = 14, kK = 23;

}  // namespace ptx2cpu::cublaslt_case
