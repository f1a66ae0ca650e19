// Pooling, activation, soft-max, batch normalisation, dropout, operations on tensors and reductions of cuDNN
// against their definitions; what is refused, and status of both versions.
#include <algorithm>

#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

constexpr cudnnTensorFormat_t kFormats[] = {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC};
constexpr cudnnDataType_t kTypes[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF,
                                      CUDNN_DATA_BFLOAT16};

// Every type and layout.
template <typename Each>
void ForKinds(const Each& each) {
  for (cudnnDataType_t type : kTypes) {
    for (cudnnTensorFormat_t format : kFormats) {
      INFO("type " << type << ", format " << format);
      each(type, format);
    }
  }
}

const void* In(const DnnTensor& tensor) { return tensor.data(); }
const void* In(const DnnFactor& factor) { return factor; }

constexpr int kImages = 2, kChannels = 3, kHeight = 5, kWidth = 6;
const std::vector<int> kExtents = {kImages, kChannels, kHeight, kWidth};
constexpr size_t kCount = kImages * kChannels * kHeight * kWidth, kSpace = kHeight * kWidth;

}  // namespace

TEST_CASE("cudnn: pooling and its gradient", "[cudnn]") {
  struct Case {
    cudnnPoolingMode_t mode;
    int window, pad, stride;
  };
  for (const Case& c : {Case{CUDNN_POOLING_MAX, 2, 0, 2}, Case{CUDNN_POOLING_MAX_DETERMINISTIC, 3, 1, 1},
                        Case{CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, 3, 1, 2},
                        Case{CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, 3, 1, 2}}) {
    ForKinds([&](cudnnDataType_t type, cudnnTensorFormat_t format) {
      INFO("mode " << c.mode);
      DnnHandle handle;
      cudnnPoolingDescriptor_t pooling = nullptr;
      Cudnn("cudnnCreatePoolingDescriptor", &pooling);
      Cudnn("cudnnSetPooling2dDescriptor", pooling, c.mode, CUDNN_NOT_PROPAGATE_NAN, c.window, c.window,
            c.pad, c.pad, c.stride, c.stride);
      DnnTensor x(type, kExtents, format, Numbers(kCount, 1)), dx(type, kExtents, format, {});
      std::vector<int> out(4);
      Cudnn("cudnnGetPooling2dForwardOutputDim", pooling, x.tensor(), &out[0], &out[1], &out[2], &out[3]);
      CHECK(out[2] == (kHeight + 2 * c.pad - c.window) / c.stride + 1);
      DnnTensor y(type, out, format, {}), dy(type, out, format, Numbers(y.Count(), 2));
      const std::vector<double> xs = x.Get(), dys = dy.Get();
      std::vector<double> ys(y.Count()), dxs(kCount);
      for (size_t i = 0; i < ys.size(); ++i) {
        const int ow = static_cast<int>(i) % out[3], oh = static_cast<int>(i) / out[3] % out[2];
        const size_t channel = i / static_cast<size_t>(out[2] * out[3]);
        std::vector<size_t> read;
        for (int h = oh * c.stride - c.pad; h < oh * c.stride - c.pad + c.window; ++h) {
          for (int w = ow * c.stride - c.pad; w < ow * c.stride - c.pad + c.window; ++w) {
            if (h >= 0 && h < kHeight && w >= 0 && w < kWidth)
              read.push_back(channel * kSpace + static_cast<size_t>(h * kWidth + w));
          }
        }
        if (c.mode == CUDNN_POOLING_MAX || c.mode == CUDNN_POOLING_MAX_DETERMINISTIC) {
          const size_t best = *std::ranges::max_element(read, {}, [&](size_t at) { return xs[at]; });
          ys[i] = xs[best], dxs[best] += dys[i];
          continue;
        }
        const auto count = static_cast<double>(
            c.mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING ? read.size() : c.window * c.window);
        for (size_t at : read) ys[i] += xs[at] / count, dxs[at] += dys[i] / count;
      }
      const DnnFactor one(1, type), zero(0, type);
      Cudnn("cudnnPoolingForward", handle.handle, pooling, In(one), x.tensor(), In(x), In(zero), y.tensor(),
            y.data());
      CheckNear(type, y, ys);
      Cudnn("cudnnPoolingBackward", handle.handle, pooling, In(one), y.tensor(), In(y), dy.tensor(), In(dy),
            x.tensor(), In(x), In(zero), dx.tensor(), dx.data());
      CheckNear(type, dx, dxs, 4);
      Cudnn("cudnnDestroyPoolingDescriptor", pooling);
    });
  }
}

