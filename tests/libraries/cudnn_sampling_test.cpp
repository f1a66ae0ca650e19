// Local response normalisation and spatial transformers of cuDNN against their definitions; gradients against
// differences; status.
#include <algorithm>

#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

const void* In(const DnnTensor& tensor) { return tensor.data(); }
const void* In(const DnnFactor& factor) { return factor; }

constexpr cudnnTensorFormat_t kFormats[] = {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC};
constexpr cudnnDataType_t kTypes[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF};

struct Normalisation {
  unsigned width;
  double alpha, beta, k;
};
struct Norm {
  explicit Norm(const Normalisation& n) {
    Cudnn("cudnnCreateLRNDescriptor", &descriptor);
    Cudnn("cudnnSetLRNDescriptor", descriptor, n.width, n.alpha, n.beta, n.k);
  }
  ~Norm() { Cudnn().Call("cudnnDestroyLRNDescriptor", descriptor); }
  Norm(const Norm&) = delete;
  cudnnLRNDescriptor_t descriptor = nullptr;
};

constexpr int kImages = 2, kChannels = 7, kHeight = 3, kWidth = 4;
constexpr int kSpace = kHeight * kWidth;
const std::vector<int> kExtents = {kImages, kChannels, kHeight, kWidth};
constexpr size_t kCount = kImages * kChannels * kSpace;

std::vector<double> Normalised(const Normalisation& n, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const int before = (static_cast<int>(n.width) - 1) / 2, after = static_cast<int>(n.width) - before - 1;
  for (int i = 0; i < static_cast<int>(x.size()); ++i) {
    const int channel = i / kSpace % kChannels;
    double sum = 0;
    for (int d = -before; d <= after; ++d) {
      if (channel + d >= 0 && channel + d < kChannels) sum += x[i + d * kSpace] * x[i + d * kSpace];
    }
    y[i] = x[i] / std::pow(n.k + n.alpha / n.width * sum, n.beta);
  }
  return y;
}

// The gradient of sum(weights * f(x)) by central differences.
template <typename Function>
std::vector<double> Differences(const Function& f, std::vector<double> x,
                                const std::vector<double>& weights) {
  const double step = 1e-5;
  const auto total = [&] {
    const std::vector<double> y = f(x);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
    return sum;
  };
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double before = x[i];
    x[i] = before + step;
    const double more = total();
    x[i] = before - step;
    gradient[i] = (more - total()) / (2 * step);
    x[i] = before;
  }
  return gradient;
}
void CheckDifferences(const DnnTensor& tensor, const std::vector<double>& wanted) {
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  const std::vector<double> found = tensor.Get();
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    INFO(i << ": " << found[i] << " for " << wanted[i]);
    REQUIRE(std::abs(found[i] - wanted[i]) <= 1e-6 * (1 + std::abs(wanted[i])));
  }
}

// Spatial transformers: images of 5 x 6, outputs of 4 x 3, two channels.
constexpr int kInHeight = 5, kInWidth = 6, kOutHeight = 4, kOutWidth = 3, kPlanes = 2;
constexpr int kIn = kInHeight * kInWidth, kPlaces = kOutHeight * kOutWidth;

std::vector<double> GridOf(const std::vector<double>& maps) {
  std::vector<double> grid;
  for (int n = 0; n < kImages; ++n) {
    for (int i = 0; i < kPlaces; ++i) {
      const double x = 2.0 * (i % kOutWidth) / (kOutWidth - 1) - 1,
                   y = 2.0 * (i / kOutWidth) / (kOutHeight - 1) - 1;
      for (int r = 0; r < 2; ++r)
        grid.push_back(maps[n * 6 + r * 3] * x + maps[n * 6 + r * 3 + 1] * y + maps[n * 6 + r * 3 + 2]);
    }
  }
  return grid;
}
// Each pixel counts by its distance, which is the definition.
std::vector<double> SampledAt(const std::vector<double>& images, const std::vector<double>& grid) {
  std::vector<double> out(kImages * kPlanes * kPlaces);
  for (int i = 0; i < static_cast<int>(out.size()); ++i) {
    const int n = i / (kPlanes * kPlaces), place = n * kPlaces + i % kPlaces;
    const double x = (grid[place * 2] + 1) * (kInWidth - 1) / 2,
                 y = (grid[place * 2 + 1] + 1) * (kInHeight - 1) / 2;
    for (int p = 0; p < kIn; ++p) {
      const double of_x = std::max(0.0, 1 - std::abs(x - p % kInWidth)),
                   of_y = std::max(0.0, 1 - std::abs(y - p / kInWidth));
      out[i] += of_x * of_y * images[i / kPlaces * kIn + p];
    }
  }
  return out;
}
struct Transformer {
  explicit Transformer(cudnnDataType_t type) {
    const int extents[] = {kImages, kPlanes, kOutHeight, kOutWidth};
    Cudnn("cudnnCreateSpatialTransformerDescriptor", &descriptor);
    Cudnn("cudnnSetSpatialTransformerNdDescriptor", descriptor, CUDNN_SAMPLER_BILINEAR, type, 4,
          static_cast<const int*>(extents));
  }
  ~Transformer() { Cudnn().Call("cudnnDestroySpatialTransformerDescriptor", descriptor); }
  Transformer(const Transformer&) = delete;
  cudnnSpatialTransformerDescriptor_t descriptor = nullptr;
};
// Partly outside of the images, and between pixels.
const std::vector<double> kMaps = {0.71, 0.13,  0.21, -0.17, 0.83,  -0.11,
                                   1.37, -0.29, 0.37, 0.23,  -1.19, 0.07};

}  // namespace

