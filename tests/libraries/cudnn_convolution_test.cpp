// Convolutions of cuDNN against their definition, of each kind, layout and type.
#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

struct Shape {
  const char* what;
  std::vector<int> x, w;  // N, C, space; K, C of a group, space
  std::vector<int> pad, stride, dilation;
  int groups = 1;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
};
const Shape kShapes[] = {
    {"plain", {2, 3, 7, 9}, {4, 3, 3, 2}, {0, 0}, {1, 1}, {1, 1}},
    {"with borders", {1, 5, 6, 6}, {2, 5, 3, 3}, {1, 2}, {1, 1}, {1, 1}},
    {"steps and gaps", {2, 2, 11, 13}, {3, 2, 3, 2}, {2, 1}, {2, 3}, {2, 3}},
    {"groups", {2, 6, 5, 5}, {4, 3, 2, 2}, {1, 0}, {1, 1}, {1, 1}, 2},
    {"a group for each channel", {1, 4, 8, 8}, {8, 1, 3, 3}, {1, 1}, {2, 2}, {1, 1}, 4},
    {"flipped", {2, 3, 6, 5}, {2, 3, 3, 2}, {1, 1}, {1, 2}, {1, 1}, 1, CUDNN_CONVOLUTION},
    {"points", {3, 8, 4, 4}, {5, 8, 1, 1}, {0, 0}, {1, 1}, {1, 1}},
    {"a large image", {1, 40, 48, 50}, {7, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"one axis", {2, 3, 17}, {4, 3, 4}, {2}, {3}, {1}},
    {"three axes", {1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}, {1, 0, 1}, {1, 2, 1}, {1, 1, 2}},
};
constexpr cudnnDataType_t kTypes[] = {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE, CUDNN_DATA_HALF,
                                      CUDNN_DATA_BFLOAT16};

struct Convolution {
  explicit Convolution(const Shape& shape) {
    Cudnn("cudnnCreateConvolutionDescriptor", &descriptor);
    Cudnn("cudnnSetConvolutionNdDescriptor", descriptor, static_cast<int>(shape.pad.size()), shape.pad.data(),
          shape.stride.data(), shape.dilation.data(), shape.mode, CUDNN_DATA_FLOAT);
    Cudnn("cudnnSetConvolutionGroupCount", descriptor, shape.groups);
  }
  ~Convolution() { Cudnn().Call("cudnnDestroyConvolutionDescriptor", descriptor); }
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;
  cudnnConvolutionDescriptor_t descriptor = nullptr;
};

// Calls each(number in x, in w, in y) for all products that the definition has.
template <typename Each>
void ForProducts(const Shape& shape, const std::vector<int>& out, const Each& each) {
  const size_t axes = shape.pad.size();
  auto volume = [&](const std::vector<int>& extents) {
    return std::accumulate(extents.begin() + 2, extents.end(), 1, std::multiplies<>());
  };
  const int in_group = shape.w[1], out_group = shape.w[0] / shape.groups;
  for (int n = 0; n < out[0]; ++n) {
    for (int k = 0; k < out[1]; ++k) {
      for (int o = 0; o < volume(out); ++o) {
        for (int c = 0; c < in_group; ++c) {
          for (int f = 0; f < volume(shape.w); ++f) {
            int at = 0, scale = 1, out_rest = o, window_rest = f;
            bool inside = true;
            for (size_t axis = axes; axis-- > 0;) {
              const int window = shape.w[axis + 2], in = shape.x[axis + 2];
              int step = window_rest % window;
              if (shape.mode == CUDNN_CONVOLUTION) step = window - 1 - step;
              const int place = out_rest % out[axis + 2] * shape.stride[axis] - shape.pad[axis] +
                                step * shape.dilation[axis];
              inside &= place >= 0 && place < in;
              at += place * scale;
              scale *= in, out_rest /= out[axis + 2], window_rest /= window;
            }
            if (!inside) continue;
            const int channel = k / out_group * in_group + c;
            each((n * shape.x[1] + channel) * volume(shape.x) + at, (k * in_group + c) * volume(shape.w) + f,
                 (n * out[1] + k) * volume(out) + o);
          }
        }
      }
    }
  }
}

std::vector<int> OutputOf(const Shape& shape, const Convolution& convolution) {
  const DnnTensor x(CUDNN_DATA_FLOAT, shape.x, CUDNN_TENSOR_NCHW, {});
  const DnnTensor w(CUDNN_DATA_FLOAT, shape.w, CUDNN_TENSOR_NCHW, {}, true);
  std::vector<int> out(shape.x.size());
  Cudnn("cudnnGetConvolutionNdForwardOutputDim", convolution.descriptor, x.tensor(), w.filter(),
        static_cast<int>(out.size()), out.data());
  for (size_t axis = 0; axis < shape.pad.size(); ++axis) {
    const int reach = (shape.w[axis + 2] - 1) * shape.dilation[axis] + 1;
    CHECK(out[axis + 2] == (shape.x[axis + 2] + 2 * shape.pad[axis] - reach) / shape.stride[axis] + 1);
  }
  return out;
}

size_t CountOf(const std::vector<int>& extents) {
  return static_cast<size_t>(std::accumulate(extents.begin(), extents.end(), 1, std::multiplies<>()));
}

// alpha * sums + beta * before.
std::vector<double> Blended(const std::vector<double>& sums, const std::vector<double>& before, double alpha,
                            double beta) {
  std::vector<double> result(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) result[i] = alpha * sums[i] + beta * before[i];
  return result;
}

void CheckShape(const Shape& shape, cudnnDataType_t type, cudnnTensorFormat_t format) {
  DnnHandle handle;
  const Convolution convolution(shape);
  const std::vector<int> out = OutputOf(shape, convolution);
  DnnTensor x(type, shape.x, format, Numbers(CountOf(shape.x), 1)),
      w(type, shape.w, format, Numbers(CountOf(shape.w), 2), true),
      y(type, out, format, Numbers(CountOf(out), 3));
  const std::vector<double> xs = x.Get(), ws = w.Get(), ys = y.Get();
  constexpr double kAlpha = 0.5, kBeta = 2;
  const DnnFactor alpha(kAlpha, type), beta(kBeta, type);
  std::vector<double> to_x(xs.size()), to_w(ws.size()), to_y(ys.size());
  ForProducts(shape, out, [&](int in, int filter, int at) {
    to_y[at] += xs[in] * ws[filter], to_x[in] += ys[at] * ws[filter], to_w[filter] += ys[at] * xs[in];
  });
  const double size = 4 * static_cast<double>(CountOf(out)) / out[0] / out[1];

  // Before y is overwritten: it is the gradient of the backward kinds.
  DnnTensor dx(type, shape.x, format, xs), dw(type, shape.w, format, ws, true);
  void* const none = nullptr;
  Cudnn("cudnnConvolutionBackwardData", handle.handle, static_cast<const void*>(alpha), w.filter(),
        static_cast<const void*>(w.data()), y.tensor(), static_cast<const void*>(y.data()),
        convolution.descriptor, 1, none, size_t{0}, static_cast<const void*>(beta), dx.tensor(), dx.data());
  CheckNear(type, dx, Blended(to_x, xs, kAlpha, kBeta), 64);
  Cudnn("cudnnConvolutionBackwardFilter", handle.handle, static_cast<const void*>(alpha), x.tensor(),
        static_cast<const void*>(x.data()), y.tensor(), static_cast<const void*>(y.data()),
        convolution.descriptor, 1, none, size_t{0}, static_cast<const void*>(beta), dw.filter(), dw.data());
  CheckNear(type, dw, Blended(to_w, ws, kAlpha, kBeta), size);
  Cudnn("cudnnConvolutionForward", handle.handle, static_cast<const void*>(alpha), x.tensor(),
        static_cast<const void*>(x.data()), w.filter(), static_cast<const void*>(w.data()),
        convolution.descriptor, 1, none, size_t{0}, static_cast<const void*>(beta), y.tensor(), y.data());
  CheckNear(type, y, Blended(to_y, ys, kAlpha, kBeta), 64);
}

}  // namespace