TEST_CASE("cudnn: activation functions; gradients by differences", "[cudnn]") {
  struct Case {
    cudnnActivationMode_t mode;
    double coefficient;
    double (*function)(double);
  };
  constexpr double kStep = 1e-6;
  for (const Case& c :
       {Case{CUDNN_ACTIVATION_SIGMOID, 0, [](double x) { return 1 / (1 + std::exp(-x)); }},
        Case{CUDNN_ACTIVATION_RELU, 0, [](double x) { return std::max(x, 0.0); }},
        Case{CUDNN_ACTIVATION_TANH, 0, [](double x) { return std::tanh(x); }},
        Case{CUDNN_ACTIVATION_CLIPPED_RELU, 0.7, [](double x) { return std::clamp(x, 0.0, 0.7); }},
        Case{CUDNN_ACTIVATION_ELU, 1.5, [](double x) { return x < 0 ? 1.5 * (std::exp(x) - 1) : x; }},
        Case{CUDNN_ACTIVATION_SWISH, 0, [](double x) { return x / (1 + std::exp(-x)); }}}) {
    ForKinds([&](cudnnDataType_t type, cudnnTensorFormat_t format) {
      INFO("mode " << c.mode);
      DnnHandle handle;
      cudnnActivationDescriptor_t activation = nullptr;
      Cudnn("cudnnCreateActivationDescriptor", &activation);
      Cudnn("cudnnSetActivationDescriptor", activation, c.mode, CUDNN_NOT_PROPAGATE_NAN, c.coefficient);
      std::vector<double> numbers = Numbers(kCount, 1);
      for (double& number : numbers) number += number == 0 ? 0.25 : 0;  // where there is a gradient
      DnnTensor x(type, kExtents, format, numbers), y(type, kExtents, format, Numbers(kCount, 2)),
          dy(type, kExtents, format, Numbers(kCount, 3)), dx(type, kExtents, format, {});
      const std::vector<double> before = y.Get(), dys = dy.Get();
      std::vector<double> ys(kCount), dxs(kCount), sums(kCount);
      for (size_t i = 0; i < kCount; ++i) {
        ys[i] = c.function(numbers[i]);
        sums[i] = 2 * ys[i] + 3 * before[i];
        dxs[i] = dys[i] * (c.function(numbers[i] + kStep) - c.function(numbers[i] - kStep)) / (2 * kStep);
      }
      const DnnFactor two(2, type), three(3, type), one(1, type), zero(0, type);
      Cudnn("cudnnActivationForward", handle.handle, activation, In(two), x.tensor(), In(x), In(three),
            y.tensor(), y.data());
      CheckNear(type, y, sums, 4);
      Cudnn("cudnnActivationForward", handle.handle, activation, In(one), x.tensor(), In(x), In(zero),
            y.tensor(), y.data());
      CheckNear(type, y, ys);
      Cudnn("cudnnActivationBackward", handle.handle, activation, In(one), y.tensor(), In(y), dy.tensor(),
            In(dy), x.tensor(), In(x), In(zero), dx.tensor(), dx.data());
      CheckNear(type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_FLOAT : type, dx, dxs, 4);
      Cudnn("cudnnDestroyActivationDescriptor", activation);
    });
  }
}

