// Convolutions, and the questions about their algorithms: there is one of each kind, without a workspace.
#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/activation.h"
#include "runtime/cuda/libraries/dnn/convolution.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// What all kinds need: layouts that fit together, one type of floats, BLAS.
cudnnStatus_t Prepare(const char* name, const cudnnConvolutionStruct& convolution, const Layout& x,
                      const cudnnFilterStruct& filter, const Layout& y, ConvolutionShape& shape) {
  const std::optional<ConvolutionShape> found = ShapeOf(convolution, x, filter, y);
  if (!found) return CUDNN_STATUS_BAD_PARAM;
  shape = *found;
  auto is_integer = [](cudnnDataType_t type) { return type == CUDNN_DATA_INT8 || type == CUDNN_DATA_INT32; };
  const bool mixes = (x.type == CUDNN_DATA_DOUBLE) != (filter.layout.type == CUDNN_DATA_DOUBLE);
  if (mixes || is_integer(x.type) || is_integer(filter.layout.type) || is_integer(y.type) || !Fits(shape))
    return CUDNN_STATUS_NOT_SUPPORTED;
  return libraries::LoadBlas(name) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING;
}

template <typename Perf, typename Algorithm>
cudnnStatus_t OneAlgorithm(const ConvolutionShape* shape, Algorithm algorithm, float time, int wanted,
                           int* found, Perf* results) {
  if (!AllGiven(found, results) || wanted < 0 || shape == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *found = wanted > 0 ? 1 : 0;
  if (wanted == 0) return CUDNN_STATUS_SUCCESS;
  results[0] = {algorithm, CUDNN_STATUS_SUCCESS, time, 0, CUDNN_DETERMINISTIC, CUDNN_DEFAULT_MATH, {}};
  return CUDNN_STATUS_SUCCESS;
}

// All do the same, except the direct one, which cuDNN names and does not have.
bool HasForward(cudnnConvolutionFwdAlgo_t algo) {
  constexpr int kDirect = 3;
  return algo >= 0 && algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT && algo != kDirect;
}

constexpr float kNotMeasured = -1, kSomeTime = 1;

// The algorithm for these layouts.
template <typename Perf, typename Algorithm>
cudnnStatus_t Query(cudnnHandle_t handle, cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t x,
                    cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t y, Algorithm algorithm,
                    float time, int wanted, int* found, Perf* results) {
  if (!AllGiven(handle, convolution, x, filter, y)) return CUDNN_STATUS_BAD_PARAM;
  if (time != kNotMeasured && wanted < 1) return CUDNN_STATUS_BAD_PARAM;  // as recorded, of trials alone
  const auto shape = ShapeOf(*convolution, x->layout, *filter, y->layout);
  return OneAlgorithm(shape ? &*shape : nullptr, algorithm, time, wanted, found, results);
}
template <typename Algorithm>
cudnnStatus_t Workspace(cudnnHandle_t handle, cudnnConvolutionDescriptor_t convolution,
                        cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t y,
                        Algorithm algorithm, Algorithm count, size_t* size) {
  if (!AllGiven(handle, convolution, x, filter, y, size)) return CUDNN_STATUS_BAD_PARAM;
  if (!ShapeOf(*convolution, x->layout, *filter, y->layout)) return CUDNN_STATUS_BAD_PARAM;
  if (algorithm < 0 || algorithm >= count) return CUDNN_STATUS_NOT_SUPPORTED;
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t MaxCount(cudnnHandle_t handle, int* count) {
  if (!AllGiven(handle, count)) return CUDNN_STATUS_BAD_PARAM;
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      cudnnTensorDescriptor_t xLayout, const void* x,
                                      cudnnFilterDescriptor_t filter, const void* w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algo, void* workspace, size_t workspaceSize,
                                      const void* beta, cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, alpha, xLayout, x, filter, w, convolution, beta, yLayout, y))
    return CUDNN_STATUS_BAD_PARAM;
  if (!HasForward(algo)) return CUDNN_STATUS_NOT_SUPPORTED;
  ConvolutionShape shape;
  if (const cudnnStatus_t wrong =
          Prepare("cudnnConvolutionForward", *convolution, xLayout->layout, *filter, yLayout->layout, shape))
    return wrong;
  return OnStream(handle, "cudnnConvolutionForward",
                  [=, xl = xLayout->layout, wl = filter->layout, yl = yLayout->layout,
                   a = Factor(alpha, yLayout->layout.type), b = Factor(beta, yLayout->layout.type)] {
                    WithReal(yl.type, [&]<typename R>(R) {
                      const Packed<R> input(xl, x), weights(wl, w);
                      const auto output = Storage<R>(yl.Count());
                      Forward<R>(shape, input.get(), weights.get(), output.get());
                      Blend<R>(yl, y, output.get(), static_cast<R>(a), static_cast<R>(b));
                    });
                  });
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, cudnnTensorDescriptor_t xLayout, const void* x,
    cudnnFilterDescriptor_t filter, const void* w, cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algo, void* workspace, size_t workspaceSize, const void* alpha2,
    cudnnTensorDescriptor_t zLayout, const void* z, cudnnTensorDescriptor_t biasLayout, const void* bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, alpha1, xLayout, x, filter, w, convolution, alpha2, zLayout, z, biasLayout, bias,
                activation, yLayout, y))
    return CUDNN_STATUS_BAD_PARAM;
  if (!HasForward(algo)) return CUDNN_STATUS_NOT_SUPPORTED;
  ConvolutionShape shape;
  if (const cudnnStatus_t wrong = Prepare("cudnnConvolutionBiasActivationForward", *convolution,
                                          xLayout->layout, *filter, yLayout->layout, shape))
    return wrong;
  if (zLayout->layout.extents != yLayout->layout.extents ||
      biasLayout->layout.Count() != yLayout->layout.extents[1])
    return CUDNN_STATUS_BAD_PARAM;
  return OnStream(handle, "cudnnConvolutionBiasActivationForward",
                  [=, xl = xLayout->layout, wl = filter->layout, zl = zLayout->layout,
                   bl = biasLayout->layout, yl = yLayout->layout, act = *activation,
                   a1 = Factor(alpha1, yLayout->layout.type), a2 = Factor(alpha2, yLayout->layout.type)] {
                    WithReal(yl.type, [&]<typename R>(R) {
                      const Packed<R> input(xl, x), weights(wl, w), other(zl, z), biases(bl, bias);
                      const auto output = Storage<R>(yl.Count());
                      Forward<R>(shape, input.get(), weights.get(), output.get());
                      const Activation<R> activate(act);
                      const int64_t channels = yl.extents[1], out = Volume(shape.windows.out);
                      libraries::ForRanges(yl.extents[0] * channels, 1, [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin * out; i < end * out; ++i) {
                          const R sum = static_cast<R>(a1) * output[i] + static_cast<R>(a2) * other.get()[i];
                          output[i] = activate.Forward(sum + biases.get()[i / out % channels]);
                        }
                      });
                      Blend<R>(yl, y, output.get(), 1, 0);
                    });
                  });
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t filter, const void* w,
                                           cudnnTensorDescriptor_t dyLayout, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algo, void* workspace,
                                           size_t workspaceSize, const void* beta,
                                           cudnnTensorDescriptor_t dxLayout, void* dx) {
  if (!AllGiven(handle, alpha, filter, w, dyLayout, dy, convolution, beta, dxLayout, dx))
    return CUDNN_STATUS_BAD_PARAM;
  if (algo < 0 || algo >= CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT) return CUDNN_STATUS_BAD_PARAM;
  ConvolutionShape shape;
  if (const cudnnStatus_t wrong = Prepare("cudnnConvolutionBackwardData", *convolution, dxLayout->layout,
                                          *filter, dyLayout->layout, shape))
    return wrong;
  return OnStream(handle, "cudnnConvolutionBackwardData",
                  [=, wl = filter->layout, yl = dyLayout->layout, xl = dxLayout->layout,
                   a = Factor(alpha, dxLayout->layout.type), b = Factor(beta, dxLayout->layout.type)] {
                    WithReal(xl.type, [&]<typename R>(R) {
                      const Packed<R> weights(wl, w), gradient(yl, dy);
                      const auto result = Storage<R>(xl.Count());
                      BackwardData<R>(shape, weights.get(), gradient.get(), result.get());
                      Blend<R>(xl, dx, result.get(), static_cast<R>(a), static_cast<R>(b));
                    });
                  });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t xLayout, const void* x,
                                             cudnnTensorDescriptor_t dyLayout, const void* dy,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void* workspace,
                                             size_t workspaceSize, const void* beta,
                                             cudnnFilterDescriptor_t filter, void* dw) {
  if (!AllGiven(handle, alpha, xLayout, x, dyLayout, dy, convolution, beta, filter, dw))
    return CUDNN_STATUS_BAD_PARAM;
  if (algo < 0 || algo >= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT) return CUDNN_STATUS_BAD_PARAM;
  if (algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD) return CUDNN_STATUS_NOT_SUPPORTED;
  ConvolutionShape shape;
  if (const cudnnStatus_t wrong = Prepare("cudnnConvolutionBackwardFilter", *convolution, xLayout->layout,
                                          *filter, dyLayout->layout, shape))
    return wrong;
  return OnStream(handle, "cudnnConvolutionBackwardFilter",
                  [=, xl = xLayout->layout, yl = dyLayout->layout, wl = filter->layout,
                   a = Factor(alpha, filter->layout.type), b = Factor(beta, filter->layout.type)] {
                    WithReal(wl.type, [&]<typename R>(R) {
                      const Packed<R> input(xl, x), gradient(yl, dy);
                      const auto result = Storage<R>(wl.Count());
                      BackwardFilter<R>(shape, input.get(), gradient.get(), result.get());
                      Blend<R>(wl, dw, result.get(), static_cast<R>(a), static_cast<R>(b));
                    });
                  });
}

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha,
                                           cudnnTensorDescriptor_t dyLayout, const void* dy, const void* beta,
                                           cudnnTensorDescriptor_t dbLayout, void* db) {
  if (!AllGiven(handle, alpha, dyLayout, dy, beta, dbLayout, db)) return CUDNN_STATUS_BAD_PARAM;
  const Layout &yl = dyLayout->layout, &bl = dbLayout->layout;
  if (yl.extents.size() < 3 || bl.Count() != yl.extents[1]) return CUDNN_STATUS_BAD_PARAM;
  return OnStream(handle, "cudnnConvolutionBackwardBias",
                  [=, a = Factor(alpha, bl.type), b = Factor(beta, bl.type)] {
                    WithReal(bl.type, [&]<typename R>(R) {
                      const Packed<R> gradient(yl, dy);
                      const int64_t channels = yl.extents[1], out = yl.Count() / yl.extents[0] / channels;
                      const auto sums = Storage<R>(channels);
                      libraries::ForRanges(channels, 1, [&](int64_t begin, int64_t end) {
                        for (int64_t c = begin; c < end; ++c) {
                          double sum = 0;
                          for (int64_t n = 0; n < yl.extents[0]; ++n) {
                            for (int64_t i = 0; i < out; ++i)
                              sum += gradient.get()[(n * channels + c) * out + i];
                          }
                          sums[c] = static_cast<R>(sum);
                        }
                      });
                      Blend<R>(bl, db, sums.get(), static_cast<R>(a), static_cast<R>(b));
                    });
                  });
}