TEST_CASE("cudnn: convolutions and their gradients are what their definition gives", "[cudnn]") {
  for (const Shape& shape : kShapes) {
    INFO(shape.what);
    for (cudnnDataType_t type : kTypes) {
      INFO("type " << type);
      for (cudnnTensorFormat_t format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC}) {
        if (CountOf(shape.x) > 10000 && type != CUDNN_DATA_FLOAT) continue;
        CheckShape(shape, type, format);
      }
    }
  }
}

TEST_CASE("cudnn: a convolution with bias and activation is the three in turn", "[cudnn]") {
  const Shape& shape = kShapes[1];
  DnnHandle handle;
  const Convolution convolution(shape);
  const std::vector<int> out = OutputOf(shape, convolution);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  DnnTensor x(type, shape.x, format, Numbers(CountOf(shape.x), 1)),
      w(type, shape.w, format, Numbers(CountOf(shape.w), 2), true),
      z(type, out, format, Numbers(CountOf(out), 3)), bias(type, {1, out[1], 1, 1}, format, {0.5, -4}),
      y(type, out, format, {});
  std::vector<double> wanted(y.Count());
  const std::vector<double> xs = x.Get(), ws = w.Get(), zs = z.Get();
  ForProducts(shape, out, [&](int in, int filter, int at) { wanted[at] += xs[in] * ws[filter]; });
  const size_t space = y.Count() / static_cast<size_t>(out[0] * out[1]);
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = std::max(0.0, 2 * wanted[i] + 3 * zs[i] + (i / space % 2 == 0 ? 0.5 : -4));
  cudnnActivationDescriptor_t relu = nullptr;
  Cudnn("cudnnCreateActivationDescriptor", &relu);
  Cudnn("cudnnSetActivationDescriptor", relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0);
  const float two = 2, three = 3;
  Cudnn("cudnnConvolutionBiasActivationForward", handle.handle, static_cast<const void*>(&two), x.tensor(),
        static_cast<const void*>(x.data()), w.filter(), static_cast<const void*>(w.data()),
        convolution.descriptor, 1, static_cast<void*>(nullptr), size_t{0}, static_cast<const void*>(&three),
        z.tensor(), static_cast<const void*>(z.data()), bias.tensor(), static_cast<const void*>(bias.data()),
        relu, y.tensor(), y.data());
  CheckNear(type, y, wanted, 64);
  Cudnn("cudnnDestroyActivationDescriptor", relu);

  // The gradient of the bias is the sum over images and space.
  std::vector<double> sums(2);
  for (size_t i = 0; i < zs.size(); ++i) sums[i / space % 2] += zs[i];
  const float one = 1, zero = 0;
  Cudnn("cudnnConvolutionBackwardBias", handle.handle, static_cast<const void*>(&one), z.tensor(),
        static_cast<const void*>(z.data()), static_cast<const void*>(&zero), bias.tensor(), bias.data());
  CheckNear(type, bias, sums, 64);
}

