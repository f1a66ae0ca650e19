// Recurrent networks of cuDNN against their definition, and their gradients against its differences.
#include <cstring>

#include "tests/libraries/cudnn_rnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

constexpr void* kNowhere = nullptr;

// Memory of a case: elements of its type, with some more than are read.
DnnTensor Elements(const RnnCase& c, const Values& numbers) {
  return {c.type, {1, static_cast<int>(std::max<size_t>(numbers.size(), 1)), 1}, CUDNN_TENSOR_NCHW, numbers};
}
Values Some(size_t count, int seed) {
  Values numbers = Numbers(count, seed);
  for (double& number : numbers) number /= 3;
  return numbers;
}
size_t ElementOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

struct RnnRun {
  explicit RnnRun(const RnnCase& of)
      : c(of),
        descriptors(of),
        places(descriptors.Places(handle.handle, ElementOf(of.type))),
        weight_bytes(descriptors.WeightBytes(handle.handle)),
        w(Elements(c, Some(weight_bytes / ElementOf(c.type), 1))),
        x(Elements(c, Some(c.Count(c.input), 2))),
        hx(Elements(c, Some(c.States(c.projected), 3))),
        cx(Elements(c, Some(c.States(c.hidden), 4))),
        y(Elements(c, Values(c.Count(c.directions * c.projected)))),
        hy(Elements(c, Values(c.States(c.projected)))),
        cy(Elements(c, Values(c.States(c.hidden)))) {}

  size_t ReserveSize() {
    size_t workspace = 1, bytes = 0;
    Cudnn("cudnnGetRNNTempSpaceSizes", handle.handle, descriptors.network, CUDNN_FWD_MODE_TRAINING,
          descriptors.x, &workspace, &bytes);
    return bytes;
  }
  int Forward(cudnnForwardMode_t mode) {
    reserve.resize(mode == CUDNN_FWD_MODE_TRAINING ? ReserveSize() : 0);
    return Cudnn().Call("cudnnRNNForward", handle.handle, descriptors.network, mode,
                        static_cast<const int32_t*>(nullptr), descriptors.x, std::as_const(x).data(),
                        descriptors.y, y.data(), descriptors.h, std::as_const(hx).data(), hy.data(),
                        descriptors.cell, std::as_const(cx).data(), cy.data(), weight_bytes,
                        std::as_const(w).data(), size_t{0}, kNowhere, reserve.size(),
                        static_cast<void*>(reserve.data()));
  }
  RnnResults Defined() const { return DefinedRnn(c, places, w.Get(), x.Get(), hx.Get(), cx.Get()); }

  const RnnCase c;
  DnnHandle handle;
  RnnDescriptors descriptors;
  RnnPlaces places;
  size_t weight_bytes;
  DnnTensor w, x, hx, cx, y, hy, cy;
  std::vector<char> reserve;
};

// What no sequence has a step for is zero, as the definition's results are.
void CheckForward(const RnnCase& c, cudnnForwardMode_t mode) {
  RnnRun run(c);
  REQUIRE(run.Forward(mode) == 0);
  const RnnResults defined = run.Defined();
  CheckNear(c.type, run.y, defined.y, 8);
  CheckNear(c.type, run.hy, defined.hy, 8);
  if (c.cell == CUDNN_LSTM) CheckNear(c.type, run.cy, defined.cy, 8);
}

// Cells with every kind of bias, layers and directions, and of an LSTM projections and clipped cells.
std::vector<RnnCase> Cases() {
  std::vector<RnnCase> cases;
  for (const auto cell : {CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU}) {
    for (const auto bias :
         {CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_RNN_DOUBLE_BIAS, CUDNN_RNN_SINGLE_REC_BIAS})
      cases.push_back({.cell = cell, .bias = bias});
    cases.push_back({.cell = cell, .directions = 2, .layers = 2});
    cases.push_back({.cell = cell, .directions = 2, .input = 4, .skips = true});
    cases.push_back({.cell = cell, .layers = 3, .input = 5, .hidden = 2, .projected = 2});
  }
  cases.push_back({.directions = 2, .layers = 2, .projected = 2});
  cases.push_back({.layers = 2, .clips = true});
  return cases;
}