TEST_CASE("cudnn: soft-max of channels and of images, its logarithm, and gradients", "[cudnn]") {
  for (cudnnSoftmaxMode_t mode : {CUDNN_SOFTMAX_MODE_INSTANCE, CUDNN_SOFTMAX_MODE_CHANNEL}) {
    for (cudnnSoftmaxAlgorithm_t algorithm :
         {CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_LOG}) {
      ForKinds([&](cudnnDataType_t type, cudnnTensorFormat_t format) {
        INFO("mode " << mode << ", algorithm " << algorithm);
        DnnHandle handle;
        DnnTensor x(type, kExtents, format, Numbers(kCount, 1)), y(type, kExtents, format, {}),
            dy(type, kExtents, format, Numbers(kCount, 3)), dx(type, kExtents, format, {});
        const std::vector<double> xs = x.Get(), dys = dy.Get();
        auto distribution = [&](size_t i) {
          return mode == CUDNN_SOFTMAX_MODE_INSTANCE ? i / (kChannels * kSpace)
                                                     : i / (kChannels * kSpace) * kSpace + i % kSpace;
        };
        std::vector<double> sums(kCount), products(kCount), ys(kCount), dxs(kCount);
        const bool is_log = algorithm == CUDNN_SOFTMAX_LOG;
        for (size_t i = 0; i < kCount; ++i) sums[distribution(i)] += std::exp(xs[i]);
        for (size_t i = 0; i < kCount; ++i) {
          const double part = std::exp(xs[i]) / sums[distribution(i)];
          ys[i] = is_log ? std::log(part) : part;
          products[distribution(i)] += is_log ? dys[i] : dys[i] * part;
        }
        for (size_t i = 0; i < kCount; ++i) {
          const double sum = products[distribution(i)];
          dxs[i] = is_log ? dys[i] - std::exp(ys[i]) * sum : ys[i] * (dys[i] - sum);
        }
        const DnnFactor one(1, type), zero(0, type);
        Cudnn("cudnnSoftmaxForward", handle.handle, algorithm, mode, In(one), x.tensor(), In(x), In(zero),
              y.tensor(), y.data());
        CheckNear(type, y, ys);
        Cudnn("cudnnSoftmaxBackward", handle.handle, algorithm, mode, In(one), y.tensor(), In(y), dy.tensor(),
              In(dy), In(zero), dx.tensor(), dx.data());
        CheckNear(type, dx, dxs, 8);
      });
    }
  }
}

TEST_CASE("cudnn: batch normalisation: inference, training, gradients", "[cudnn]") {
  constexpr double kEpsilon = 1e-3, kFactor = 0.25;
  for (cudnnBatchNormMode_t mode : {CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_PER_ACTIVATION}) {
    ForKinds([&](cudnnDataType_t type, cudnnTensorFormat_t format) {
      INFO("mode " << mode);
      DnnHandle handle;
      const bool spatial = mode == CUDNN_BATCHNORM_SPATIAL;
      const cudnnDataType_t of_parameters = type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
      const std::vector<int> extents =
          spatial ? std::vector{1, kChannels, 1, 1} : std::vector{1, kChannels, kHeight, kWidth};
      const size_t groups = spatial ? kChannels : kChannels * kSpace;
      auto parameters = [&](std::vector<double> numbers) {
        return std::make_unique<DnnTensor>(of_parameters, extents, CUDNN_TENSOR_NCHW, std::move(numbers));
      };
      DnnTensor x(type, kExtents, format, Numbers(kCount, 1)), y(type, kExtents, format, {}),
          dy(type, kExtents, format, Numbers(kCount, 3)), dx(type, kExtents, format, {});
      const auto scale = parameters(Numbers(groups, 4)), bias = parameters(Numbers(groups, 5)),
                 mean = parameters(Numbers(groups, 6)),
                 variance = parameters(std::vector<double>(groups, 2.0)), saved_mean = parameters({}),
                 saved_inverse = parameters({}), dscale = parameters({}), dbias = parameters({});
      const std::vector<double> xs = x.Get(), dys = dy.Get(), scales = scale->Get(), biases = bias->Get(),
                                old_mean = mean->Get();
      auto group = [&](size_t i) { return spatial ? i / kSpace % kChannels : i % (kChannels * kSpace); };
      const double members = static_cast<double>(kCount) / static_cast<double>(groups);
      std::vector<double> means(groups), variances(groups), ys(kCount), dxs(kCount), sum(groups),
          product(groups), running(groups), inference(kCount);
      for (size_t i = 0; i < kCount; ++i) means[group(i)] += xs[i] / members;
      for (size_t i = 0; i < kCount; ++i)
        variances[group(i)] += (xs[i] - means[group(i)]) * (xs[i] - means[group(i)]) / members;
      auto inverse = [&](size_t g) { return 1 / std::sqrt(variances[g] + kEpsilon); };
      for (size_t i = 0; i < kCount; ++i) {
        const size_t g = group(i);
        ys[i] = (xs[i] - means[g]) * inverse(g) * scales[g] + biases[g];
        inference[i] = (xs[i] - old_mean[g]) / std::sqrt(2 + kEpsilon) * scales[g] + biases[g];
        sum[g] += dys[i], product[g] += dys[i] * (xs[i] - means[g]) * inverse(g);
      }
      for (size_t i = 0; i < kCount; ++i) {
        const size_t g = group(i);
        const double normal = (xs[i] - means[g]) * inverse(g);
        dxs[i] = scales[g] * inverse(g) * (dys[i] - sum[g] / members - normal * product[g] / members);
      }
      const DnnFactor one(1, type), zero(0, type);
      Cudnn("cudnnBatchNormalizationForwardInference", handle.handle, mode, In(one), In(zero), x.tensor(),
            In(x), y.tensor(), y.data(), scale->tensor(), In(*scale), In(*bias), In(*mean), In(*variance),
            kEpsilon);
      CheckNear(type, y, inference, 8);
      Cudnn("cudnnBatchNormalizationForwardTraining", handle.handle, mode, In(one), In(zero), x.tensor(),
            In(x), y.tensor(), y.data(), scale->tensor(), In(*scale), In(*bias), kFactor, mean->data(),
            variance->data(), kEpsilon, saved_mean->data(), saved_inverse->data());
      CheckNear(type, y, ys, 64);
      std::vector<double> new_mean(groups), new_variance(groups);
      for (size_t g = 0; g < groups; ++g) {
        new_mean[g] = means[g] * kFactor + old_mean[g] * (1 - kFactor);
        new_variance[g] = variances[g] * members / (members - 1) * kFactor + 2 * (1 - kFactor);
      }
      CheckNear(CUDNN_DATA_FLOAT, *mean, new_mean);
      CheckNear(CUDNN_DATA_FLOAT, *variance, new_variance);
      // Rounding of the mean counts for groups whose numbers are nearly the same.
      CheckNear(CUDNN_DATA_FLOAT, *saved_mean, means, 1);
      Cudnn("cudnnBatchNormalizationBackward", handle.handle, mode, In(one), In(zero), In(one), In(zero),
            x.tensor(), In(x), dy.tensor(), In(dy), dx.tensor(), dx.data(), scale->tensor(), In(*scale),
            dscale->data(), dbias->data(), kEpsilon, In(*saved_mean), In(*saved_inverse));
      CheckNear(type, dx, dxs, 500);
      CheckNear(of_parameters, *dbias, sum, 32);
      CheckNear(of_parameters, *dscale, product, 100);
    });
  }
}

