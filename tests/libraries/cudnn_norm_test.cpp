// Batch normalisation under its general names has the bits of cudnnBatchNormalization functions, which are
// tested against their definition.
#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

void* const kNowhere = nullptr;
constexpr size_t kNoSize = 0;
constexpr int kBadParameter = 2000, kNotSupported = 3000;  // of version 9

struct NormCase {
  cudnnNormMode_t mode;
  cudnnNormOps_t ops;
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
};

std::vector<double> Positive(size_t count, int seed) {
  std::vector<double> numbers = Numbers(count, seed);
  for (double& number : numbers) number = number * number + 0.5;
  return numbers;
}

class NormRun {
 public:
  explicit NormRun(const NormCase& of) : c(of) {
    Cudnn("cudnnCreateTensorDescriptor", &scales);
    Cudnn("cudnnCreateTensorDescriptor", &means);
    Cudnn("cudnnDeriveNormTensorDescriptor", scales, means, x.tensor(), c.mode, 1);
    Cudnn("cudnnCreateActivationDescriptor", &activation);
    Cudnn("cudnnSetActivationDescriptor", activation, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0.0);
  }
  ~NormRun() {
    Cudnn().Call("cudnnDestroyTensorDescriptor", scales);
    Cudnn().Call("cudnnDestroyTensorDescriptor", means);
    Cudnn().Call("cudnnDestroyActivationDescriptor", activation);
  }
  NormRun(const NormRun&) = delete;
  NormRun& operator=(const NormRun&) = delete;

  DnnTensor Tensor(int seed) const { return {c.type, {3, 4, 2, 3}, c.format, Numbers(72, seed)}; }
  DnnTensor Parameters(std::vector<double> numbers) const {
    const int count = c.mode == CUDNN_NORM_PER_CHANNEL ? 4 : 24;
    numbers.resize(static_cast<size_t>(count));
    return {c.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
            {1, count},
            CUDNN_TENSOR_NCHW,
            numbers};
  }
  static void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

  // What is written: outputs, running and saved means and variances; gradients.
  std::vector<std::vector<double>> Train(bool general) {
    DnnTensor y = Tensor(9), running_mean = Parameters(Numbers(24, 5)),
              running_variance = Parameters(Positive(24, 6)), saved_mean = Parameters({}),
              saved_inverse = Parameters({}), dx = Tensor(9), dz = Tensor(9), dscale = Parameters({}),
              dbias = Parameters({});
    const auto batch_mode = static_cast<cudnnBatchNormMode_t>(c.mode);
    const auto batch_ops = static_cast<cudnnBatchNormOps_t>(c.ops);
    if (general) {
      Cudnn("cudnnNormalizationForwardTraining", handle.handle, c.mode, c.ops, CUDNN_NORM_ALGO_PERSIST,
            In(one), In(none), x.tensor(), In(x), scales, In(scale), In(bias), 0.25, means,
            running_mean.data(), running_variance.data(), 1e-3, saved_mean.data(), saved_inverse.data(),
            activation, z.tensor(), In(z), y.tensor(), y.data(), kNowhere, kNoSize, kNowhere, kNoSize, 1);
      Cudnn("cudnnNormalizationBackward", handle.handle, c.mode, c.ops, CUDNN_NORM_ALGO_PERSIST, In(one),
            In(none), In(one), In(none), x.tensor(), In(x), y.tensor(), In(y), dy.tensor(), In(dy),
            dz.tensor(), dz.data(), dx.tensor(), dx.data(), scales, In(scale), In(bias), dscale.data(),
            dbias.data(), 1e-3, means, In(saved_mean), In(saved_inverse), activation, kNowhere, kNoSize,
            kNowhere, kNoSize, 1);
    } else {
      Cudnn("cudnnBatchNormalizationForwardTrainingEx", handle.handle, batch_mode, batch_ops, In(one),
            In(none), x.tensor(), In(x), z.tensor(), In(z), y.tensor(), y.data(), scales, In(scale), In(bias),
            0.25, running_mean.data(), running_variance.data(), 1e-3, saved_mean.data(), saved_inverse.data(),
            activation, kNowhere, kNoSize, kNowhere, kNoSize);
      Cudnn("cudnnBatchNormalizationBackwardEx", handle.handle, batch_mode, batch_ops, In(one), In(none),
            In(one), In(none), x.tensor(), In(x), y.tensor(), In(y), dy.tensor(), In(dy), dz.tensor(),
            dz.data(), dx.tensor(), dx.data(), scales, In(scale), In(bias), dscale.data(), dbias.data(), 1e-3,
            In(saved_mean), In(saved_inverse), activation, kNowhere, kNoSize, kNowhere, kNoSize);
    }
    Wait();
    return {y.Get(),  running_mean.Get(), running_variance.Get(), saved_mean.Get(), saved_inverse.Get(),
            dx.Get(), dz.Get(),           dscale.Get(),           dbias.Get()};
  }

