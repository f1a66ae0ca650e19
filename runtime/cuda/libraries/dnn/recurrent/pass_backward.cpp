#include <algorithm>
#include <cmath>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/recurrent/cells.h"
#include "runtime/cuda/libraries/dnn/recurrent/pass.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

template <typename R>
void SumRows(int64_t rows, int64_t width, const R* from, R* sums) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) sums[i] += from[row * width + i];
  }
}

}  // namespace

template <typename R>
std::unique_ptr<R[]> Pass<R>::Before(int64_t pseudo_layer, const R* of, int64_t stride, const R* initial,
                                     int64_t size) const {
  const auto states = States(initial, pseudo_layer, size);
  auto before = Storage<R>(Rows() * size);
  const Steps steps{sequences_.steps(), pseudo_layer % network_.directions == 1};
  for (int64_t number = 0; number < steps.count; ++number) {
    const auto step = static_cast<size_t>(steps[number]);
    const auto last = static_cast<size_t>(number == 0 ? 0 : steps[number - 1]);
    for (int64_t i = 0; i < sequences_.active[step]; ++i) {
      const bool begins = number == 0 || i >= sequences_.active[last];
      const R* const from = begins ? &states[i * size] : of + (sequences_.first[last] + i) * stride;
      std::copy_n(from, size, &before[(sequences_.first[step] + i) * size]);
    }
  }
  return before;
}

template <typename R>
void Pass<R>::BackwardLayer(int64_t pseudo_layer, const R* d_output, EndStates<R> before,
                            EndStates<R> d_after, EndStates<R> d_before) {
  const int64_t layer = pseudo_layer / network_.directions, direction = pseudo_layer % network_.directions;
  const int64_t width = network_.width(), hidden = network_.hidden, output = network_.output;
  const Weights::Of& w = weights_.layers[static_cast<size_t>(pseudo_layer)];
  const auto& places = places_.pseudo_layers[static_cast<size_t>(pseudo_layer)];
  const bool gru = network_.cell == CUDNN_GRU, lstm = network_.has_cells();
  const R* const passed = At(places_.layers[static_cast<size_t>(layer)].output) + direction * output;
  std::unique_ptr<R[]> h_before, c_before;
  if (gru) h_before = Before(pseudo_layer, passed, network_.passed(), before.h, output);
  if (lstm) c_before = Before(pseudo_layer, At(places.cells), hidden, before.c, hidden);
  const auto dh = States(d_after.h, pseudo_layer, output), dc = States(d_after.c, pseudo_layer, hidden);
  const auto d_fresh = Storage<R>(sequences_.batch() * hidden);
  const Steps steps{sequences_.steps(), direction == 0};
  for (int64_t number = 0; number < steps.count; ++number) {
    const auto step = static_cast<size_t>(steps[number]);
    const int64_t active = sequences_.active[step], first = sequences_.first[step];
    for (int64_t i = 0; i < active; ++i) {
      const R* const from = d_output + (first + i) * network_.passed() + direction * output;
      std::transform(from, from + output, &dh[i * output], &dh[i * output], std::plus<R>());
    }
    if (network_.projects()) {
      std::copy_n(dh.get(), active * output, At(places.d_output) + first * output);
      Multiply<R>('N', 'N', active, hidden, output, dh.get(), output, w_ + w.projection.at, hidden, 0,
                  d_fresh.get(), hidden);
    } else {
      std::copy_n(dh.get(), active * hidden, d_fresh.get());
    }
    for (int64_t i = 0; i < active; ++i) {
      const int64_t row = first + i;
      StepBackward<R>(network_,
                      {At(places.gates) + row * width, At(places.cells) + row * hidden,
                       gru ? &h_before[row * hidden] : nullptr, lstm ? &c_before[row * hidden] : nullptr,
                       &d_fresh[i * hidden], &dc[i * hidden], At(places.d_gates) + row * width,
                       At(places.d_recurrent) + row * width, &dh[i * output]});
    }
    Multiply<R>('N', 'N', active, output, width, At(places.d_recurrent) + first * width, width,
                w_ + w.recurrent.at, output, gru ? 1 : 0, dh.get(), output);
  }
  Store(dh.get(), d_before.h, pseudo_layer, output);
  if (lstm) Store(dc.get(), d_before.c, pseudo_layer, hidden);
}