void Describe(const RnnCase& c) {
  UNSCOPED_INFO("cell " << c.cell << ", bias " << c.bias << ", directions " << c.directions << ", layers "
                        << c.layers << ", projected " << c.projected << ", skips " << c.skips << ", clips "
                        << c.clips << ", layout " << c.layout << ", type " << c.type);
}

}  // namespace

TEST_CASE("cudnn: recurrent networks", "[cudnn]") {
  for (const RnnCase& c : Cases()) {
    for (const auto mode : {CUDNN_FWD_MODE_INFERENCE, CUDNN_FWD_MODE_TRAINING}) {
      Describe(c);
      CheckForward(c, mode);
    }
  }
}

TEST_CASE("cudnn: recurrent networks of every layout and type", "[cudnn]") {
  for (const auto type : {CUDNN_DATA_DOUBLE, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    for (const auto layout :
         {CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
          CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED}) {
      RnnCase c{.directions = 2, .layers = 2, .layout = layout, .type = type};
      // Only packed sequences come with the longest first; the others may be empty too.
      if (layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) c.lengths = {2, 4, 0, 3, 4};
      Describe(c);
      CheckForward(c, CUDNN_FWD_MODE_TRAINING);
    }
  }
}

TEST_CASE("cudnn: recurrent networks of many rows have the bits of one thread", "[cudnn]") {
  RnnCase c{
      .directions = 2, .layers = 2, .input = 33, .hidden = 70, .projected = 70, .type = CUDNN_DATA_FLOAT};
  c.lengths.assign(40, 6);
  std::vector<Values> results;
  for (int repeat = 0; repeat < 3; ++repeat) {
    RnnRun run(c);
    REQUIRE(run.Forward(CUDNN_FWD_MODE_INFERENCE) == 0);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    results.push_back(run.y.Get());
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

namespace {

// The gradient of sum(dy y) + sum(dhy hy) + sum(dcy cy) over one of the arguments, from differences.
template <typename Loss>
Values Differences(const Values& at, const Loss& loss) {
  constexpr double kStep = 1e-5;
  Values gradient(at.size()), moved = at;
  for (size_t i = 0; i < at.size(); ++i) {
    moved[i] = at[i] + kStep;
    const double above = loss(moved);
    moved[i] = at[i] - kStep;
    gradient[i] = (above - loss(moved)) / (2 * kStep);
    moved[i] = at[i];
  }
  return gradient;
}

void CheckGradient(const DnnTensor& found, const Values& wanted) {
  const Values values = found.Get();
  REQUIRE(values.size() == wanted.size());
  for (size_t i = 0; i < values.size(); ++i) {
    INFO(i << ": " << values[i] << " for " << wanted[i]);
    REQUIRE(std::abs(values[i] - wanted[i]) < 1e-7);
  }
}

double Dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void CheckGradients(const RnnCase& c) {
  RnnRun run(c);
  REQUIRE(run.Forward(CUDNN_FWD_MODE_TRAINING) == 0);
  const DnnTensor dy = Elements(c, Some(run.y.Count(), 5)), dhy = Elements(c, Some(run.hy.Count(), 6)),
                  dcy = Elements(c, Some(run.cy.Count(), 7));
  DnnTensor dx = Elements(c, Values(run.x.Count())), dhx = Elements(c, Values(run.hx.Count())),
            dcx = Elements(c, Values(run.cx.Count())), dw = Elements(c, Values(run.w.Count(), 0.5));
  Cudnn("cudnnRNNBackwardData_v8", run.handle.handle, run.descriptors.network,
        static_cast<const int32_t*>(nullptr), run.descriptors.y, std::as_const(run.y).data(), dy.data(),
        run.descriptors.x, dx.data(), run.descriptors.h, std::as_const(run.hx).data(), dhy.data(), dhx.data(),
        run.descriptors.cell, std::as_const(run.cx).data(), dcy.data(), dcx.data(), run.weight_bytes,
        std::as_const(run.w).data(), size_t{0}, kNowhere, run.reserve.size(),
        static_cast<void*>(run.reserve.data()));
  for (const auto mode : {CUDNN_WGRAD_MODE_SET, CUDNN_WGRAD_MODE_ADD}) {
    Cudnn("cudnnRNNBackwardWeights_v8", run.handle.handle, run.descriptors.network, mode,
          static_cast<const int32_t*>(nullptr), run.descriptors.x, std::as_const(run.x).data(),
          run.descriptors.h, std::as_const(run.hx).data(), run.descriptors.y, std::as_const(run.y).data(),
          run.weight_bytes, dw.data(), size_t{0}, kNowhere, run.reserve.size(),
          static_cast<void*>(run.reserve.data()));
  }
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  const Values w = run.w.Get(), x = run.x.Get(), hx = run.hx.Get(), cx = run.cx.Get();
  const auto loss = [&](const Values& of_w, const Values& of_x, const Values& of_h, const Values& of_c) {
    const RnnResults results = DefinedRnn(c, run.places, of_w, of_x, of_h, of_c);
    const double cells = c.cell == CUDNN_LSTM ? Dot(results.cy, dcy.Get()) : 0;
    return Dot(results.y, dy.Get()) + Dot(results.hy, dhy.Get()) + cells;
  };
  CheckGradient(dx, Differences(x, [&](const Values& moved) { return loss(w, moved, hx, cx); }));
  CheckGradient(dhx, Differences(hx, [&](const Values& moved) { return loss(w, x, moved, cx); }));
  if (c.cell == CUDNN_LSTM)
    CheckGradient(dcx, Differences(cx, [&](const Values& moved) { return loss(w, x, hx, moved); }));
  Values of_w = Differences(w, [&](const Values& moved) { return loss(moved, x, hx, cx); });
  for (double& value : of_w) value *= 2;  // set, and added once more
  CheckGradient(dw, of_w);
}

}  // namespace

TEST_CASE("cudnn: gradients of recurrent networks", "[cudnn]") {
  for (RnnCase c : Cases()) {
    c.lengths = {3, 2, 1};
    Describe(c);
    CheckGradients(c);
  }
  RnnCase unpacked{.directions = 2, .layers = 2, .layout = CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED};
  unpacked.lengths = {1, 3, 0, 2};
  CheckGradients(unpacked);
}

TEST_CASE("cudnn: dropout between the layers of recurrent networks", "[cudnn]") {
  // A layer that passes its input on, so that the output shows what remained.
  const RnnCase c{.cell = CUDNN_RNN_RELU,
                  .bias = CUDNN_RNN_NO_BIAS,
                  .layers = 2,
                  .input = 16,
                  .hidden = 16,
                  .projected = 16};
  RnnRun run(c);
  cudnnDropoutDescriptor_t dropout = nullptr;
  std::vector<char> states(64);
  Cudnn("cudnnCreateDropoutDescriptor", &dropout);
  Cudnn("cudnnSetDropoutDescriptor", dropout, run.handle.handle, 0.25f, static_cast<void*>(states.data()),
        states.size(), 7ull);
  Cudnn("cudnnSetRNNDescriptor_v8", run.descriptors.network, CUDNN_RNN_ALGO_STANDARD, c.cell, c.bias,
        CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, c.type, c.type, CUDNN_DEFAULT_MATH, c.input, c.hidden,
        c.projected, c.layers, dropout, 1u);
  Values identity(run.w.Count());
  for (int layer = 0; layer < 2; ++layer) {
    for (int i = 0; i < 16; ++i)
      identity[static_cast<size_t>(run.places.matrix[static_cast<size_t>(layer)][0] + i * 17)] = 1;
  }
  const DnnTensor w = Elements(c, identity), zeros = Elements(c, Values(run.hx.Count()));
  const DnnTensor ones = Elements(c, Values(run.x.Count(), 1.0));
  std::memcpy(run.w.data(), w.data(), run.w.Count() * 8);
  std::memcpy(run.hx.data(), zeros.data(), zeros.Count() * 8);
  std::memcpy(run.x.data(), ones.data(), ones.Count() * 8);
  REQUIRE(run.Forward(CUDNN_FWD_MODE_TRAINING) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  const Values y = run.y.Get();
  const auto lost = std::ranges::count(y, 0.0);
  for (const double value : y) CHECK((value == 0 || std::abs(value - 4.0 / 3) < 1e-6));
  CHECK(lost > static_cast<long>(y.size()) / 8);
  CHECK(lost < static_cast<long>(y.size()) / 2);
  // The gradient passes where the output did.
  DnnTensor dx = Elements(c, Values(run.x.Count()));
  Cudnn("cudnnRNNBackwardData_v8", run.handle.handle, run.descriptors.network,
        static_cast<const int32_t*>(nullptr), run.descriptors.y, std::as_const(run.y).data(), ones.data(),
        run.descriptors.x, dx.data(), cudnnTensorDescriptor_t{}, static_cast<const void*>(nullptr),
        static_cast<const void*>(nullptr), kNowhere, cudnnTensorDescriptor_t{},
        static_cast<const void*>(nullptr), static_cast<const void*>(nullptr), kNowhere, run.weight_bytes,
        std::as_const(run.w).data(), size_t{0}, kNowhere, run.reserve.size(),
        static_cast<void*>(run.reserve.data()));
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  const Values gradient = dx.Get();
  for (size_t i = 0; i < y.size(); ++i) CHECK((y[i] == 0) == (gradient[i] == 0));
  // An inference drops nothing.
  REQUIRE(run.Forward(CUDNN_FWD_MODE_INFERENCE) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  for (const double value : run.y.Get()) CHECK(value == 1);
  Cudnn("cudnnDestroyDropoutDescriptor", dropout);
}

TEST_CASE("cudnn: status and padding of recurrent networks", "[cudnn]") {
  const RnnCase c{.layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED};
  RnnRun run(c);
  constexpr int kBad = 2000, kNotSupported = 3000;  // of version 9
  const auto set_network = [&](int cell, int input, int input_size, int projected) {
    return Cudnn().Call("cudnnSetRNNDescriptor_v8", run.descriptors.network, CUDNN_RNN_ALGO_STANDARD, cell,
                        CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, input, CUDNN_DATA_FLOAT,
                        CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, input_size, 4, projected, 1,
                        cudnnDropoutDescriptor_t{}, 0u);
  };
  CHECK(set_network(4, CUDNN_LINEAR_INPUT, 3, 4) == kBad);
  CHECK(set_network(CUDNN_LSTM, CUDNN_LINEAR_INPUT, 3, 5) == kNotSupported);
  CHECK(set_network(CUDNN_LSTM, CUDNN_SKIP_INPUT, 3, 4) == kBad);
  CHECK(set_network(CUDNN_GRU, CUDNN_LINEAR_INPUT, 3, 2) == kNotSupported);  // only an LSTM has projections
  const auto set_data = [&](cudnnRNNDataLayout_t layout, std::vector<int> lengths, void* fill) {
    return Cudnn().Call("cudnnSetRNNDataDescriptor", run.descriptors.y, c.type, layout, c.steps(), 4,
                        c.projected, static_cast<const int*>(lengths.data()), fill);
  };
  CHECK(set_data(CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, {1, 2, 3, 4}, nullptr) == kBad);
  CHECK(set_data(c.layout, {6, 1, 1, 1}, nullptr) == kBad);
  double fill = -7, got = 0;
  REQUIRE(set_data(c.layout, c.lengths, &fill) == 0);
  int lengths[4] = {}, batch = 0;
  Cudnn("cudnnGetRNNDataDescriptor", run.descriptors.y, static_cast<cudnnDataType_t*>(nullptr),
        static_cast<cudnnRNNDataLayout_t*>(nullptr), static_cast<int*>(nullptr), &batch,
        static_cast<int*>(nullptr), 4, &lengths[0], static_cast<void*>(&got));
  CHECK(batch == 4);
  CHECK(std::vector<int>(lengths, lengths + 4) == c.lengths);
  CHECK(got == fill);
  RnnRun fresh(c);
  std::swap(fresh.descriptors.y, run.descriptors.y);
  REQUIRE(fresh.Forward(CUDNN_FWD_MODE_INFERENCE) == 0);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  const Values y = fresh.y.Get();
  CHECK(y[c.Place(3, 1, c.projected)] == fill);
  CHECK(y[c.Place(0, 4, c.projected)] == fill);
  CHECK(y[c.Place(0, 3, c.projected)] != fill);
  fresh.weight_bytes -= 8;
  CHECK(fresh.Forward(CUDNN_FWD_MODE_INFERENCE) == kBad);
  std::swap(fresh.descriptors.y, run.descriptors.y);
}