TEST_CASE("cudnn: sums with repeated tensors, element-wise operations, values", "[cudnn]") {
  ForKinds([&](cudnnDataType_t type, cudnnTensorFormat_t format) {
    DnnHandle handle;
    DnnTensor a(type, kExtents, format, Numbers(kCount, 1)),
        b(type, {1, kChannels, 1, 1}, format, {0.5, -1, 2}), c(type, kExtents, format, Numbers(kCount, 2));
    const std::vector<double> as = a.Get(), cs = c.Get(), bs = b.Get();
    const DnnFactor two(2, type), three(3, type), zero(0, type);
    std::vector<double> wanted(kCount);
    for (size_t i = 0; i < kCount; ++i) wanted[i] = 2 * bs[i / kSpace % kChannels] + 3 * cs[i];
    Cudnn("cudnnAddTensor", handle.handle, In(two), b.tensor(), In(b), In(three), c.tensor(), c.data());
    CheckNear(type, c, wanted, 8);

    struct Case {
      cudnnOpTensorOp_t op;
      double (*function)(double, double);
    };
    for (const Case& one : {Case{CUDNN_OP_TENSOR_ADD, [](double x, double y) { return x + y; }},
                            Case{CUDNN_OP_TENSOR_MUL, [](double x, double y) { return x * y; }},
                            Case{CUDNN_OP_TENSOR_MIN, [](double x, double y) { return std::min(x, y); }},
                            Case{CUDNN_OP_TENSOR_MAX, [](double x, double y) { return std::max(x, y); }},
                            Case{CUDNN_OP_TENSOR_NOT, [](double x, double) { return 1 - x; }}}) {
      INFO("operation " << one.op);
      cudnnOpTensorDescriptor_t operation = nullptr;
      Cudnn("cudnnCreateOpTensorDescriptor", &operation);
      Cudnn("cudnnSetOpTensorDescriptor", operation, one.op, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN);
      for (size_t i = 0; i < kCount; ++i) wanted[i] = one.function(2 * as[i], 3 * bs[i / kSpace % kChannels]);
      Cudnn("cudnnOpTensor", handle.handle, operation, In(two), a.tensor(), In(a), In(three), b.tensor(),
            In(b), In(zero), c.tensor(), c.data());
      CheckNear(type, c, wanted, 8);
      Cudnn("cudnnDestroyOpTensorDescriptor", operation);
    }

    // Packed in one order to packed in another, to a value, and scaled.
    DnnTensor other(type, kExtents, format == CUDNN_TENSOR_NCHW ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, {});
    const DnnFactor one(1, type);
    Cudnn("cudnnTransformTensor", handle.handle, In(one), a.tensor(), In(a), In(zero), other.tensor(),
          other.data());
    CheckNear(type, other, as);
    Cudnn("cudnnScaleTensor", handle.handle, other.tensor(), other.data(), In(two));
    for (size_t i = 0; i < kCount; ++i) wanted[i] = 2 * as[i];
    CheckNear(type, other, wanted);
    const DnnFactor value(-0.75, type);
    Cudnn("cudnnSetTensor", handle.handle, other.tensor(), other.data(), In(value));
    CheckNear(type, other, std::vector<double>(kCount, -0.75));
  });
}

