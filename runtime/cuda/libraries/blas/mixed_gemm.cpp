#include "runtime/cuda/libraries/blas/mixed_gemm.h"

#include <memory>

#include "runtime/cuda/libraries/blas/gemm.h"

namespace ptx2cpu::cublas {

namespace {

using libraries::ForEach;
using libraries::ForRanges;

template <typename From>
void WidenAll(const void* from, int64_t first, int64_t count, float* to) {
  const From* const values = static_cast<const From*>(from) + first;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_arithmetic_v<From>) {
      to[i] = static_cast<float>(values[i]);
    } else {
      to[i] = ToFloat(values[i]);
    }
  }
}

template <typename To>
void RoundAll(const float* from, int64_t count, void* to, int64_t first) {
  To* const values = static_cast<To*>(to) + first;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<To, float>) {
      values[i] = from[i];
    } else {
      FromFloat(from[i], values[i]);
    }
  }
}

// A part of a stored matrix as floats, columns adjacent.
std::unique_ptr<float[]> WidenMatrix(cudaDataType_t type, const void* from, int64_t ld, int64_t row,
                                     int64_t rows, int64_t column, int64_t columns) {
  auto floats = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * columns));
  ForRanges(columns, std::max<int64_t>(1, kMatrixGrain / std::max<int64_t>(1, rows)),
            [&](int64_t begin, int64_t end) {
              for (int64_t j = begin; j < end; ++j)
                Widen(type, from, row + (column + j) * ld, rows, floats.get() + j * rows);
            });
  return floats;
}

// alpha (a b) + beta C for a part of C, from the product of floats.
void StorePart(const MixedProduct& p, const float* product, int64_t row, int64_t rows, int64_t column,
               int64_t columns, float alpha, float beta) {
  const auto line = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows));
  for (int64_t j = 0; j < columns; ++j) {
    const int64_t first = row + (column + j) * p.ldc;
    const float* const from = product + j * rows;
    if (beta == 0) {
      for (int64_t i = 0; i < rows; ++i) line[i] = alpha * from[i];
    } else {
      Widen(p.types.result, p.c, first, rows, line.get());
      for (int64_t i = 0; i < rows; ++i) line[i] = alpha * from[i] + beta * line[i];
    }
    Round(p.types.result, line.get(), rows, p.c, first);
  }
}

// The larger operand is converted in parts that fit a core's cache, beside their multiplication; the other
// one before.
struct Parts {
  bool of_a;
  int64_t total, size, count;
};
Parts PartsOf(const MixedProduct& p) {
  constexpr int64_t kFloats = 1 << 18;  // of a part of an operand: 1 MiB
  Parts parts{p.m >= p.n, std::max(p.m, p.n), 0, 0};
  const int64_t each = (parts.total + libraries::Threads() - 1) / libraries::Threads();
  const bool small = WorkOf<float>(p.m, p.n, p.k) < kProductGrain;
  parts.size = std::clamp<int64_t>(kFloats / std::max<int64_t>(1, p.k), 32, 512);
  parts.size = small ? parts.total : std::min(parts.size, (each + 15) / 16 * 16);
  parts.count = (parts.total + parts.size - 1) / parts.size;
  return parts;
}

std::unique_ptr<float[]> WidenA(const MixedProduct& p, int64_t row, int64_t rows) {
  return Transposes(p.op_a) ? WidenMatrix(p.types.operands, p.a, p.lda, 0, p.k, row, rows)
                            : WidenMatrix(p.types.operands, p.a, p.lda, row, rows, 0, p.k);
}
std::unique_ptr<float[]> WidenB(const MixedProduct& p, int64_t column, int64_t columns) {
  return Transposes(p.op_b) ? WidenMatrix(p.types.operands, p.b, p.ldb, column, columns, 0, p.k)
                            : WidenMatrix(p.types.operands, p.b, p.ldb, 0, p.k, column, columns);
}

void MultiplyPart(const MixedProduct& p, const float* a, const float* b, int64_t row, int64_t rows,
                  int64_t column, int64_t columns, float alpha, float beta) {
  const int64_t lda = std::max<int64_t>(1, Transposes(p.op_a) ? p.k : rows),
                ldb = std::max<int64_t>(1, Transposes(p.op_b) ? columns : p.k);
  if (p.types.result == CUDA_R_32F) {
    float* const c = static_cast<float*>(p.c) + row + column * p.ldc;
    return MultiplyOnce<float>({p.op_a, p.op_b, rows, columns, p.k, alpha, a, lda, b, ldb, beta, c, p.ldc});
  }
  const auto product = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * columns));
  MultiplyOnce<float>({p.op_a, p.op_b, rows, columns, p.k, 1.0f, a, lda, b, ldb, 0.0f, product.get(), rows});
  StorePart(p, product.get(), row, rows, column, columns, alpha, beta);
}

// The real and imaginary parts, which are interleaved, of a stored matrix.
struct SplitMatrix {
  std::unique_ptr<int8_t[]> re, im;
};
SplitMatrix Split(const void* from, int64_t ld, int64_t rows, int64_t columns) {
  SplitMatrix split{std::make_unique_for_overwrite<int8_t[]>(static_cast<size_t>(rows * columns)),
                    std::make_unique_for_overwrite<int8_t[]>(static_cast<size_t>(rows * columns))};
  const auto* values = static_cast<const int8_t*>(from);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      split.re[i + j * rows] = values[2 * (i + j * ld)];
      split.im[i + j * rows] = values[2 * (i + j * ld) + 1];
    }
  }
  return split;
}

}  // namespace

