// Losses over alignments of cuDNN against all paths, and their gradients against differences.
#include <limits>

#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

constexpr int kSteps = 5, kClasses = 4;
// Labels of three samples and their inputs' lengths: of the last no path has the labels.
const std::vector<std::vector<int>> kLabels = {{1, 2}, {3, 3}, {}, {2, 2, 1, 1}};
const std::vector<int> kLengths = {5, 4, 3, 4};
constexpr int kBatch = 4;

std::vector<int> Collapsed(const std::vector<int>& path) {
  std::vector<int> labels;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != 0 && (i == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
  }
  return labels;
}

// Minus the logarithm of the sum over all paths of a sample; probabilities by step and class.
double Cost(const std::vector<std::vector<double>>& probabilities, const std::vector<int>& labels,
            int length) {
  double sum = 0;
  int paths = 1;
  for (int i = 0; i < length; ++i) paths *= kClasses;
  for (int number = 0; number < paths; ++number) {
    std::vector<int> path;
    double product = 1;
    for (int step = 0, rest = number; step < length; ++step, rest /= kClasses) {
      path.push_back(rest % kClasses);
      product *= probabilities[static_cast<size_t>(step)][static_cast<size_t>(rest % kClasses)];
    }
    if (Collapsed(path) == labels) sum += product;
  }
  return -std::log(sum);
}

size_t Place(int step, int sample, int of) {
  return static_cast<size_t>((step * kBatch + sample) * kClasses + of);
}

std::vector<std::vector<double>> SoftMax(const std::vector<double>& x, int sample) {
  std::vector<std::vector<double>> probabilities;
  for (int step = 0; step < kSteps; ++step) {
    double sum = 0;
    for (int i = 0; i < kClasses; ++i) sum += std::exp(x[Place(step, sample, i)]);
    probabilities.emplace_back();
    for (int i = 0; i < kClasses; ++i)
      probabilities.back().push_back(std::exp(x[Place(step, sample, i)]) / sum);
  }
  return probabilities;
}

struct CtcCall {
  explicit CtcCall(cudnnDataType_t of, bool softmax)
      : type(of),
        numbers(Numbers(kSteps * kBatch * kClasses, 3)),
        x(type, {kSteps, kBatch, kClasses}, CUDNN_TENSOR_NCHW, softmax ? numbers : Probabilities()),
        dx(type, {kSteps, kBatch, kClasses}, CUDNN_TENSOR_NCHW, std::vector<double>(numbers.size(), 9)),
        costs(type, {1, 1, kBatch}, CUDNN_TENSOR_NCHW, {}) {
    Cudnn("cudnnCreateCTCLossDescriptor", &loss);
    for (const auto& one : kLabels) {
      labels.insert(labels.end(), one.begin(), one.end());
      counts.push_back(static_cast<int>(one.size()));
    }
    Cudnn("cudnnSetCTCLossDescriptor_v9", loss, type,
          softmax ? CUDNN_LOSS_NORMALIZATION_SOFTMAX : CUDNN_LOSS_NORMALIZATION_NONE,
          CUDNN_CTC_ZERO_OOB_GRADIENTS, 10);
  }
  ~CtcCall() { Cudnn().Call("cudnnDestroyCTCLossDescriptor", loss); }
  std::vector<double> Probabilities() const {
    std::vector<double> all(numbers.size());
    for (int sample = 0; sample < kBatch; ++sample) {
      const auto probabilities = SoftMax(numbers, sample);
      for (int step = 0; step < kSteps; ++step) {
        for (int i = 0; i < kClasses; ++i)
          all[Place(step, sample, i)] = probabilities[static_cast<size_t>(step)][static_cast<size_t>(i)];
      }
    }
    return all;
  }
  int HostLabels(void* gradients) {
    return Cudnn().Call("cudnnCTCLoss", handle.handle, x.tensor(), std::as_const(x).data(),
                        static_cast<const int*>(labels.data()), static_cast<const int*>(counts.data()),
                        static_cast<const int*>(kLengths.data()), costs.data(), dx.tensor(), gradients,
                        CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss, static_cast<void*>(nullptr), size_t{0});
  }
  int DeviceLabels(void* gradients) {
    return Cudnn().Call("cudnnCTCLoss_v8", handle.handle, CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC, loss,
                        x.tensor(), std::as_const(x).data(), static_cast<const int*>(labels.data()),
                        static_cast<const int*>(counts.data()), static_cast<const int*>(kLengths.data()),
                        costs.data(), dx.tensor(), gradients, size_t{0}, static_cast<void*>(nullptr));
  }

