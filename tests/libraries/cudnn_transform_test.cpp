// Tensors and filters with zeros around them and with folded space, columns of images, callbacks; status.
#include <set>

#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

constexpr int kBadParameter = 2000, kNotSupported = 3000;  // of version 9

class TransformCase {
 public:
  TransformCase() {
    Cudnn("cudnnCreateTensorTransformDescriptor", &transform);
    Cudnn("cudnnCreateTensorDescriptor", &made);
  }
  ~TransformCase() {
    Cudnn().Call("cudnnDestroyTensorTransformDescriptor", transform);
    Cudnn().Call("cudnnDestroyTensorDescriptor", made);
  }
  TransformCase(const TransformCase&) = delete;
  TransformCase& operator=(const TransformCase&) = delete;

  int Set(cudnnTensorFormat_t format, const std::vector<int>& before, const std::vector<int>& after,
          const std::vector<unsigned>& folds, cudnnFoldingDirection_t direction) {
    const auto list = [](const auto& numbers) { return numbers.empty() ? nullptr : numbers.data(); };
    return Cudnn().Call("cudnnSetTensorTransformDescriptor", transform, 4u, format, list(before), list(after),
                        list(folds), direction);
  }
  // The extents and strides of the result.
  std::vector<int> Result(const DnnTensor& x) {
    size_t size = 0;
    Cudnn("cudnnInitTransformDest", transform, x.tensor(), made, &size);
    std::vector<int> numbers(9);
    cudnnDataType_t type{};
    Cudnn("cudnnGetTensor4dDescriptor", made, &type, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
          &numbers[4], &numbers[5], &numbers[6], &numbers[7]);
    numbers[8] = static_cast<int>(size);
    return numbers;
  }
  int Run(const DnnTensor& x, DnnTensor& y, double alpha, double beta, cudnnDataType_t type) {
    const DnnFactor a(alpha, type), b(beta, type);
    return Cudnn().Call("cudnnTransformTensorEx", handle.handle, transform, static_cast<const void*>(a),
                        x.tensor(), x.data(), static_cast<const void*>(b), y.tensor(), y.data());
  }
  DnnHandle handle;
  cudnnTensorTransformDescriptor_t transform = nullptr;
  cudnnTensorDescriptor_t made = nullptr;
};

}  // namespace

TEST_CASE("cudnn: tensors with zeros around them", "[cudnn]") {
  for (const auto type : {CUDNN_DATA_DOUBLE, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
    for (const auto format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC}) {
      INFO("type " << type << ", format " << format);
      TransformCase c;
      REQUIRE(c.Set(format, {0, 1, 2, 0}, {1, 0, 0, 3}, {}, CUDNN_TRANSFORM_FOLD) == 0);
      const DnnTensor x(type, {2, 3, 2, 3}, CUDNN_TENSOR_NCHW, Numbers(36, 1));
      const std::vector<int> result = c.Result(x);
      CHECK(std::vector<int>(result.begin(), result.begin() + 4) == std::vector<int>{3, 4, 4, 6});
      CHECK(result[5] == (format == CUDNN_TENSOR_NHWC ? 1 : 24));
      const std::vector<double> before = Numbers(288, 2);
      DnnTensor y(type, {3, 4, 4, 6}, format, before);
      REQUIRE(c.Run(x, y, 2, 0.5, type) == 0);
      std::vector<double> wanted;
      for (int i = 0; i < 288; ++i) {
        const int n = i / 96, channel = i / 24 % 4 - 1, row = i / 6 % 4 - 2, column = i % 6;
        const bool inside = n < 2 && channel >= 0 && row >= 0 && column < 3;
        const double value =
            inside ? x.Get()[static_cast<size_t>(((n * 3 + channel) * 2 + row) * 3 + column)] : 0;
        wanted.push_back(2 * value + 0.5 * before[static_cast<size_t>(i)]);
      }
      CheckNear(type, y, wanted);
    }
  }
}