  void CheckEstimates() {
    const DnnTensor mean = Parameters(Numbers(24, 5)), variance = Parameters(Positive(24, 6));
    DnnTensor y = Tensor(9);
    Cudnn("cudnnNormalizationForwardInference", handle.handle, c.mode, CUDNN_NORM_OPS_NORM,
          CUDNN_NORM_ALGO_STANDARD, In(one), In(none), x.tensor(), In(x), scales, In(scale), In(bias), means,
          In(mean), In(variance), z.tensor(), In(z), activation, y.tensor(), y.data(), 1e-3, 1);
    std::vector<double> wanted = x.Get();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const size_t of = c.mode == CUDNN_NORM_PER_CHANNEL ? i / 6 % 4 : i % 24;
      double& value = wanted[i];
      value =
          (value - mean.Get()[of]) / std::sqrt(variance.Get()[of] + 1e-3) * scale.Get()[of] + bias.Get()[of];
    }
    CheckNear(c.type, y, wanted, 8);
  }

  static const void* In(const DnnTensor& tensor) { return tensor.data(); }
  static const void* In(const DnnFactor& factor) { return factor; }

  const NormCase c;
  DnnHandle handle;
  DnnTensor x = Tensor(1), z = Tensor(2), dy = Tensor(3);
  DnnTensor scale = Parameters(Numbers(24, 3)), bias = Parameters(Numbers(24, 4));
  DnnFactor one{1, c.type}, none{0, c.type};
  cudnnTensorDescriptor_t scales = nullptr, means = nullptr;
  cudnnActivationDescriptor_t activation = nullptr;
};

}  // namespace

TEST_CASE("cudnn: normalisation under its general names", "[cudnn]") {
  for (const auto mode : {CUDNN_NORM_PER_ACTIVATION, CUDNN_NORM_PER_CHANNEL}) {
    for (const auto ops :
         {CUDNN_NORM_OPS_NORM, CUDNN_NORM_OPS_NORM_ACTIVATION, CUDNN_NORM_OPS_NORM_ADD_ACTIVATION}) {
      for (const auto type : {CUDNN_DATA_DOUBLE, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF}) {
        for (const auto format : {CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC}) {
          INFO("mode " << mode << ", operations " << ops << ", type " << type << ", format " << format);
          NormRun run({mode, ops, type, format});
          CHECK(run.Train(true) == run.Train(false));
          run.CheckEstimates();
        }
      }
    }
  }
}

TEST_CASE("cudnn: normalisation under its general names, status", "[cudnn]") {
  NormRun run({CUDNN_NORM_PER_CHANNEL, CUDNN_NORM_OPS_NORM, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW});
  size_t size = 1;
  const auto reserve = [&](int mode, int ops, int algo, int groups) {
    return Cudnn().Call("cudnnGetNormalizationTrainingReserveSpaceSize", run.handle.handle, mode, ops, algo,
                        run.activation, run.x.tensor(), &size, groups);
  };
  CHECK(reserve(1, 0, 0, 1) == 0);
  CHECK(size == 0);
  CHECK(reserve(2, 0, 0, 1) == kNotSupported);
  CHECK(reserve(1, 3, 0, 1) == kBadParameter);
  CHECK(reserve(1, 0, 2, 1) == kNotSupported);
  CHECK(reserve(1, 0, 0, 2) == kNotSupported);
  CHECK(Cudnn().Call("cudnnDeriveNormTensorDescriptor", run.scales, run.means, run.x.tensor(),
                     CUDNN_NORM_PER_CHANNEL, 2) == kNotSupported);
  CHECK(Cudnn().Call("cudnnDeriveNormTensorDescriptor", run.scales, run.means, run.x.tensor(), 2, 1) ==
        kBadParameter);
}