  const cudnnDataType_t type;
  const std::vector<double> numbers;
  DnnHandle handle;
  cudnnCTCLossDescriptor_t loss = nullptr;
  DnnTensor x, dx, costs;
  std::vector<int> labels, counts;
};

void CheckLoss(CtcCall& call) {
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  const double bound = call.type == CUDNN_DATA_DOUBLE ? 1e-8 : 2e-5;
  const std::vector<double> costs = call.costs.Get(), gradients = call.dx.Get();
  for (int sample = 0; sample < kBatch; ++sample) {
    const auto number = static_cast<size_t>(sample);
    INFO("sample " << sample);
    const auto cost = [&](const std::vector<double>& x) {
      return Cost(SoftMax(x, sample), kLabels[number], kLengths[number]);
    };
    const double wanted = cost(call.numbers);
    if (std::isinf(wanted)) {
      CHECK(costs[number] == wanted);
    } else {
      CHECK(std::abs(costs[number] - wanted) < bound * 10);
    }
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kClasses; ++i) {
        std::vector<double> above = call.numbers, below = call.numbers;
        above[Place(step, sample, i)] += 1e-5, below[Place(step, sample, i)] -= 1e-5;
        const double difference = std::isinf(wanted) ? 0 : (cost(above) - cost(below)) / 2e-5;
        INFO("step " << step << ", class " << i);
        CHECK(std::abs(gradients[Place(step, sample, i)] - difference) < bound);
      }
    }
  }
}

}  // namespace

TEST_CASE("cudnn: losses over alignments", "[cudnn]") {
  for (const auto type : {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE}) {
    for (const bool softmax : {true, false}) {
      INFO("type " << type << ", soft-max " << softmax);
      CtcCall host(type, softmax), device(type, softmax), alone(type, softmax);
      REQUIRE(host.HostLabels(host.dx.data()) == 0);
      CheckLoss(host);
      REQUIRE(device.DeviceLabels(device.dx.data()) == 0);
      CheckLoss(device);
      // The costs alone.
      REQUIRE(alone.DeviceLabels(nullptr) == 0);
      REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
      CHECK(alone.costs.Get() == host.costs.Get());
      for (const double value : alone.dx.Get()) CHECK(value == 9);
    }
  }
}

TEST_CASE("cudnn: what gradients of a loss become where no path has the labels; status", "[cudnn]") {
  const auto last_gradient = [](CtcCall& call) {
    REQUIRE(call.HostLabels(call.dx.data()) == 0);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    return call.dx.Get()[Place(0, kBatch - 1, 0)];
  };
  CtcCall call(CUDNN_DATA_FLOAT, true);
  Cudnn("cudnnSetCTCLossDescriptor_v9", call.loss, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
        CUDNN_CTC_SKIP_OOB_GRADIENTS, 10);
  CHECK(last_gradient(call) == 9);
  Cudnn("cudnnSetCTCLossDescriptor_v8", call.loss, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
        CUDNN_PROPAGATE_NAN, 10);
  CHECK(std::isnan(last_gradient(call)));
  Cudnn("cudnnSetCTCLossDescriptorEx", call.loss, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
        CUDNN_NOT_PROPAGATE_NAN);
  CHECK(last_gradient(call) == 0);
  size_t size = 1;
  Cudnn("cudnnGetCTCLossWorkspaceSize_v8", call.handle.handle, CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, call.loss,
        call.x.tensor(), call.dx.tensor(), &size);
  CHECK(size == 0);
  constexpr int kBad = 2000, kNotSupported = 3000;  // of version 9
  call.labels[0] = kClasses;
  CHECK(call.HostLabels(call.dx.data()) == kBad);
  Cudnn("cudnnSetCTCLossDescriptor", call.loss, CUDNN_DATA_DOUBLE);
  CHECK(call.HostLabels(call.dx.data()) == kNotSupported);
  CHECK(Cudnn().Call("cudnnSetCTCLossDescriptor", cudnnCTCLossDescriptor_t{}, CUDNN_DATA_FLOAT) == kBad);
}