TEST_CASE("cudnn: local response normalisation and its gradient", "[cudnn]") {
  DnnHandle dnn;
  for (const Normalisation& n :
       {Normalisation{5, 1e-1, 0.75, 2}, {1, 0.5, 0.5, 1}, {4, 2, 1.25, 0.5}, {16, 1, 0.01, 1}}) {
    const Norm norm(n);
    for (const cudnnDataType_t type : kTypes) {
      for (const cudnnTensorFormat_t format : kFormats) {
        DnnTensor x(type, kExtents, format, Numbers(kCount, 1)),
            y(type, kExtents, CUDNN_TENSOR_NCHW, Numbers(kCount, 2));
        DnnFactor one(1, type), half(0.5, type);
        std::vector<double> expected = Normalised(n, x.Get());
        const std::vector<double> before = y.Get();
        for (size_t i = 0; i < kCount; ++i) expected[i] += 0.5 * before[i];
        Cudnn("cudnnLRNCrossChannelForward", dnn.handle, norm.descriptor, CUDNN_LRN_CROSS_CHANNEL_DIM1,
              In(one), x.tensor(), In(x), In(half), y.tensor(), y.data());
        CheckNear(type, y, expected, 2);
      }
    }
    const cudnnDataType_t type = CUDNN_DATA_DOUBLE;
    DnnFactor one(1, type), none(0, type);
    DnnTensor x(type, kExtents, CUDNN_TENSOR_NHWC, Numbers(kCount, 1)),
        dy(type, kExtents, CUDNN_TENSOR_NCHW, Numbers(kCount, 3)),
        y(type, kExtents, CUDNN_TENSOR_NCHW, Normalised(n, x.Get())),
        dx(type, kExtents, CUDNN_TENSOR_NCHW, std::vector<double>(kCount, NAN));
    Cudnn("cudnnLRNCrossChannelBackward", dnn.handle, norm.descriptor, CUDNN_LRN_CROSS_CHANNEL_DIM1, In(one),
          y.tensor(), In(y), dy.tensor(), In(dy), x.tensor(), In(x), In(none), dx.tensor(), dx.data());
    CheckDifferences(
        dx, Differences([&](const std::vector<double>& at) { return Normalised(n, at); }, x.Get(), dy.Get()));
  }
}