template <typename R>
void Pass<R>::BackwardInput(int64_t pseudo_layer, R* d_input, bool adds) const {
  const int64_t layer = pseudo_layer / network_.directions;
  const int64_t width = network_.width(), hidden = network_.hidden, size = network_.InputOf(layer);
  const R* const d_gates = At(places_.pseudo_layers[static_cast<size_t>(pseudo_layer)].d_gates);
  if (network_.Skips(layer)) {
    if (!adds) std::fill_n(d_input, Rows() * hidden, R{0});
    for (int64_t i = 0; i < Rows() * network_.gates; ++i) {
      R* const to = d_input + i / network_.gates * hidden;
      std::transform(to, to + hidden, d_gates + i * hidden, to, std::plus<R>());
    }
    return;
  }
  const WeightPlace& w = weights_.layers[static_cast<size_t>(pseudo_layer)].input;
  Multiply<R>('N', 'N', Rows(), size, width, d_gates, width, w_ + w.at, size, adds ? 1 : 0, d_input, size);
}

template <typename R>
void Pass<R>::BackwardData(std::unique_ptr<R[]> dy, EndStates<R> before, EndStates<R> d_after, R* dx,
                           EndStates<R> d_before) {
  for (int64_t layer = network_.layers; layer-- > 0;) {
    const int64_t count = Rows() * network_.InputOf(layer);
    auto below = layer == 0 ? nullptr : Storage<R>(count);
    R* const d_input = layer == 0 ? dx : below.get();
    for (int64_t direction = 0; direction < network_.directions; ++direction) {
      const int64_t pseudo_layer = layer * network_.directions + direction;
      BackwardLayer(pseudo_layer, dy.get(), before, d_after, d_before);
      if (d_input != nullptr) BackwardInput(pseudo_layer, d_input, direction != 0);
    }
    if (layer == 0) return;
    if (Scales(layer - 1)) {
      const R* const scale = At(places_.layers[static_cast<size_t>(layer) - 1].scale);
      std::transform(d_input, d_input + count, scale, d_input, std::multiplies<R>());
    }
    dy = std::move(below);
  }
}

template <typename R>
void Pass<R>::BackwardWeightsOf(int64_t pseudo_layer, const R* input, EndStates<R> before, R* dw) const {
  const int64_t layer = pseudo_layer / network_.directions, direction = pseudo_layer % network_.directions;
  const int64_t width = network_.width(), hidden = network_.hidden, output = network_.output;
  const Weights::Of& w = weights_.layers[static_cast<size_t>(pseudo_layer)];
  const auto& places = places_.pseudo_layers[static_cast<size_t>(pseudo_layer)];
  const R *const d_gates = At(places.d_gates), *const d_recurrent = At(places.d_recurrent);
  if (w.input.rows != 0) {
    const int64_t size = network_.InputOf(layer);
    Multiply<R>('T', 'N', width, size, Rows(), d_gates, width, input, size, 1, dw + w.input.at, size);
  }
  const R* const passed = At(places_.layers[static_cast<size_t>(layer)].output) + direction * output;
  const auto h_before = Before(pseudo_layer, passed, network_.passed(), before.h, output);
  Multiply<R>('T', 'N', width, output, Rows(), d_recurrent, width, h_before.get(), output, 1,
              dw + w.recurrent.at, output);
  if (w.input_bias.rows != 0) SumRows(Rows(), width, d_gates, dw + w.input_bias.at);
  if (w.recurrent_bias.rows != 0) SumRows(Rows(), width, d_recurrent, dw + w.recurrent_bias.at);
  if (!network_.projects()) return;
  const auto fresh = Storage<R>(Rows() * hidden);
  for (int64_t i = 0; i < Rows() * hidden; ++i) {
    const R out = At(places.gates)[i / hidden * width + 3 * hidden + i % hidden];
    fresh[i] = out * std::tanh(At(places.cells)[i]);
  }
  Multiply<R>('T', 'N', output, hidden, Rows(), At(places.d_output), output, fresh.get(), hidden, 1,
              dw + w.projection.at, hidden);
}

template <typename R>
void Pass<R>::BackwardWeights(const R* x, EndStates<R> before, R* dw) {
  for (int64_t layer = 0; layer < network_.layers; ++layer) {
    std::unique_ptr<R[]> made;
    const R* const input = InputOf(layer, x, made);
    for (int64_t direction = 0; direction < network_.directions; ++direction)
      BackwardWeightsOf(layer * network_.directions + direction, input, before, dw);
  }
}

template void Pass<float>::BackwardData(std::unique_ptr<float[]>, EndStates<float>, EndStates<float>, float*,
                                        EndStates<float>);
template void Pass<double>::BackwardData(std::unique_ptr<double[]>, EndStates<double>, EndStates<double>,
                                         double*, EndStates<double>);
template void Pass<float>::BackwardWeights(const float*, EndStates<float>, float*);
template void Pass<double>::BackwardWeights(const double*, EndStates<double>, double*);

}  // namespace ptx2cpu::cudnn
