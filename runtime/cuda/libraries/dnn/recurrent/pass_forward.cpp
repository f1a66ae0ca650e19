#include <algorithm>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/recurrent/cells.h"
#include "runtime/cuda/libraries/dnn/recurrent/pass.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

constexpr int64_t kElementsAtOnce = 4096;  // of rows that one piece of work takes

template <typename R>
void AddToRows(int64_t rows, int64_t width, const R* bias, R* to) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) to[row * width + i] += bias[i];
  }
}

}  // namespace

template <typename R>
bool Pass<R>::Scales(int64_t layer) const {
  return places_.layers[static_cast<size_t>(layer)].scale != Reserve::kNone;
}

template <typename R>
void Pass<R>::Drop(int64_t layer, const cudnnDropoutStruct& dropout) {
  const DropoutStates states = NextCall(dropout.states);
  const R kept = dropout.rate < 1 ? 1 / (1 - static_cast<R>(dropout.rate)) : R{0};
  R* const scale = At(places_.layers[static_cast<size_t>(layer)].scale);
  for (int64_t i = 0; i < Rows() * network_.passed(); ++i)
    scale[i] = Uniform(states, i) >= dropout.rate ? kept : R{0};
}

template <typename R>
const R* Pass<R>::InputOf(int64_t layer, const R* x, std::unique_ptr<R[]>& made) const {
  if (layer == 0) return x;
  const auto& below = places_.layers[static_cast<size_t>(layer) - 1];
  if (!Scales(layer - 1)) return At(below.output);
  const int64_t count = Rows() * network_.passed();
  made = Storage<R>(count);
  std::transform(At(below.output), At(below.output) + count, At(below.scale), made.get(),
                 std::multiplies<R>());
  return made.get();
}

template <typename R>
std::unique_ptr<R[]> Pass<R>::States(const R* all, int64_t pseudo_layer, int64_t size) const {
  const int64_t batch = sequences_.batch();
  auto states = Storage<R>(batch * size);
  for (int64_t i = 0; i < batch; ++i) {
    if (all == nullptr) {
      std::fill_n(&states[i * size], size, R{0});
    } else {
      const int64_t number = sequences_.order[static_cast<size_t>(i)];
      std::copy_n(all + (pseudo_layer * batch + number) * size, size, &states[i * size]);
    }
  }
  return states;
}

template <typename R>
void Pass<R>::Store(const R* states, R* all, int64_t pseudo_layer, int64_t size) const {
  const int64_t batch = sequences_.batch();
  for (int64_t i = 0; all != nullptr && i < batch; ++i) {
    const int64_t number = sequences_.order[static_cast<size_t>(i)];
    std::copy_n(states + i * size, size, all + (pseudo_layer * batch + number) * size);
  }
}

template <typename R>
void Pass<R>::Project(int64_t pseudo_layer, int64_t rows, const R* from, R* h) const {
  const WeightPlace& place = weights_.layers[static_cast<size_t>(pseudo_layer)].projection;
  if (network_.projects()) {
    Multiply<R>('N', 'T', rows, network_.output, network_.hidden, from, network_.hidden, w_ + place.at,
                network_.hidden, 0, h, network_.output);
  } else {
    std::copy_n(from, rows * network_.hidden, h);
  }
}

template <typename R>
void Pass<R>::ForwardLayer(int64_t pseudo_layer, const R* input, EndStates<R> before, EndStates<R> after) {
  const int64_t layer = pseudo_layer / network_.directions, direction = pseudo_layer % network_.directions;
  const int64_t width = network_.width(), hidden = network_.hidden, output = network_.output;
  const Weights::Of& w = weights_.layers[static_cast<size_t>(pseudo_layer)];
  const auto& places = places_.pseudo_layers[static_cast<size_t>(pseudo_layer)];
  R* const gates = At(places.gates);
  if (network_.Skips(layer)) {
    for (int64_t i = 0; i < Rows() * network_.gates; ++i)
      std::copy_n(input + i / network_.gates * hidden, hidden, gates + i * hidden);
  } else {
    const int64_t size = network_.InputOf(layer);
    Multiply<R>('N', 'T', Rows(), width, size, input, size, w_ + w.input.at, size, 0, gates, width);
  }
  if (w.input_bias.rows != 0) AddToRows(Rows(), width, w_ + w.input_bias.at, gates);
  const auto h = States(before.h, pseudo_layer, output), c = States(before.c, pseudo_layer, hidden);
  const auto recurrent = Storage<R>(sequences_.batch() * width),
             fresh = Storage<R>(sequences_.batch() * hidden);
  const Steps steps{sequences_.steps(), direction == 1};
  for (int64_t number = 0; number < steps.count; ++number) {
    const auto step = static_cast<size_t>(steps[number]);
    const int64_t active = sequences_.active[step], first = sequences_.first[step];
    Multiply<R>('N', 'T', active, width, output, h.get(), output, w_ + w.recurrent.at, output, 0,
                recurrent.get(), width);
    if (w.recurrent_bias.rows != 0) AddToRows(active, width, w_ + w.recurrent_bias.at, recurrent.get());
    libraries::ForRanges(
        active, std::max<int64_t>(kElementsAtOnce / width, 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            R* const cells = At(places.cells) + (first + i) * hidden;
            StepForward<R>(network_, {gates + (first + i) * width, &recurrent[i * width], &h[i * output],
                                      &c[i * hidden], cells, &fresh[i * hidden]});
            if (network_.has_cells()) std::copy_n(cells, hidden, &c[i * hidden]);
          }
        });
    Project(pseudo_layer, active, fresh.get(), h.get());
    R* const to = At(places_.layers[static_cast<size_t>(layer)].output) + direction * output;
    for (int64_t i = 0; i < active; ++i)
      std::copy_n(&h[i * output], output, to + (first + i) * network_.passed());
  }
  Store(h.get(), after.h, pseudo_layer, output);
  if (network_.has_cells()) Store(c.get(), after.c, pseudo_layer, hidden);
}

template <typename R>
void Pass<R>::Forward(const R* x, EndStates<R> before, EndStates<R> after,
                      const cudnnDropoutStruct* dropout) {
  for (int64_t layer = 0; layer < network_.layers; ++layer) {
    std::unique_ptr<R[]> made;
    const R* const input = InputOf(layer, x, made);
    for (int64_t direction = 0; direction < network_.directions; ++direction)
      ForwardLayer(layer * network_.directions + direction, input, before, after);
    if (dropout != nullptr && Scales(layer)) Drop(layer, *dropout);
  }
}

template class Pass<float>;
template class Pass<double>;

}  // namespace ptx2cpu::cudnn