TEST_CASE("cudnn: grids of spatial transformers, samples, and gradients of both", "[cudnn]") {
  DnnHandle dnn;
  const std::vector<int> in = {kImages, kPlanes, kInHeight, kInWidth},
                         out = {kImages, kPlanes, kOutHeight, kOutWidth};
  constexpr size_t kInCount = kImages * kPlanes * kIn, kOutCount = kImages * kPlanes * kPlaces,
                   kGridCount = kImages * kPlaces * 2;
  const std::vector<int> grids = {kImages, kOutHeight, kOutWidth, 2}, maps = {kImages, 2, 3};
  for (const cudnnDataType_t type : kTypes) {
    const Transformer transformer(type);
    DnnFactor one(1, type), half(0.5, type), none(0, type);
    DnnTensor theta(type, maps, CUDNN_TENSOR_NCHW, kMaps),
        grid(type, grids, CUDNN_TENSOR_NCHW, std::vector<double>(kGridCount));
    Cudnn("cudnnSpatialTfGridGeneratorForward", dnn.handle, transformer.descriptor, In(theta), grid.data());
    CheckNear(type, grid, GridOf(theta.Get()));
    for (const cudnnTensorFormat_t format : kFormats) {
      DnnTensor x(type, in, format, Numbers(kInCount, 1)), y(type, out, format, Numbers(kOutCount, 2));
      std::vector<double> expected = SampledAt(x.Get(), grid.Get());
      const std::vector<double> before = y.Get();
      for (size_t i = 0; i < kOutCount; ++i) expected[i] += 0.5 * before[i];
      Cudnn("cudnnSpatialTfSamplerForward", dnn.handle, transformer.descriptor, In(one), x.tensor(), In(x),
            In(grid), In(half), y.tensor(), y.data());
      CheckNear(type, y, expected, 4);
    }
    if (type != CUDNN_DATA_DOUBLE) continue;
    DnnTensor x(type, in, CUDNN_TENSOR_NHWC, Numbers(kInCount, 1)),
        dy(type, out, CUDNN_TENSOR_NCHW, Numbers(kOutCount, 3)),
        dx(type, in, CUDNN_TENSOR_NCHW, Numbers(kInCount, 4)),
        dgrid(type, grids, CUDNN_TENSOR_NCHW, std::vector<double>(kGridCount, NAN)),
        dtheta(type, maps, CUDNN_TENSOR_NCHW, std::vector<double>(kMaps.size(), NAN));
    const std::vector<double> before = dx.Get();
    Cudnn("cudnnSpatialTfSamplerBackward", dnn.handle, transformer.descriptor, In(half), x.tensor(), In(x),
          In(one), dx.tensor(), dx.data(), In(one), dy.tensor(), In(dy), In(grid), In(none), dgrid.data());
    Cudnn("cudnnSpatialTfGridGeneratorBackward", dnn.handle, transformer.descriptor, In(dgrid),
          dtheta.data());
    const std::vector<double> places = grid.Get(), images = x.Get();
    std::vector<double> of_x =
        Differences([&](const auto& at) { return SampledAt(at, places); }, images, dy.Get());
    for (size_t i = 0; i < kInCount; ++i) of_x[i] = 0.5 * of_x[i] + before[i];
    CheckDifferences(dx, of_x);
    CheckDifferences(dgrid,
                     Differences([&](const auto& at) { return SampledAt(images, at); }, places, dy.Get()));
    CheckDifferences(
        dtheta, Differences([&](const auto& at) { return SampledAt(images, GridOf(at)); }, kMaps, dy.Get()));
  }
}

TEST_CASE("cudnn: status of response normalisation and spatial transformers", "[cudnn]") {
  constexpr int kBadParam = 2000, kNotSupported = 3000;  // of version 9
  DnnHandle dnn;
  cudnnLRNDescriptor_t norm = nullptr;
  CHECK(Cudnn().Call("cudnnCreateLRNDescriptor", static_cast<cudnnLRNDescriptor_t*>(nullptr)) == kBadParam);
  Cudnn("cudnnCreateLRNDescriptor", &norm);
  unsigned width = 0;
  double alpha = 0, beta = 0, k = 0;
  Cudnn("cudnnGetLRNDescriptor", norm, &width, &alpha, &beta, &k);
  CHECK((width == 5 && alpha == 1e-4 && beta == 0.75 && k == 2));
  CHECK(Cudnn().Call("cudnnSetLRNDescriptor", norm, 0u, 1.0, 1.0, 1.0) == kBadParam);
  CHECK(Cudnn().Call("cudnnSetLRNDescriptor", norm, 17u, 1.0, 1.0, 1.0) == kBadParam);
  CHECK(Cudnn().Call("cudnnSetLRNDescriptor", norm, 5u, 1.0, 0.001, 1.0) == kBadParam);
  CHECK(Cudnn().Call("cudnnSetLRNDescriptor", norm, 5u, 1.0, 1.0, 1e-6) == kBadParam);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  DnnFactor one(1, type);
  DnnTensor x(type, {2, 3, 4, 5}, CUDNN_TENSOR_NCHW, std::vector<double>(120)),
      y(type, {2, 3, 4, 4}, CUDNN_TENSOR_NCHW, std::vector<double>(96));
  const auto forward = [&](const DnnTensor& in, DnnTensor& out) {
    return Cudnn().Call("cudnnLRNCrossChannelForward", dnn.handle, norm, CUDNN_LRN_CROSS_CHANNEL_DIM1,
                        In(one), in.tensor(), In(in), In(one), out.tensor(), out.data());
  };
  CHECK(forward(x, x) == 0);
  CHECK(forward(x, y) == kNotSupported);
  CHECK(Cudnn().Call("cudnnLRNCrossChannelForward", dnn.handle, norm, CUDNN_LRN_CROSS_CHANNEL_DIM1, In(one),
                     x.tensor(), In(x), In(one), x.tensor(), static_cast<void*>(nullptr)) == kBadParam);
  Cudnn("cudnnDestroyLRNDescriptor", norm);

  Transformer transformer(type);
  CHECK(Cudnn().Call("cudnnSpatialTfGridGeneratorForward", dnn.handle, transformer.descriptor, In(x),
                     static_cast<void*>(nullptr)) == kBadParam);
  const auto sample = [&](const DnnTensor& in, DnnTensor& out) {
    return Cudnn().Call("cudnnSpatialTfSamplerForward", dnn.handle, transformer.descriptor, In(one),
                        in.tensor(), In(in), In(x), In(one), out.tensor(), out.data());
  };
  CHECK(sample(x, y) == kBadParam);
  const int extents[] = {1, 1, 2, 2, 2};
  Cudnn("cudnnSetSpatialTransformerNdDescriptor", transformer.descriptor, CUDNN_SAMPLER_BILINEAR, type, 5,
        static_cast<const int*>(extents));
  CHECK(Cudnn().Call("cudnnSpatialTfGridGeneratorForward", dnn.handle, transformer.descriptor, In(x),
                     y.data()) == kNotSupported);
}

