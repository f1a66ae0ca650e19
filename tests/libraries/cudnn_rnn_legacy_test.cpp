// Recurrent networks as before version 8 have the bits of the functions of version 8, which are tested
// against their definition: forward passes, gradients, places of weights; status.
#include <memory>

#include "tests/libraries/cudnn_rnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

const DropIn& Cudnn8() {
  static const DropIn library("libcudnn.so.8");
  return library;
}
template <typename... Args>
void Old(const std::string& name, Args... args) {
  INFO(name);
  REQUIRE(Cudnn8().Call(name, args...) == 0);
}

void* const kNowhere = nullptr;
const void* const kNothing = nullptr;
constexpr size_t kNoSize = 0;

Values Some(size_t count, int seed) {
  Values numbers = Numbers(count, seed);
  for (double& number : numbers) number /= 3;
  return numbers;
}

// What both ways to call compute.
struct Results {
  Values y, hy, cy, dx, dhx, dcx, dw;
  bool operator==(const Results&) const = default;
};

class LegacyRun {
 public:
  explicit LegacyRun(const RnnCase& of) : c(of), now(c) {
    Old("cudnnCreate", &handle);
    Old("cudnnCreateDropoutDescriptor", &dropout);
    Old("cudnnCreateRNNDescriptor", &network);
    const auto direction = c.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL;
    const auto input = c.skips ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT;
    Old("cudnnSetRNNDescriptor_v6", handle, network, c.hidden, c.layers, dropout, input, direction, c.cell,
        CUDNN_RNN_ALGO_STANDARD, CUDNN_DATA_DOUBLE);
    Old("cudnnSetRNNBiasMode", network, c.bias);
    if (c.projected != c.hidden) Old("cudnnSetRNNProjectionLayers", handle, network, c.projected, 0);
    if (c.clips)
      Old("cudnnRNNSetClip", handle, network, CUDNN_RNN_CLIP_MINMAX, CUDNN_NOT_PROPAGATE_NAN, RnnCase::kLow,
          RnnCase::kHigh);
    for (int step = 0; step < *std::ranges::max_element(c.lengths); ++step) {
      const auto active =
          static_cast<int>(std::ranges::count_if(c.lengths, [&](int length) { return length > step; }));
      x_steps.push_back(Tensor({active, c.input, 1}));
      y_steps.push_back(Tensor({active, c.directions * c.projected, 1}));
    }
    Old("cudnnGetRNNParamsSize", handle, network, x_steps[0], &weight_bytes, CUDNN_DATA_DOUBLE);
    REQUIRE(weight_bytes == now.WeightBytes(handle));
    Old("cudnnCreateFilterDescriptor", &filter);
    const int extents[] = {static_cast<int>(weight_bytes / sizeof(double)), 1, 1};
    Old("cudnnSetFilterNdDescriptor", filter, CUDNN_DATA_DOUBLE, CUDNN_TENSOR_NCHW, 3,
        static_cast<const int*>(extents));
    w = Some(weight_bytes / sizeof(double), 1), x = Some(c.Count(c.input), 2);
    hx = Some(c.States(c.projected), 3), cx = Some(c.States(c.hidden), 4);
    dy = Some(c.Count(c.directions * c.projected), 5);
    dhy = Some(c.States(c.projected), 6), dcy = Some(c.States(c.hidden), 7);
    size_t bytes = 1;
    Old("cudnnGetRNNWorkspaceSize", handle, network, Steps(), InputLayouts(), &bytes);
    REQUIRE(bytes == 0);
    Old("cudnnGetRNNTrainingReserveSize", handle, network, Steps(), InputLayouts(), &bytes);
    reserve.resize(bytes);
  }
  ~LegacyRun() {
    for (const auto tensor : tensors) Cudnn8().Call("cudnnDestroyTensorDescriptor", tensor);
    Cudnn8().Call("cudnnDestroyFilterDescriptor", filter);
    Cudnn8().Call("cudnnDestroyRNNDescriptor", network);
    Cudnn8().Call("cudnnDestroyDropoutDescriptor", dropout);
    Cudnn8().Call("cudnnDestroy", handle);
  }
  LegacyRun(const LegacyRun&) = delete;
  LegacyRun& operator=(const LegacyRun&) = delete;

  int Steps() const { return static_cast<int>(x_steps.size()); }
  const cudnnTensorDescriptor_t* InputLayouts() const { return x_steps.data(); }
  const cudnnTensorDescriptor_t* OutputLayouts() const { return y_steps.data(); }
  static const void* In(const Values& values) { return values.data(); }
  static void* Out(Values& values) { return values.data(); }
  void* Reserve() { return reserve.data(); }