void Widen(cudaDataType_t type, const void* from, int64_t first, int64_t count, float* to) {
  if (type == CUDA_R_16F) return WidenAll<__half>(from, first, count, to);
  if (type == CUDA_R_16BF) return WidenAll<__nv_bfloat16>(from, first, count, to);
  if (type == CUDA_R_8I) return WidenAll<int8_t>(from, first, count, to);
  WidenAll<float>(from, first, count, to);
}

void Round(cudaDataType_t type, const float* from, int64_t count, void* to, int64_t first) {
  if (type == CUDA_R_16F) return RoundAll<__half>(from, count, to, first);
  if (type == CUDA_R_16BF) return RoundAll<__nv_bfloat16>(from, count, to, first);
  RoundAll<float>(from, count, to, first);
}

void MultiplyMixed(const MixedProduct& p, float alpha, float beta) {
  const Parts parts = PartsOf(p);
  const std::unique_ptr<float[]> whole = parts.of_a ? WidenB(p, 0, p.n) : WidenA(p, 0, p.m);
  ForEach(parts.count, [&](int64_t part) {
    const int64_t first = part * parts.size, size = std::min(parts.size, parts.total - first);
    if (parts.of_a) {
      MultiplyPart(p, WidenA(p, first, size).get(), whole.get(), first, size, 0, p.n, alpha, beta);
    } else {
      MultiplyPart(p, whole.get(), WidenB(p, first, size).get(), 0, p.m, first, size, alpha, beta);
    }
  });
}

void MultiplyIntegers(const MixedProduct& p, int32_t alpha, int32_t beta) {
  // A float holds every integer to 2^24, and so the sum of 1024 products of 8 bits.
  constexpr int64_t kExact = 1024;
  const std::unique_ptr<float[]> a = WidenA(p, 0, p.m), b = WidenB(p, 0, p.n);
  const auto partial = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(p.m * p.n));
  const auto sums = std::make_unique<uint32_t[]>(static_cast<size_t>(p.m * p.n));
  const int64_t lda = Transposes(p.op_a) ? p.k : p.m, ldb = Transposes(p.op_b) ? p.n : p.k;
  const int64_t step_a = Transposes(p.op_a) ? 1 : p.m, step_b = Transposes(p.op_b) ? p.n : 1;
  for (int64_t k = 0; k < p.k; k += kExact) {
    Multiply<float>({p.op_a, p.op_b, p.m, p.n, std::min(kExact, p.k - k), 1.0f, a.get() + k * step_a, lda,
                     b.get() + k * step_b, ldb, 0.0f, partial.get(), p.m});
    ForRanges(p.m * p.n, kMatrixGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sums[i] += static_cast<uint32_t>(static_cast<int32_t>(partial[i]));
    });
  }
  auto* const c = static_cast<uint32_t*>(p.c);
  for (int64_t j = 0; j < p.n; ++j) {
    for (int64_t i = 0; i < p.m; ++i) {
      uint32_t& to = c[i + j * p.ldc];
      const uint32_t scaled = static_cast<uint32_t>(alpha) * sums[i + j * p.m];
      to = beta == 0 ? scaled : scaled + static_cast<uint32_t>(beta) * to;
    }
  }
}

void MultiplyComplexIntegers(const MixedProduct& p, cuComplex alpha, cuComplex beta) {
  const int64_t rows_a = Transposes(p.op_a) ? p.k : p.m, columns_a = Transposes(p.op_a) ? p.m : p.k;
  const int64_t rows_b = Transposes(p.op_b) ? p.n : p.k, columns_b = Transposes(p.op_b) ? p.k : p.n;
  const SplitMatrix a = Split(p.a, p.lda, rows_a, columns_a), b = Split(p.b, p.ldb, rows_b, columns_b);
  const auto product = [&](const int8_t* x, const int8_t* y) {
    auto sums = std::make_unique<int32_t[]>(static_cast<size_t>(p.m * p.n));
    MultiplyIntegers(
        {p.op_a, p.op_b, p.m, p.n, p.k, x, rows_a, y, rows_b, sums.get(), p.m, {CUDA_R_8I, CUDA_R_32I}}, 1,
        0);
    return sums;
  };
  const auto rr = product(a.re.get(), b.re.get()), ii = product(a.im.get(), b.im.get()),
             ri = product(a.re.get(), b.im.get()), ir = product(a.im.get(), b.re.get());
  const auto conjugates = [](cublasOperation_t op) { return op == CUBLAS_OP_C || op == CUBLAS_OP_CONJG; };
  const int sign_a = conjugates(p.op_a) ? -1 : 1, sign_b = conjugates(p.op_b) ? -1 : 1;
  auto* const c = static_cast<cuComplex*>(p.c);
  for (int64_t j = 0; j < p.n; ++j) {
    for (int64_t i = 0; i < p.m; ++i) {
      const int64_t at = i + j * p.m;
      const cuComplex sum(static_cast<float>(rr[at] - sign_a * sign_b * ii[at]),
                          static_cast<float>(sign_b * ri[at] + sign_a * ir[at]));
      cuComplex& to = c[i + j * p.ldc];
      to = beta == cuComplex() ? alpha * sum : alpha * sum + beta * to;
    }
  }
}

}  // namespace ptx2cpu::cublas