TEST_CASE("cudnn: an algorithm without a workspace for each convolution; wrong layouts have none",
          "[cudnn]") {
  DnnHandle handle;
  const Shape& shape = kShapes[0];
  const Convolution convolution(shape);
  const std::vector<int> out = OutputOf(shape, convolution);
  const DnnTensor x(CUDNN_DATA_FLOAT, shape.x, CUDNN_TENSOR_NCHW, {}),
      w(CUDNN_DATA_FLOAT, shape.w, CUDNN_TENSOR_NCHW, {}, true),
      y(CUDNN_DATA_FLOAT, out, CUDNN_TENSOR_NCHW, {});
  int found = 0;
  cudnnConvolutionFwdAlgoPerf_t results[3];
  Cudnn("cudnnGetConvolutionForwardAlgorithm_v7", handle.handle, x.tensor(), w.filter(),
        convolution.descriptor, y.tensor(), 3, &found, &results[0]);
  REQUIRE(found == 1);
  CHECK(results[0].status == CUDNN_STATUS_SUCCESS);
  size_t size = 1;
  Cudnn("cudnnGetConvolutionForwardWorkspaceSize", handle.handle, x.tensor(), w.filter(),
        convolution.descriptor, y.tensor(), results[0].algo, &size);
  CHECK(size == 0);
  constexpr int kBadParam = 2000;
  CHECK(Cudnn().Call("cudnnGetConvolutionForwardWorkspaceSize", handle.handle, y.tensor(), w.filter(),
                     convolution.descriptor, x.tensor(), results[0].algo, &size) == kBadParam);
}
