#include "runtime/cuda/libraries/lt/planar.h"

#include "runtime/cuda/libraries/blas/gemm.h"
#include "runtime/cuda/libraries/lt/factors.h"

namespace ptx2cpu::cublaslt {

namespace {

// The two planes of a matrix of a batch. Batches are as many numbers of a plane apart as their stride has.
struct Planes {
  cublasLtMatrixLayoutOpaque_t layout;
  Stored real, imaginary;
  Planes(const cublasLtMatrixLayoutOpaque_t& complex, const void* first, int batch)
      : layout(complex), real(OfPart(layout), first, batch), imaginary(layout, first, batch) {
    imaginary.data += layout.plane_offset;
  }
  Planes(const Planes&) = delete;

 private:
  static const cublasLtMatrixLayoutOpaque_t& OfPart(cublasLtMatrixLayoutOpaque_t& layout) {
    layout.type = layout.type == CUDA_C_16F ? CUDA_R_16F : CUDA_R_16BF;
    return layout;
  }
};

std::unique_ptr<cuComplex[]> Joined(const Planes& planes) {
  const auto real = Gather<float>(planes.real), imaginary = Gather<float>(planes.imaginary);
  const int64_t count = planes.real.rows() * planes.real.columns();
  auto joined = std::make_unique_for_overwrite<cuComplex[]>(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) joined[i] = {real[i], imaginary[i]};
  return joined;
}

void Store(const cuComplex* product, const Factors<cuComplex>& factors, const Planes& before,
           const Planes& to) {
  const cuComplex alpha = factors.Alpha(0), beta = factors.Beta(0);
  const auto added = beta == cuComplex{} ? nullptr : Joined(before);
  const int64_t rows = to.real.rows();
  WithStored(to.layout.type, to.real.data, [&]<typename S>(S* real) {
    S* const imaginary = reinterpret_cast<S*>(to.imaginary.data);
    for (int64_t j = 0; j < to.real.columns(); ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        cuComplex value = alpha * product[i + j * rows];
        if (added != nullptr) value += beta * added[i + j * rows];
        ConvertTo(value.real(), real[to.real.At(i, j)]);
        ConvertTo(value.imag(), imaginary[to.real.At(i, j)]);
      }
    }
  });
}

}  // namespace

bool IsPlanar(const Matmul& call) {
  return call.a.plane_offset != 0 || call.b.plane_offset != 0 || call.c.plane_offset != 0 ||
         call.d.plane_offset != 0;
}

cublasStatus_t CheckPlanar(const Matmul& call) {
  if (const cublasStatus_t wrong = CheckShapes(call)) return wrong;
  const auto& operation = call.operation;
  for (const auto* layout : {&call.a, &call.b, &call.c, &call.d}) {
    if (layout->plane_offset == 0 || layout->type != call.a.type || layout->order != CUBLASLT_ORDER_COL)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool types =
      (call.a.type == CUDA_C_16F || call.a.type == CUDA_C_16BF) && operation.scale_type == CUDA_C_32F &&
      (operation.compute == CUBLAS_COMPUTE_32F || operation.compute == CUBLAS_COMPUTE_32F_PEDANTIC);
  const bool one_factor = operation.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
                          operation.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  return types && one_factor && operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? CUBLAS_STATUS_SUCCESS
                                                                                : CUBLAS_STATUS_NOT_SUPPORTED;
}

void RunPlanar(const Matmul& call, const Scalars& scalars, const void* a, const void* b, const void* c,
               void* d) {
  const auto& operation = call.operation;
  const auto m = static_cast<int64_t>(call.d.rows), n = static_cast<int64_t>(call.d.cols);
  const auto depth = static_cast<int64_t>(operation.trans_a == CUBLAS_OP_N ? call.a.cols : call.a.rows);
  for (int batch = 0; batch < call.d.batch_count; ++batch) {
    const Planes left(call.a, a, batch), right(call.b, b, batch), before(call.c, c, batch),
        to(call.d, d, batch);
    const auto first = Joined(left), second = Joined(right);
    const auto product = std::make_unique_for_overwrite<cuComplex[]>(static_cast<size_t>(m * n));
    cublas::Multiply<cuComplex>({operation.trans_a, operation.trans_b, m, n, depth, cuComplex(1), first.get(),
                                 std::max<int64_t>(1, left.real.rows()), second.get(),
                                 std::max<int64_t>(1, right.real.rows()), cuComplex{}, product.get(),
                                 std::max<int64_t>(1, m)});
    Store(product.get(), FactorsOf<cuComplex>(operation, scalars, batch), before, to);
  }
}

}  // namespace ptx2cpu::cublaslt