// y = x / (k + alpha / 9 * the sum of (x' - mean)^2 of its 3 x 3 neighbours) ^ beta; the gradients by
// differences.
TEST_CASE("cudnn: divisive normalisation and its gradients", "[cudnn]") {
  const DnnHandle handle;
  cudnnLRNDescriptor_t norm = nullptr;
  Cudnn("cudnnCreateLRNDescriptor", &norm);
  Cudnn("cudnnSetLRNDescriptor", norm, 3u, 0.5, 0.75, 1.5);
  const std::vector<double> xs = Numbers(40, 1), ms = Numbers(40, 2), gs = Numbers(40, 3);
  const auto defined = [](const std::vector<double>& x, const std::vector<double>& means) {
    std::vector<double> y;
    for (int i = 0; i < 40; ++i) {
      const auto at = static_cast<size_t>(i);
      double sum = 0;
      for (int row = std::max(0, i / 5 % 4 - 1); row <= std::min(3, i / 5 % 4 + 1); ++row) {
        for (int column = std::max(0, i % 5 - 1); column <= std::min(4, i % 5 + 1); ++column)
          sum += std::pow(x[static_cast<size_t>(i / 20 * 20 + row * 5 + column)] - means[at], 2);
      }
      y.push_back(x[at] / std::pow(1.5 + 0.5 / 9 * sum, 0.75));
    }
    return y;
  };
  const auto type = CUDNN_DATA_DOUBLE;
  const DnnTensor x(type, {1, 2, 4, 5}, CUDNN_TENSOR_NHWC, xs),
      means(type, {1, 2, 4, 5}, CUDNN_TENSOR_NHWC, ms), dy(type, {1, 2, 4, 5}, CUDNN_TENSOR_NHWC, gs);
  DnnTensor y(type, {1, 2, 4, 5}, CUDNN_TENSOR_NCHW, {}), dx(type, {1, 2, 4, 5}, CUDNN_TENSOR_NCHW, {}),
      dmeans(type, {1, 2, 4, 5}, CUDNN_TENSOR_NCHW, {});
  const double one = 1, none = 0;
  const void *const alpha = &one, *const beta = &none;
  double temp[2] = {};
  void *const first = &temp[0], *const second = &temp[1];
  Cudnn("cudnnDivisiveNormalizationForward", handle.handle, norm, 0, alpha, x.tensor(), x.data(),
        means.data(), first, second, beta, y.tensor(), y.data());
  CheckNear(type, y, defined(xs, ms), 10);
  Cudnn("cudnnDivisiveNormalizationBackward", handle.handle, norm, 0, alpha, x.tensor(), x.data(),
        means.data(), dy.data(), first, second, beta, dx.tensor(), dx.data(), dmeans.data());
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  for (size_t i = 0; i < 40; ++i) {
    for (const bool of_mean : {false, true}) {
      double change = 0;
      for (const double step : {1e-5, -1e-5}) {
        std::vector<double> changed[2] = {xs, ms};
        changed[of_mean ? 1 : 0][i] += step;
        const std::vector<double> result = defined(changed[0], changed[1]);
        for (size_t k = 0; k < 40; ++k) change += gs[k] * result[k] / (2 * step);
      }
      CHECK(std::abs((of_mean ? dmeans : dx).Get()[i] - change) < 1e-7);
    }
  }
  CHECK(Cudnn().Call("cudnnDivisiveNormalizationForward", handle.handle, norm, 1, alpha, x.tensor(), x.data(),
                     means.data(), first, second, beta, y.tensor(), y.data()) == 2000);
  CHECK(Cudnn().Call("cudnnDestroyLRNDescriptor", norm) == 0);
}