  Results Empty() const {
    return {.y = Values(dy.size()),
            .hy = Values(hx.size()),
            .cy = Values(cx.size()),
            .dx = Values(x.size()),
            .dhx = Values(hx.size()),
            .dcx = Values(cx.size()),
            .dw = Some(w.size(), 8)};
  }
  void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

  Results Inference() {
    Results r = Empty();
    Old("cudnnRNNForwardInference", handle, network, Steps(), InputLayouts(), In(x), now.h, In(hx), now.cell,
        In(cx), filter, In(w), OutputLayouts(), Out(r.y), now.h, Out(r.hy), now.cell, Out(r.cy), kNowhere,
        kNoSize);
    Wait();
    return r;
  }
  Results Training() {
    Results r = Empty();
    Old("cudnnRNNForwardTraining", handle, network, Steps(), InputLayouts(), In(x), now.h, In(hx), now.cell,
        In(cx), filter, In(w), OutputLayouts(), Out(r.y), now.h, Out(r.hy), now.cell, Out(r.cy), kNowhere,
        kNoSize, Reserve(), reserve.size());
    Old("cudnnRNNBackwardData", handle, network, Steps(), OutputLayouts(), In(r.y), OutputLayouts(), In(dy),
        now.h, In(dhy), now.cell, In(dcy), filter, In(w), now.h, In(hx), now.cell, In(cx), InputLayouts(),
        Out(r.dx), now.h, Out(r.dhx), now.cell, Out(r.dcx), kNowhere, kNoSize, Reserve(), reserve.size());
    Old("cudnnRNNBackwardWeights", handle, network, Steps(), InputLayouts(), In(x), now.h, In(hx),
        OutputLayouts(), In(r.y), kNothing, kNoSize, filter, Out(r.dw), static_cast<const void*>(Reserve()),
        reserve.size());
    Wait();
    return r;
  }
  // With the data's descriptors that version 8 kept.
  Results ExtendedTraining() {
    Results r = Empty();
    const cudnnRNNDataDescriptor_t none = nullptr;
    Old("cudnnRNNForwardTrainingEx", handle, network, now.x, In(x), now.h, In(hx), now.cell, In(cx), filter,
        In(w), now.y, Out(r.y), now.h, Out(r.hy), now.cell, Out(r.cy), none, kNothing, none, kNowhere, none,
        kNowhere, none, kNowhere, kNowhere, kNoSize, Reserve(), reserve.size());
    Old("cudnnRNNBackwardDataEx", handle, network, now.y, In(r.y), now.y, In(dy), none, kNothing, now.h,
        In(dhy), now.cell, In(dcy), filter, In(w), now.h, In(hx), now.cell, In(cx), now.x, Out(r.dx), now.h,
        Out(r.dhx), now.cell, Out(r.dcx), none, kNowhere, kNowhere, kNoSize, Reserve(), reserve.size());
    Old("cudnnRNNBackwardWeightsEx", handle, network, now.x, In(x), now.h, In(hx), now.y, In(r.y), kNowhere,
        kNoSize, filter, Out(r.dw), Reserve(), reserve.size());
    Wait();
    return r;
  }
  Results Expected() {
    Results r = Empty();
    const int32_t* const lengths = nullptr;
    Old("cudnnRNNForward", handle, now.network, CUDNN_FWD_MODE_TRAINING, lengths, now.x, In(x), now.y,
        Out(r.y), now.h, In(hx), Out(r.hy), now.cell, In(cx), Out(r.cy), weight_bytes, In(w), kNoSize,
        kNowhere, reserve.size(), Reserve());
    Old("cudnnRNNBackwardData_v8", handle, now.network, lengths, now.y, In(r.y), In(dy), now.x, Out(r.dx),
        now.h, In(hx), In(dhy), Out(r.dhx), now.cell, In(cx), In(dcy), Out(r.dcx), weight_bytes, In(w),
        kNoSize, kNowhere, reserve.size(), Reserve());
    Old("cudnnRNNBackwardWeights_v8", handle, now.network, CUDNN_WGRAD_MODE_ADD, lengths, now.x, In(x), now.h,
        In(hx), now.y, In(r.y), weight_bytes, Out(r.dw), kNoSize, kNowhere, reserve.size(), Reserve());
    Wait();
    return r;
  }
  // Whether a matrix or a bias is where version 8 has it, and of its extents.
  void CheckPlaces() {
    const RnnPlaces places = now.Places(handle, sizeof(double));
    cudnnFilterDescriptor_t part = nullptr;
    Old("cudnnCreateFilterDescriptor", &part);
    for (size_t layer = 0; layer < places.matrix.size(); ++layer) {
      for (size_t id = 0; id < places.matrix[layer].size(); ++id) {
        for (const bool bias : {false, true}) {
          void* at = nullptr;
          Old(bias ? "cudnnGetRNNLinLayerBiasParams" : "cudnnGetRNNLinLayerMatrixParams", handle, network,
              static_cast<int>(layer), x_steps[0], filter, In(w), static_cast<int>(id), part, &at);
          const long place = (bias ? places.bias : places.matrix)[layer][id];
          CHECK(at == (place < 0 ? nullptr : const_cast<double*>(w.data()) + place));
        }
      }
    }
    Cudnn8().Call("cudnnDestroyFilterDescriptor", part);
  }