TEST_CASE("cudnn: reductions over any axes, and places of the greatest", "[cudnn]") {
  struct Case {
    cudnnReduceTensorOp_t op;
    double (*function)(const std::vector<double>&);
  };
  using Numbers_ = std::vector<double>;
  const Case cases[] = {
      {CUDNN_REDUCE_TENSOR_ADD, [](const Numbers_& x) { return std::accumulate(x.begin(), x.end(), 0.0); }},
      {CUDNN_REDUCE_TENSOR_MIN, [](const Numbers_& x) { return std::ranges::min(x); }},
      {CUDNN_REDUCE_TENSOR_MAX, [](const Numbers_& x) { return std::ranges::max(x); }},
      {CUDNN_REDUCE_TENSOR_AMAX,
       [](const Numbers_& x) { return std::max(std::ranges::max(x), -std::ranges::min(x)); }},
      {CUDNN_REDUCE_TENSOR_AVG,
       [](const Numbers_& x) {
         return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
       }},
      {CUDNN_REDUCE_TENSOR_NORM1,
       [](const Numbers_& x) {
         return std::accumulate(x.begin(), x.end(), 0.0, [](double s, double y) { return s + std::abs(y); });
       }},
      {CUDNN_REDUCE_TENSOR_NORM2,
       [](const Numbers_& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }},
  };
  for (const Case& c : cases) {
    for (const std::vector<int>& to :
         {std::vector{1, kChannels, 1, 1}, std::vector{1, 1, 1, 1}, std::vector{kImages, 1, kHeight, 1}}) {
      ForKinds([&](cudnnDataType_t type, cudnnTensorFormat_t format) {
        INFO("operation " << c.op);
        DnnHandle handle;
        DnnTensor a(type, kExtents, format, Numbers(kCount, 1)), result(type, to, format, {});
        const std::vector<double> as = a.Get();
        std::vector<Numbers_> parts(result.Count());
        for (size_t i = 0; i < kCount; ++i) {
          size_t at = 0, rest = i, scale = 1;
          for (size_t axis = 4; axis-- > 0;) {
            const auto extent = static_cast<size_t>(kExtents[axis]);
            if (to[axis] != 1) at += rest % extent * scale, scale *= extent;
            rest /= extent;
          }
          parts[at].push_back(as[i]);
        }
        std::vector<double> wanted;
        for (const Numbers_& part : parts) wanted.push_back(c.function(part));
        cudnnReduceTensorDescriptor_t reduction = nullptr;
        Cudnn("cudnnCreateReduceTensorDescriptor", &reduction);
        Cudnn("cudnnSetReduceTensorDescriptor", reduction, c.op, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN,
              CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, CUDNN_32BIT_INDICES);
        size_t size = 0;
        Cudnn("cudnnGetReductionIndicesSize", handle.handle, reduction, a.tensor(), result.tensor(), &size);
        std::vector<uint32_t> places(size / 4);
        const DnnFactor one(1, type), zero(0, type);
        Cudnn("cudnnReduceTensor", handle.handle, reduction, static_cast<void*>(places.data()), size,
              static_cast<void*>(nullptr), size_t{0}, In(one), a.tensor(), In(a), In(zero), result.tensor(),
              result.data());
        CheckNear(type, result, wanted, 64);
        for (size_t n = 0; n < places.size(); ++n)
          CHECK(std::abs(parts[n][places[n]]) == std::abs(wanted[n]));
        Cudnn("cudnnDestroyReduceTensorDescriptor", reduction);
      });
    }
  }
}

