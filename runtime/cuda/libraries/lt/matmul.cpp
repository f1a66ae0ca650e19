#include "runtime/cuda/libraries/lt/matmul.h"

#include <cstring>
#include <span>
#include <vector>

#include "runtime/cuda/libraries/blas/gemm.h"
#include "runtime/cuda/libraries/blas/mixed_gemm.h"
#include "runtime/cuda/libraries/lt/block_scales.h"
#include "runtime/cuda/libraries/lt/epilogue.h"
#include "runtime/cuda/libraries/lt/factors.h"
#include "runtime/cuda/libraries/lt/planar.h"

namespace ptx2cpu::cublaslt {

namespace {

using libraries::ForRanges;

// Which types go together: operands, results, scalars. Operands of 8-bit floats may differ from each other.
struct TypeRow {
  cublasComputeType_t first, last;  // a range of computations
  cudaDataType operands, result, scale;
};
constexpr TypeRow kTypes[] = {
    {CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_16F_PEDANTIC, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I_PEDANTIC, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
    {CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_32I_PEDANTIC, CUDA_R_8I, CUDA_R_8I, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    {CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
    {CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUDA_R_64F, CUDA_R_64F,
     CUDA_R_64F},
    {CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUDA_C_64F, CUDA_C_64F,
     CUDA_C_64F},
};
bool TypesFit(const Matmul& call) {
  const cudaDataType d = call.d.type;
  if (IsFp8(call.a.type) && IsFp8(call.b.type)) {
    const bool both_wide = call.a.type == CUDA_R_8F_E5M2 && call.b.type == CUDA_R_8F_E5M2;
    const bool narrow = IsFp8(d) && (call.c.type == CUDA_R_16BF || call.c.type == CUDA_R_16F);
    const bool wide = (d == CUDA_R_16BF || d == CUDA_R_16F || d == CUDA_R_32F) && call.c.type == d;
    return !both_wide && (narrow || wide) && call.operation.scale_type == CUDA_R_32F &&
           (call.operation.compute == CUBLAS_COMPUTE_32F ||
            call.operation.compute == CUBLAS_COMPUTE_32F_PEDANTIC);
  }
  return call.a.type == call.b.type && call.c.type == d &&
         std::ranges::any_of(kTypes, [&](const TypeRow& row) {
           return row.first <= call.operation.compute && call.operation.compute <= row.last &&
                  row.operands == call.a.type && row.result == d && row.scale == call.operation.scale_type;
         });
}

bool Transposes(cublasOperation_t op) { return op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

// What is left of scale factors after the product: one, or one for each row or column of D.
float ScaleAt(const float* scale, cublasLtMatmulMatrixScale_t mode, int64_t i) {
  if (scale == nullptr || IsByBlocks(mode)) return 1;
  return mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F ? scale[i] : *scale;
}

// An operand for BLAS: the stored array where it has the type (rows in order are the transposed columns),
// else a copy.
template <typename C>
struct Operand {
  std::unique_ptr<C[]> copy;
  const C* data;
  int64_t ld;
  cublasOperation_t op;
  Operand(const Stored& m, cublasOperation_t op) : op(op) {
    constexpr cublasOperation_t kSwapped[] = {CUBLAS_OP_T, CUBLAS_OP_N, CUBLAS_OP_CONJG, CUBLAS_OP_C};
    constexpr cudaDataType kType = sizeof(C) == 16             ? CUDA_C_64F
                                   : kIsComplex<C>             ? CUDA_C_32F
                                   : std::is_same_v<C, double> ? CUDA_R_64F
                                                               : CUDA_R_32F;
    if (m.layout.type == kType && !m.in_blocks()) {
      data = reinterpret_cast<const C*>(m.data), ld = m.layout.ld;
      if (!m.by_columns()) this->op = kSwapped[op];
      return;
    }
    copy = Gather<C>(m);
    data = copy.get(), ld = std::max<int64_t>(1, m.rows());
  }
};

// op(A) op(B), column-major.
template <typename C>
std::unique_ptr<C[]> Product(const Matmul& call, const Stored& a, const Stored& b, int64_t depth) {
  const auto m = static_cast<int64_t>(call.d.rows), n = static_cast<int64_t>(call.d.cols);
  auto product = std::make_unique_for_overwrite<C[]>(static_cast<size_t>(m * n));
  Operand<C> left(a, call.operation.trans_a), right(b, call.operation.trans_b);
  if constexpr (std::is_same_v<C, float>) {
    const auto& operation = call.operation;
    ScaleBlocks(left.copy.get(), a, operation.scale_modes[0], operation.a_scale);
    ScaleBlocks(right.copy.get(), b, operation.scale_modes[1], operation.b_scale);
  }
  cublas::Multiply<C>({left.op, right.op, m, n, depth, C(1), left.data, left.ld, right.data, right.ld, C{},
                       product.get(), std::max<int64_t>(1, m)});
  return product;
}
// The product of 8-bit integers, which is exact.
std::unique_ptr<int32_t[]> IntegerProduct(const Matmul& call, const Stored& a, const Stored& b,
                                          int64_t depth) {
  const auto m = static_cast<int64_t>(call.d.rows), n = static_cast<int64_t>(call.d.cols);
  auto product = std::make_unique<int32_t[]>(static_cast<size_t>(m * n));
  const auto left = Gather<int8_t>(a), right = Gather<int8_t>(b);
  cublas::MultiplyIntegers({call.operation.trans_a,
                            call.operation.trans_b,
                            m,
                            n,
                            depth,
                            left.get(),
                            std::max<int64_t>(1, a.rows()),
                            right.get(),
                            std::max<int64_t>(1, b.rows()),
                            product.get(),
                            std::max<int64_t>(1, m),
                            {CUDA_R_8I, CUDA_R_32I}},
                           1, 0);
  return product;
}

// alpha product + beta C into D, for types without an epilogue.
template <typename C, typename P>
void StorePlain(const P* product, const Factors<C>& factors, const Stored& c, const Stored& d) {
  const int64_t m = d.rows();
  WithStored(d.layout.type, d.data, [&]<typename S>(S* to) {
    const S* const from = reinterpret_cast<const S*>(c.data);
    ForRanges(d.columns(), std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, m)),
              [&](int64_t begin, int64_t end) {
                for (int64_t j = begin; j < end; ++j) {
                  for (int64_t i = 0; i < m; ++i) {
                    C value = factors.Alpha(i) * C(product[i + j * m]);
                    if (const C beta = factors.Beta(i); beta != C{})
                      value += beta * ConvertFrom<C>(from[c.At(i, j)]);
                    ConvertTo(value, to[d.At(i, j)]);
                  }
                }
              });
  });
}

// The vectors of a bias or of its gradient.
struct BiasVector {
  cudaDataType type;
  char* data;
  template <typename R>
  R Get(int64_t i) const {
    R value = 0;
    WithStored(type, data, [&](const auto* from) { value = ConvertFrom<R>(from[i]); });
    return value;
  }
  template <typename R>
  void Set(int64_t i, R value) const {
    WithStored(type, data, [&](auto* to) { ConvertTo(value, to[i]); });
  }
};
cudaDataType BiasTypeOf(const Matmul& call) {
  if (call.operation.bias_type >= 0) return static_cast<cudaDataType>(call.operation.bias_type);
  if (IsFp8(call.d.type)) return call.c.type;
  return call.d.type == CUDA_R_8I ? CUDA_R_32F : call.d.type;
}

// Sums over the depth of an operand: for each row of op(A), or each column of op(B).
template <typename R>
void SumOperand(const Stored& m, bool by_stored_rows, const BiasVector& to) {
  const auto values = Gather<R>(m);
  const int64_t rows = m.rows(), columns = m.columns();
  for (int64_t k = 0; k < (by_stored_rows ? rows : columns); ++k) {
    R sum = 0;
    for (int64_t l = 0; l < (by_stored_rows ? columns : rows); ++l)
      sum += by_stored_rows ? values[k + l * rows] : values[l + k * rows];
    to.Set(k, sum);
  }
}

// What each row of D is multiplied with, and what is added to it.
template <typename R>
struct RowFactors {
  std::vector<R> alpha, beta, bias;
  bool adds_c;
  RowFactors(const Matmul& call, const Factors<R>& factors, const Epilogue& epilogue,
             const BiasVector& vector, int64_t rows)
      : alpha(static_cast<size_t>(rows)), beta(alpha.size()), bias(epilogue.bias ? alpha.size() : 0) {
    for (int64_t i = 0; i < rows; ++i) {
      alpha[i] = factors.Alpha(i), beta[i] = factors.Beta(i);
      if (epilogue.bias) bias[i] = vector.Get<R>(i);
    }
    adds_c = std::ranges::any_of(beta, [](R each) { return each != 0; });
  }
};

Aux AuxOf(const Matmul& call, const Epilogue& epilogue, int batch) {
  const auto& operation = call.operation;
  const bool bits =
      epilogue.activation == Activation::kRelu || epilogue.activation == Activation::kReluGradient;
  const cudaDataType type =
      operation.aux_type >= 0 ? static_cast<cudaDataType>(operation.aux_type) : call.d.type;
  const int64_t shift = batch * operation.aux_stride;
  return {type, static_cast<char*>(operation.aux) + (bits ? shift / 8 : shift * BytesOf(type)),
          operation.aux_ld};
}

// Column j of D before the activation.
template <typename R>
void ComputeColumn(const Matmul& call, const RowFactors<R>& factors, const R* product, const Stored& c,
                   int64_t j, std::span<R> column) {
  const auto& operation = call.operation;
  const auto rows = static_cast<int64_t>(column.size());
  const float scale_b = ScaleAt(operation.b_scale, operation.scale_modes[1], j);
  for (int64_t i = 0; i < rows; ++i) {
    column[i] = factors.alpha[i] * product[i + j * rows] * scale_b *
                ScaleAt(operation.a_scale, operation.scale_modes[0], i);
  }
  if (factors.adds_c) {
    const float scale = IsFp8(call.c.type) && operation.c_scale != nullptr ? *operation.c_scale : 1;
    WithStored(call.c.type, c.data, [&](const auto* from) {
      for (int64_t i = 0; i < rows; ++i) {
        if (factors.beta[i] != 0) column[i] += factors.beta[i] * scale * ConvertFrom<R>(from[c.At(i, j)]);
      }
    });
  }
  for (int64_t i = 0; !factors.bias.empty() && i < rows; ++i) column[i] += factors.bias[i];
}

// Real results with all that an epilogue may ask for.
template <typename R>
void Finish(const Matmul& call, const R* product, const Factors<R>& factors, const Epilogue& epilogue,
            const Stored& a, const Stored& b, const Stored& c, const Stored& d, int batch) {
  const auto& operation = call.operation;
  const int64_t m = d.rows(), n = d.columns();
  const cudaDataType bias_type = BiasTypeOf(call);
  const BiasVector bias{
      bias_type, static_cast<char*>(operation.bias) + batch * operation.bias_stride * BytesOf(bias_type)};
  const RowFactors<R> rows(call, factors, epilogue, bias, m);
  const Aux aux = AuxOf(call, epilogue, batch);
  const float d_scale = operation.d_scale == nullptr ? 1 : *operation.d_scale;
  std::vector<R> column_largest(static_cast<size_t>(n), 0);
  std::vector<R> values(epilogue.bias_gradient ? static_cast<size_t>(m * n) : 0);
  auto finish_column = [&](int64_t j, std::span<R> column) {
    ComputeColumn(call, rows, product, c, j, column);
    Activate(epilogue, aux, j, column);
    if (epilogue.bias_gradient) std::ranges::copy(column, values.begin() + j * m);
    for (R value : column) column_largest[j] = std::max(column_largest[j], std::abs(value));
    WithStored(call.d.type, d.data, [&](auto* to) {
      for (int64_t i = 0; i < m; ++i) ConvertTo(column[i] * d_scale, to[d.At(i, j)]);
    });
  };
  const int64_t apart = ColumnsApart(epilogue, aux);
  ForRanges((n + apart - 1) / apart, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, m * apart)),
            [&](int64_t begin, int64_t end) {
              std::vector<R> column(static_cast<size_t>(m));
              for (int64_t j = begin * apart; j < std::min(end * apart, n); ++j) finish_column(j, column);
            });
  if (operation.d_amax != nullptr && n > 0)
    *operation.d_amax = static_cast<float>(*std::ranges::max_element(column_largest));
  for (int64_t i = 0; epilogue.bias_gradient && i < m; ++i) {
    R sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += values[i + j * m];
    bias.Set(i, sum);
  }
  if (epilogue.gradient_of_a) SumOperand<R>(a, !Transposes(operation.trans_a), bias);
  if (epilogue.gradient_of_b) SumOperand<R>(b, Transposes(operation.trans_b), bias);
}

template <typename C>
void RunWide(const Matmul& call, const Scalars& scalars, const Stored& a, const Stored& b, const Stored& c,
             const Stored& d, int64_t depth, int batch) {
  StorePlain<C>(Product<C>(call, a, b, depth).get(), FactorsOf<C>(call.operation, scalars, batch), c, d);
}

}  // namespace

cublasStatus_t CheckShapes(const Matmul& call) {
  const auto& operation = call.operation;
  for (const auto* layout : {&call.a, &call.b, &call.c, &call.d}) {
    if (!IsStorable(*layout) || layout->batch_count < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (layout->order > CUBLASLT_ORDER_COL32) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (layout->batch_count != call.d.batch_count || layout->batch_mode != call.d.batch_mode ||
        layout->batch_mode > CUBLASLT_BATCH_MODE_POINTER_ARRAY)
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool ops = operation.trans_a >= CUBLAS_OP_N && operation.trans_a <= CUBLAS_OP_C &&
                   operation.trans_b >= CUBLAS_OP_N && operation.trans_b <= CUBLAS_OP_C;
  if (!ops || operation.trans_c != CUBLAS_OP_N) return CUBLAS_STATUS_INVALID_VALUE;
  const bool ta = Transposes(operation.trans_a), tb = Transposes(operation.trans_b);
  const uint64_t m = ta ? call.a.cols : call.a.rows, k = ta ? call.a.rows : call.a.cols,
                 depth_b = tb ? call.b.cols : call.b.rows, n = tb ? call.b.rows : call.b.cols;
  if (k != depth_b || call.d.rows != m || call.d.cols != n || call.c.rows != m || call.c.cols != n)
    return CUBLAS_STATUS_INVALID_VALUE;
  return libraries::FitBlas(static_cast<int64_t>(m), static_cast<int64_t>(n), static_cast<int64_t>(k),
                            call.a.ld, call.b.ld)
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CheckMatmul(const Matmul& call) {
  if (IsPlanar(call)) return CheckPlanar(call);
  const auto& operation = call.operation;
  if (const cublasStatus_t wrong = CheckShapes(call)) return wrong;
  Epilogue epilogue;
  if (!TypesFit(call) || !ReadEpilogue(operation.epilogue, epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool plain_type = call.d.type == CUDA_R_32I || call.d.type == CUDA_C_32F || call.d.type == CUDA_C_64F;
  if (plain_type && operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool uses_bias =
      epilogue.bias || epilogue.bias_gradient || epilogue.gradient_of_a || epilogue.gradient_of_b;
  if ((operation.bias != nullptr && !uses_bias) || (operation.bias == nullptr && uses_bias) ||
      (epilogue.aux && operation.aux == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (const cublasStatus_t wrong = CheckScales(call)) return wrong;
  return operation.aux_scale == nullptr && operation.aux_amax == nullptr &&
                 operation.fill == CUBLAS_FILL_MODE_FULL
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t CheckMatmulCall(cublasLtHandle_t handle, cublasLtMatmulDesc_t descr, cublasLtMatrixLayout_t a,
                               cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (descr == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  return CheckMatmul({*descr, *a, *b, *c, *d});
}

Scalars ReadScalars(const cublasLtMatmulDescOpaque_t& operation, const void* alpha, const void* beta) {
  Scalars scalars;
  const auto bytes = static_cast<size_t>(BytesOf(operation.scale_type));
  if (operation.pointer_mode == CUBLASLT_POINTER_MODE_HOST) {
    std::memcpy(scalars.alpha, alpha, bytes);
  } else {
    scalars.alpha_device = alpha;
  }
  if (operation.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
      operation.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST) {
    if (beta != nullptr) std::memcpy(scalars.beta, beta, bytes);
  } else {
    scalars.beta_device = beta;
  }
  return scalars;
}

void RunMatmul(const Matmul& call, const Scalars& scalars, const void* a, const void* b, const void* c,
               void* d) {
  const auto depth = static_cast<int64_t>(Transposes(call.operation.trans_a) ? call.a.rows : call.a.cols);
  Epilogue epilogue;
  ReadEpilogue(call.operation.epilogue, epilogue);
  if (IsPlanar(call)) return RunPlanar(call, scalars, a, b, c, d);
  for (int batch = 0; batch < call.d.batch_count; ++batch) {
    const Stored left(call.a, a, batch), right(call.b, b, batch), before(call.c, c, batch),
        result(call.d, d, batch);
    if (call.d.type == CUDA_C_32F) {
      RunWide<cuComplex>(call, scalars, left, right, before, result, depth, batch);
    } else if (call.d.type == CUDA_C_64F) {
      RunWide<cuDoubleComplex>(call, scalars, left, right, before, result, depth, batch);
    } else if (call.d.type == CUDA_R_64F) {
      Finish(call, Product<double>(call, left, right, depth).get(),
             FactorsOf<double>(call.operation, scalars, batch), epilogue, left, right, before, result, batch);
    } else if (call.operation.compute == CUBLAS_COMPUTE_32I ||
               call.operation.compute == CUBLAS_COMPUTE_32I_PEDANTIC) {
      const auto product = IntegerProduct(call, left, right, depth);
      if (call.operation.scale_type == CUDA_R_32I) {
        StorePlain<int32_t>(product.get(), FactorsOf<int32_t>(call.operation, scalars, batch), before,
                            result);
      } else {
        const auto count = static_cast<int64_t>(call.d.rows * call.d.cols);
        const auto floats = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) floats[i] = static_cast<float>(product[i]);
        Finish(call, floats.get(), FactorsOf<float>(call.operation, scalars, batch), epilogue, left, right,
               before, result, batch);
      }
    } else {
      Finish(call, Product<float>(call, left, right, depth).get(),
             FactorsOf<float>(call.operation, scalars, batch), epilogue, left, right, before, result, batch);
    }
  }
}

}  // namespace ptx2cpu::cublaslt