  const RnnCase c;
  RnnDescriptors now;  // of version 8
  cudnnHandle_t handle = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  cudnnRNNDescriptor_t network = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  std::vector<cudnnTensorDescriptor_t> x_steps, y_steps, tensors;
  Values w, x, hx, cx, dy, dhy, dcy;
  size_t weight_bytes = 0;
  std::vector<char> reserve;

 private:
  cudnnTensorDescriptor_t Tensor(const std::vector<int>& extents) {
    const int strides[] = {extents[1] * extents[2], extents[2], 1};
    cudnnTensorDescriptor_t tensor = nullptr;
    Old("cudnnCreateTensorDescriptor", &tensor);
    Old("cudnnSetTensorNdDescriptor", tensor, CUDNN_DATA_DOUBLE, 3, static_cast<const int*>(extents.data()),
        static_cast<const int*>(strides));
    tensors.push_back(tensor);
    return tensor;
  }
};

}  // namespace

TEST_CASE("cudnn: recurrent networks as before version 8", "[cudnn]") {
  std::vector<RnnCase> cases;
  for (const auto cell : {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU}) {
    cases.push_back({.cell = cell});
    cases.push_back({.cell = cell, .bias = CUDNN_RNN_NO_BIAS, .directions = 2, .layers = 2});
    cases.push_back(
        {.cell = cell, .bias = CUDNN_RNN_SINGLE_INP_BIAS, .directions = 2, .input = 4, .skips = true});
  }
  cases.push_back({.directions = 2, .layers = 2, .projected = 2});
  cases.push_back({.layers = 2, .clips = true});
  for (const RnnCase& c : cases) {
    INFO("cell " << c.cell << ", bias " << c.bias << ", directions " << c.directions << ", projected "
                 << c.projected);
    LegacyRun run(c);
    const Results expected = run.Expected(), inference = run.Inference();
    CHECK(inference.y == expected.y);
    CHECK(inference.hy == expected.hy);
    CHECK((c.cell != CUDNN_LSTM || inference.cy == expected.cy));
    CHECK(run.Training() == expected);
    CHECK(run.ExtendedTraining() == expected);
    run.CheckPlaces();
  }
}

TEST_CASE("cudnn: recurrent networks as before version 8, status", "[cudnn]") {
  LegacyRun run(RnnCase{});
  const int bad = 3, unsupported = 9;  // of version 8
  int hidden = 0, layers = 0, projected = 9, output = 9;
  cudnnRNNMode_t cell{};
  cudnnDataType_t precision{};
  Old("cudnnGetRNNDescriptor_v6", run.handle, run.network, &hidden, &layers,
      static_cast<cudnnDropoutDescriptor_t*>(nullptr), static_cast<cudnnRNNInputMode_t*>(nullptr),
      static_cast<cudnnDirectionMode_t*>(nullptr), &cell, static_cast<cudnnRNNAlgo_t*>(nullptr), &precision);
  CHECK(hidden == 4);
  CHECK(layers == 1);
  CHECK(cell == CUDNN_LSTM);
  CHECK(precision == CUDNN_DATA_DOUBLE);
  Old("cudnnGetRNNProjectionLayers", run.handle, run.network, &projected, &output);
  CHECK(projected == 0);
  CHECK(output == 0);
  CHECK(Cudnn8().Call("cudnnSetRNNProjectionLayers", run.handle, run.network, 2, 2) == unsupported);
  size_t bytes = 0;
  CHECK(Cudnn8().Call("cudnnGetRNNTrainingReserveSize", run.handle, run.network, 0, run.InputLayouts(),
                      &bytes) == bad);
  CHECK(Cudnn8().Call("cudnnGetRNNParamsSize", run.handle, run.network, run.x_steps[0], &bytes,
                      CUDNN_DATA_FLOAT) == bad);
  // Sequences that become longer.
  const std::vector<cudnnTensorDescriptor_t> turned(run.x_steps.rbegin(), run.x_steps.rend());
  CHECK(Cudnn8().Call("cudnnGetRNNWorkspaceSize", run.handle, run.network, run.Steps(),
                      static_cast<const cudnnTensorDescriptor_t*>(turned.data()), &bytes) == bad);
  CHECK(Cudnn().Find("cudnnRNNForwardTraining") == nullptr);
}