TEST_CASE("cudnn: dropout keeps its share, scaled, and the gradient of the same elements", "[cudnn]") {
  DnnHandle handle;
  constexpr int kMany = 4000;
  constexpr float kRate = 0.3f;
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  size_t states_size = 0, reserve_size = 0;
  Cudnn("cudnnDropoutGetStatesSize", handle.handle, &states_size);
  std::vector<char> states(states_size);
  cudnnDropoutDescriptor_t dropout = nullptr;
  Cudnn("cudnnCreateDropoutDescriptor", &dropout);
  Cudnn("cudnnSetDropoutDescriptor", dropout, handle.handle, kRate, static_cast<void*>(states.data()),
        states_size, 77ULL);
  DnnTensor x(type, {1, kMany, 1, 1}, CUDNN_TENSOR_NCHW, std::vector<double>(kMany, 1.0)),
      y(type, {1, kMany, 1, 1}, CUDNN_TENSOR_NCHW, {}), dx(type, {1, kMany, 1, 1}, CUDNN_TENSOR_NCHW, {});
  Cudnn("cudnnDropoutGetReserveSpaceSize", x.tensor(), &reserve_size);
  std::vector<char> reserve(reserve_size);
  auto forward = [&] {
    Cudnn("cudnnDropoutForward", handle.handle, dropout, x.tensor(), In(x), y.tensor(), y.data(),
          static_cast<void*>(reserve.data()), reserve_size);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    return y.Get();
  };
  const std::vector<double> first = forward(), second = forward();
  CHECK(first != second);
  const auto kept = std::ranges::count_if(second, [](double value) { return value != 0; });
  CHECK(std::abs(static_cast<double>(kept) / kMany - (1 - kRate)) < 0.03);
  for (double value : second) CHECK((value == 0 || std::abs(value - 1 / (1 - kRate)) < 1e-6));
  Cudnn("cudnnDropoutBackward", handle.handle, dropout, x.tensor(), In(x), dx.tensor(), dx.data(),
        static_cast<void*>(reserve.data()), reserve_size);
  CheckNear(type, dx, second);
  Cudnn("cudnnSetDropoutDescriptor", dropout, handle.handle, kRate, static_cast<void*>(states.data()),
        states_size, 77ULL);
  CHECK(forward() == first);
  Cudnn("cudnnDestroyDropoutDescriptor", dropout);
}

TEST_CASE("cudnn: work of streams is captured into graphs", "[cudnn]") {
  DnnHandle handle;
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  Cudnn("cudnnSetStream", handle.handle, stream);
  DnnTensor y(CUDNN_DATA_FLOAT, {1, 4, 1, 1}, CUDNN_TENSOR_NCHW, {1, 2, 3, 4});
  const float two = 2;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  Cudnn("cudnnScaleTensor", handle.handle, y.tensor(), y.data(), static_cast<const void*>(&two));
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(y.Get() == std::vector<double>{1, 2, 3, 4});
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess);
  for (int n = 0; n < 3; ++n) REQUIRE(cudart::cudaGraphLaunch(executable, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y.Get() == std::vector<double>{8, 16, 24, 32});
  cudart::cudaGraphExecDestroy(executable);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cudnn: status of both versions; what is not there is refused by name", "[cudnn]") {
  struct Version {
    const char* soname;
    int bad_param, not_supported;
    size_t major;
  };
  constexpr int kFourChannels = 5;  // CUDNN_DATA_INT8x4
  for (const Version& v : {Version{"libcudnn.so.8", 3, 9, 8}, Version{"libcudnn.so.9", 2000, 3000, 9}}) {
    INFO(v.soname);
    const DropIn library(v.soname);
    const auto version = library.Call<size_t>("cudnnGetVersion");
    CHECK((version >= 10000 ? version / 10000 : version / 1000) == v.major);
    CHECK(library.Call("cudnnCreate", static_cast<void*>(nullptr)) == v.bad_param);
    CHECK(std::string(library.Call<const char*>("cudnnGetErrorString", v.bad_param)) ==
          "CUDNN_STATUS_BAD_PARAM");
    CHECK(library.Call("cudnnMakeFusedOpsPlan") == v.not_supported);
    cudnnTensorDescriptor_t tensor = nullptr;
    REQUIRE(library.Call("cudnnCreateTensorDescriptor", &tensor) == 0);
    CHECK(library.Call("cudnnSetTensor4dDescriptor", tensor, CUDNN_TENSOR_NCHW_VECT_C, kFourChannels, 1, 4, 2,
                       2) == v.not_supported);
    CHECK(library.Call("cudnnSetTensor4dDescriptor", tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 0, 2,
                       2) == v.bad_param);
    CHECK(library.Call("cudnnDestroyTensorDescriptor", tensor) == 0);
  }
}