TEST_CASE("cudnn: space folded into channels, and back", "[cudnn]") {
  TransformCase c;
  REQUIRE(c.Set(CUDNN_TENSOR_NCHW, {}, {}, {2, 3}, CUDNN_TRANSFORM_FOLD) == 0);
  std::vector<double> numbers(2 * 2 * 4 * 6);
  std::iota(numbers.begin(), numbers.end(), 0);
  const DnnTensor x(CUDNN_DATA_FLOAT, {2, 2, 4, 6}, CUDNN_TENSOR_NCHW, numbers);
  const std::vector<int> result = c.Result(x);
  CHECK(std::vector<int>(result.begin(), result.begin() + 4) == std::vector<int>{2, 12, 2, 2});
  CHECK(result[8] == 96 * 4);
  DnnTensor folded(CUDNN_DATA_FLOAT, {2, 12, 2, 2}, CUDNN_TENSOR_NCHW, {});
  REQUIRE(c.Run(x, folded, 1, 0, CUDNN_DATA_FLOAT) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  // Each channel is one phase of a channel of x: two rows, and three columns from each other.
  const std::vector<double> found = folded.Get();
  std::set<double> firsts;
  for (size_t channel = 0; channel < 24; ++channel) {
    const double first = found[channel * 4];
    firsts.insert(first);
    CHECK(found[channel * 4 + 1] == first + 3);
    CHECK(found[channel * 4 + 2] == first + 12);
    CHECK(found[channel * 4 + 3] == first + 15);
  }
  CHECK(firsts.size() == 24);
  REQUIRE(c.Set(CUDNN_TENSOR_NCHW, {}, {}, {2, 3}, CUDNN_TRANSFORM_UNFOLD) == 0);
  DnnTensor back(CUDNN_DATA_FLOAT, {2, 2, 4, 6}, CUDNN_TENSOR_NCHW, {});
  REQUIRE(c.Run(folded, back, 1, 0, CUDNN_DATA_FLOAT) == 0);
  CheckNear(CUDNN_DATA_FLOAT, back, numbers, 0);
  // Filters do the same.
  REQUIRE(c.Set(CUDNN_TENSOR_NCHW, {}, {}, {2, 3}, CUDNN_TRANSFORM_FOLD) == 0);
  const DnnTensor filter(CUDNN_DATA_FLOAT, {2, 2, 4, 6}, CUDNN_TENSOR_NCHW, numbers, true);
  DnnTensor other(CUDNN_DATA_FLOAT, {2, 12, 2, 2}, CUDNN_TENSOR_NCHW, {}, true);
  const float one = 1, none = 0;
  Cudnn("cudnnTransformFilter", c.handle.handle, c.transform, static_cast<const void*>(&one), filter.filter(),
        filter.data(), static_cast<const void*>(&none), other.filter(), other.data());
  CheckNear(CUDNN_DATA_FLOAT, other, found, 0);
}

TEST_CASE("cudnn: transformations, status", "[cudnn]") {
  TransformCase c;
  CHECK(c.Set(CUDNN_TENSOR_NCHW, {0, 0, -3, 0}, {}, {0, 1}, CUDNN_TRANSFORM_FOLD) == 0);
  const DnnTensor short_one(CUDNN_DATA_FLOAT, {1, 1, 3, 3}, CUDNN_TENSOR_NCHW, {});
  CHECK(Cudnn().Call("cudnnInitTransformDest", c.transform, short_one.tensor(), c.made,
                     static_cast<size_t*>(nullptr)) == kBadParameter);
  CHECK(c.Set(CUDNN_TENSOR_NCHW, {}, {0, 0, 4, 0}, {}, CUDNN_TRANSFORM_FOLD) == 0);
  Cudnn("cudnnInitTransformDest", c.transform, short_one.tensor(), c.made, static_cast<size_t*>(nullptr));
  CHECK(c.Set(CUDNN_TENSOR_NCHW_VECT_C, {}, {}, {}, CUDNN_TRANSFORM_FOLD) == kNotSupported);
  // What is not given stays.
  int kept[4] = {};
  REQUIRE(c.Set(CUDNN_TENSOR_NCHW, {0, 0, 1, 0}, {}, {}, CUDNN_TRANSFORM_FOLD) == 0);
  REQUIRE(c.Set(CUDNN_TENSOR_NCHW, {}, {}, {}, CUDNN_TRANSFORM_FOLD) == 0);
  Cudnn("cudnnGetTensorTransformDescriptor", c.transform, 4u, static_cast<cudnnTensorFormat_t*>(nullptr),
        &kept[0], static_cast<int*>(nullptr), static_cast<unsigned*>(nullptr),
        static_cast<cudnnFoldingDirection_t*>(nullptr));
  CHECK(kept[2] == 1);
  REQUIRE(c.Set(CUDNN_TENSOR_NHWC, {0, 0, 1, 2}, {0, 0, 3, 4}, {5, 6}, CUDNN_TRANSFORM_UNFOLD) == 0);
  int before[4] = {}, after[4] = {};
  unsigned folds[2] = {};
  cudnnTensorFormat_t format{};
  cudnnFoldingDirection_t direction{};
  Cudnn("cudnnGetTensorTransformDescriptor", c.transform, 4u, &format, &before[0], &after[0], &folds[0],
        &direction);
  CHECK(format == CUDNN_TENSOR_NHWC);
  CHECK(direction == CUDNN_TRANSFORM_UNFOLD);
  CHECK((before[2] == 1 && before[3] == 2 && after[2] == 3 && after[3] == 4));
  CHECK((folds[0] == 5 && folds[1] == 6));
  // A channel of 31 parts, 30 of which would be one.
  const DnnTensor x(CUDNN_DATA_FLOAT, {1, 31, 2, 3}, CUDNN_TENSOR_NCHW, {});
  size_t size = 0;
  CHECK(Cudnn().Call("cudnnInitTransformDest", c.transform, x.tensor(), c.made, &size) == kBadParameter);
  DnnTensor y(CUDNN_DATA_FLOAT, {1, 31, 2, 3}, CUDNN_TENSOR_NCHW, {});
  CHECK(c.Run(x, y, 1, 0, CUDNN_DATA_FLOAT) == kBadParameter);
}

namespace {

// cudnnGetFoldedConvBackwardDataDescriptors, and the gradient of data by what it describes.
struct FoldedCase {
  int size, window, pad, stride;
};
class FoldedConvolution {
 public:
  explicit FoldedConvolution(const FoldedCase& c) {
    for (auto* each : {&convolution, &folded}) Cudnn("cudnnCreateConvolutionDescriptor", each);
    for (auto* each : {&padded_diff, &folded_grad}) Cudnn("cudnnCreateTensorDescriptor", each);
    for (auto& each : transforms) Cudnn("cudnnCreateTensorTransformDescriptor", &each);
    Cudnn("cudnnCreateFilterDescriptor", &folded_filter);
    Cudnn("cudnnSetConvolution2dDescriptor", convolution, c.pad, c.pad, c.stride, c.stride, 1, 1,
          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  }
  ~FoldedConvolution() {
    for (auto each : {convolution, folded}) Cudnn().Call("cudnnDestroyConvolutionDescriptor", each);
    for (auto each : {padded_diff, folded_grad}) Cudnn().Call("cudnnDestroyTensorDescriptor", each);
    for (auto each : transforms) Cudnn().Call("cudnnDestroyTensorTransformDescriptor", each);
    Cudnn().Call("cudnnDestroyFilterDescriptor", folded_filter);
  }
  FoldedConvolution(const FoldedConvolution&) = delete;

  void Direct(const DnnTensor& w, const DnnTensor& dy, DnnTensor& dx) {
    Backward(w.filter(), w.data(), dy.tensor(), dy.data(), convolution, dx.tensor(), dx.data());
  }
  void ByFolding(cudnnTensorFormat_t format, const DnnTensor& w, const DnnTensor& dy, DnnTensor& dx) {
    Cudnn("cudnnGetFoldedConvBackwardDataDescriptors", handle.handle, w.filter(), dy.tensor(), convolution,
          dx.tensor(), format, folded_filter, padded_diff, folded, folded_grad, transforms[0], transforms[1],
          transforms[2], transforms[3]);
    std::vector<float> fw(1 << 14, 77), fy(1 << 14, 77), fx(1 << 14, 77);
    Cudnn("cudnnTransformFilter", handle.handle, transforms[0], one(), w.filter(), w.data(), none(),
          folded_filter, static_cast<void*>(fw.data()));
    Cudnn("cudnnTransformTensorEx", handle.handle, transforms[1], one(), dy.tensor(), dy.data(), none(),
          padded_diff, static_cast<void*>(fy.data()));
    Backward(folded_filter, fw.data(), padded_diff, fy.data(), folded, folded_grad, fx.data());
    Cudnn("cudnnTransformTensorEx", handle.handle, transforms[3], one(), folded_grad,
          static_cast<const void*>(fx.data()), none(), dx.tensor(), dx.data());
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  }

 private:
  static const void* one() { return &kOne; }
  static const void* none() { return &kNone; }
  void Backward(cudnnFilterDescriptor_t w, const void* ws, cudnnTensorDescriptor_t y, const void* ys,
                cudnnConvolutionDescriptor_t by, cudnnTensorDescriptor_t x, void* xs) {
    Cudnn("cudnnConvolutionBackwardData", handle.handle, one(), w, ws, y, ys, by, 1,
          static_cast<void*>(nullptr), size_t{0}, none(), x, xs);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  }
  static constexpr float kOne = 1, kNone = 0;
  DnnHandle handle;
  cudnnConvolutionDescriptor_t convolution = nullptr, folded = nullptr;
  cudnnTensorDescriptor_t padded_diff = nullptr, folded_grad = nullptr;
  cudnnTensorTransformDescriptor_t transforms[4] = {};
  cudnnFilterDescriptor_t folded_filter = nullptr;
};

}  // namespace

TEST_CASE("cudnn: a convolution with strides by one that is folded", "[cudnn]") {
  for (const FoldedCase& c : {FoldedCase{7, 3, 1, 2},
                              {8, 4, 1, 2},
                              {8, 3, 1, 2},
                              {9, 5, 2, 2},
                              {10, 3, 0, 3},
                              {12, 7, 3, 2},
                              {6, 3, 0, 1}}) {
    for (const auto format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC}) {
      INFO("size " << c.size << ", window " << c.window << ", format " << format);
      const int out = (c.size + 2 * c.pad - c.window) / c.stride + 1;
      FoldedConvolution by(c);
      const DnnTensor w(CUDNN_DATA_FLOAT, {4, 3, c.window, c.window}, CUDNN_TENSOR_NCHW,
                        Numbers(static_cast<size_t>(12 * c.window * c.window), 1), true),
          dy(CUDNN_DATA_FLOAT, {2, 4, out, out}, CUDNN_TENSOR_NCHW,
             Numbers(static_cast<size_t>(8 * out * out), 2));
      DnnTensor direct(CUDNN_DATA_FLOAT, {2, 3, c.size, c.size}, CUDNN_TENSOR_NCHW, {}),
          found(CUDNN_DATA_FLOAT, {2, 3, c.size, c.size}, CUDNN_TENSOR_NCHW, {});
      by.Direct(w, dy, direct);
      by.ByFolding(format, w, dy, found);
      CheckNear(CUDNN_DATA_FLOAT, found, direct.Get(), 64);
    }
  }
}

TEST_CASE("cudnn: columns of images make a convolution a product", "[cudnn]") {
  DnnHandle handle;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  Cudnn("cudnnCreateConvolutionDescriptor", &convolution);
  Cudnn("cudnnSetConvolution2dDescriptor", convolution, 1, 1, 2, 2, 1, 1, CUDNN_CROSS_CORRELATION,
        CUDNN_DATA_FLOAT);
  const DnnTensor x(CUDNN_DATA_FLOAT, {2, 2, 5, 5}, CUDNN_TENSOR_NCHW, Numbers(100, 1)),
      w(CUDNN_DATA_FLOAT, {3, 2, 3, 3}, CUDNN_TENSOR_NCHW, Numbers(54, 2), true);
  std::vector<float> columns(18 * 18);
  Cudnn("cudnnIm2Col", handle.handle, x.tensor(), x.data(), w.filter(), convolution,
        static_cast<void*>(columns.data()));
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  DnnTensor y(CUDNN_DATA_FLOAT, {2, 3, 3, 3}, CUDNN_TENSOR_NCHW, {});
  const float one = 1, none = 0;
  Cudnn("cudnnConvolutionForward", handle.handle, static_cast<const void*>(&one), x.tensor(), x.data(),
        w.filter(), w.data(), convolution, 0, static_cast<void*>(nullptr), size_t{0},
        static_cast<const void*>(&none), y.tensor(), y.data());
  std::vector<double> product(54);
  for (size_t image = 0; image < 2; ++image) {
    for (size_t output = 0; output < 3; ++output) {
      for (size_t place = 0; place < 9; ++place) {
        double& sum = product[(image * 3 + output) * 9 + place];
        for (size_t k = 0; k < 18; ++k) sum += w.Get()[output * 18 + k] * columns[k * 18 + image * 9 + place];
      }
    }
  }
  CheckNear(CUDNN_DATA_FLOAT, y, product, 20);
  CHECK(Cudnn().Call("cudnnDestroyConvolutionDescriptor", convolution) == 0);
}

TEST_CASE("cudnn: callbacks are kept, errors of queued work are none of cuDNN's", "[cudnn]") {
  unsigned mask = 7;
  int here = 0;
  void *data = nullptr, *function = nullptr;
  Cudnn("cudnnSetCallback", 5u, static_cast<void*>(&here), static_cast<void*>(&mask));
  Cudnn("cudnnGetCallback", &mask, &data, &function);
  CHECK(mask == 5);
  CHECK(data == &here);
  CHECK(function == &mask);
  Cudnn("cudnnSetCallback", 0u, static_cast<void*>(nullptr), static_cast<void*>(nullptr));
  DnnHandle handle;
  int status = 7;
  for (const int mode : {0, 1, 2}) {
    Cudnn("cudnnQueryRuntimeError", handle.handle, &status, mode, static_cast<void*>(nullptr));
    CHECK(status == 0);
  }
  CHECK(Cudnn().Call("cudnnQueryRuntimeError", handle.handle, &status, 3, static_cast<void*>(nullptr)) ==
        kBadParameter);
}
