// Stored matrices as values to compute with, in column-major order, and back.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "cublaslt_api.h"
#include "runtime/cuda/libraries/core/fp8.h"
#include "runtime/cuda/libraries/core/numbers.h"
#include "runtime/cuda/libraries/core/parallel.h"

namespace ptx2cpu::cublaslt {

using namespace cuda;

using libraries::Fp8E4m3;
using libraries::Fp8E5m2;

// visit(pointer to the stored type); false for types that no function stores.
template <typename Visit>
bool WithStored(cudaDataType type, void* data, const Visit& visit) {
  if (type == CUDA_R_32F) return visit(static_cast<float*>(data)), true;
  if (type == CUDA_R_16F) return visit(static_cast<__half*>(data)), true;
  if (type == CUDA_R_16BF) return visit(static_cast<__nv_bfloat16*>(data)), true;
  if (type == CUDA_R_8I) return visit(static_cast<int8_t*>(data)), true;
  if (type == CUDA_R_32I) return visit(static_cast<int32_t*>(data)), true;
  if (type == CUDA_R_8F_E4M3) return visit(static_cast<Fp8E4m3*>(data)), true;
  if (type == CUDA_R_8F_E5M2) return visit(static_cast<Fp8E5m2*>(data)), true;
  if (type == CUDA_R_64F) return visit(static_cast<double*>(data)), true;
  if (type == CUDA_C_32F) return visit(static_cast<cuComplex*>(data)), true;
  if (type == CUDA_C_64F) return visit(static_cast<cuDoubleComplex*>(data)), true;
  return false;
}
inline int64_t BytesOf(cudaDataType type) {
  int64_t bytes = 0;
  WithStored(type, nullptr, [&](const auto* data) { bytes = sizeof *data; });
  return bytes;
}
inline bool IsFp8(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

using libraries::kIsComplex;

template <typename C, typename S>
C ConvertFrom(const S& value) {
  if constexpr (requires { value.bits; }) {
    return C(libraries::ToFloat(value));
  } else if constexpr (kIsComplex<C> == kIsComplex<S> || kIsComplex<C>) {
    return C(value);
  } else {
    return C{};  // a complex value as a real one: refused before
  }
}
// Integers are rounded to nearest even and saturate.
template <typename C, typename S>
void ConvertTo(const C& value, S& to) {
  if constexpr (kIsComplex<C>) {
    if constexpr (kIsComplex<S>) to = S(value);
  } else if constexpr (kIsComplex<S>) {
    to = S(value);
  } else if constexpr (requires { to.bits; }) {
    libraries::FromFloat(static_cast<float>(value), to);
  } else if constexpr (std::is_integral_v<S> && !std::is_integral_v<C>) {
    const double least = std::numeric_limits<S>::min(), most = std::numeric_limits<S>::max();
    to = static_cast<S>(std::clamp(std::nearbyint(static_cast<double>(value)), least, most));
  } else {
    to = static_cast<S>(value);
  }
}

// One matrix of a batch.
struct Stored {
  const cublasLtMatrixLayoutOpaque_t& layout;
  char* data;
  Stored(const cublasLtMatrixLayoutOpaque_t& layout, const void* first, int batch)
      : layout(layout), data(static_cast<char*>(const_cast<void*>(first))) {
    if (layout.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY) {
      data = static_cast<char* const*>(first)[batch];
    } else if (layout.batch_count > 1) {
      data += batch * layout.batch_stride * BytesOf(layout.type);
    }
  }
  int64_t rows() const { return static_cast<int64_t>(layout.rows); }
  int64_t columns() const { return static_cast<int64_t>(layout.cols); }
  bool by_columns() const { return layout.order == CUBLASLT_ORDER_COL; }
  // Column blocks of 32, each stored by rows.
  bool in_blocks() const { return layout.order == CUBLASLT_ORDER_COL32; }
  int64_t At(int64_t i, int64_t j) const {
    if (in_blocks()) return j / 32 * layout.ld + i * 32 + j % 32;
    return by_columns() ? i + j * layout.ld : i * layout.ld + j;
  }
};

inline bool IsStorable(const cublasLtMatrixLayoutOpaque_t& layout) {
  const auto rows = static_cast<int64_t>(layout.rows), columns = static_cast<int64_t>(layout.cols);
  const bool plain = layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW;
  return layout.ld >= (plain ? (layout.order == CUBLASLT_ORDER_COL ? rows : columns) : 32 * rows);
}

// A column-major copy, rows adjacent.
template <typename C>
std::unique_ptr<C[]> Gather(const Stored& m) {
  const int64_t rows = m.rows(), columns = m.columns();
  auto copy = std::make_unique_for_overwrite<C[]>(static_cast<size_t>(rows * columns));
  WithStored(m.layout.type, m.data, [&](const auto* from) {
    libraries::ForRanges(columns, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, rows)),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t j = begin; j < end; ++j) {
                             C* const to = copy.get() + j * rows;
                             for (int64_t i = 0; i < rows; ++i) to[i] = ConvertFrom<C>(from[m.At(i, j)]);
                           }
                         });
  });
  return copy;
}

}  // namespace ptx2cpu::cublaslt