// -- algorithms --

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return MaxCount(handle, count);
}
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout,
                                                     cudnnFilterDescriptor_t filter,
                                                     cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t yLayout, int wanted, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return Query(handle, convolution, xLayout, filter, yLayout,
               CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, kNotMeasured, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout,
                                                   cudnnFilterDescriptor_t filter,
                                                   cudnnConvolutionDescriptor_t convolution,
                                                   cudnnTensorDescriptor_t yLayout, int wanted, int* found,
                                                   cudnnConvolutionFwdAlgoPerf_t* results) {
  return Query(handle, convolution, xLayout, filter, yLayout,
               CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, kSomeTime, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout,
                                                     const void* x, cudnnFilterDescriptor_t filter,
                                                     const void* w, cudnnConvolutionDescriptor_t convolution,
                                                     cudnnTensorDescriptor_t yLayout, void* y, int wanted,
                                                     int* found, cudnnConvolutionFwdAlgoPerf_t* results,
                                                     void* workspace, size_t workspaceSize) {
  return Query(handle, convolution, xLayout, filter, yLayout,
               CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, kSomeTime, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout,
                                                      cudnnFilterDescriptor_t filter,
                                                      cudnnConvolutionDescriptor_t convolution,
                                                      cudnnTensorDescriptor_t yLayout,
                                                      cudnnConvolutionFwdAlgo_t algo, size_t* size) {
  return Workspace(handle, convolution, xLayout, filter, yLayout, algo, CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
                   size);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return MaxCount(handle, count);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t dyLayout,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dxLayout, int wanted, int* found,
    cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return Query(handle, convolution, dxLayout, filter, dyLayout, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
               kNotMeasured, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, cudnnFilterDescriptor_t filter,
                                                        cudnnTensorDescriptor_t dyLayout,
                                                        cudnnConvolutionDescriptor_t convolution,
                                                        cudnnTensorDescriptor_t dxLayout, int wanted,
                                                        int* found,
                                                        cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return Query(handle, convolution, dxLayout, filter, dyLayout, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, kSomeTime,
               wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, cudnnFilterDescriptor_t filter, const void* w, cudnnTensorDescriptor_t dyLayout,
    const void* dy, cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dxLayout, void* dx,
    int wanted, int* found, cudnnConvolutionBwdDataAlgoPerf_t* results, void* workspace,
    size_t workspaceSize) {
  return Query(handle, convolution, dxLayout, filter, dyLayout, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, kSomeTime,
               wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle,
                                                           cudnnFilterDescriptor_t filter,
                                                           cudnnTensorDescriptor_t dyLayout,
                                                           cudnnConvolutionDescriptor_t convolution,
                                                           cudnnTensorDescriptor_t dxLayout,
                                                           cudnnConvolutionBwdDataAlgo_t algo, size_t* size) {
  return Workspace(handle, convolution, dxLayout, filter, dyLayout, algo,
                   CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, size);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return MaxCount(handle, count);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t dyLayout,
    cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t filter, int wanted, int* found,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return Query(handle, convolution, xLayout, filter, dyLayout, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
               kNotMeasured, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t dyLayout,
    cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t filter, int wanted, int* found,
    cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return Query(handle, convolution, xLayout, filter, dyLayout, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, kSomeTime,
               wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout, const void* x, cudnnTensorDescriptor_t dyLayout,
    const void* dy, cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t filter, void* dw,
    int wanted, int* found, cudnnConvolutionBwdFilterAlgoPerf_t* results, void* workspace,
    size_t workspaceSize) {
  return Query(handle, convolution, xLayout, filter, dyLayout, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, kSomeTime,
               wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t dyLayout,
    cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t filter,
    cudnnConvolutionBwdFilterAlgo_t algo, size_t* size) {
  if (algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD) return CUDNN_STATUS_NOT_SUPPORTED;
  return Workspace(handle, convolution, xLayout, filter, dyLayout, algo,
                   CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, size);
}

}  // namespace ptx2cpu::cudnn
