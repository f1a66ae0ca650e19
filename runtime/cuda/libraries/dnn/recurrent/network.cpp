#include "runtime/cuda/libraries/dnn/recurrent/network.h"

#include <algorithm>
#include <numeric>

namespace ptx2cpu::cudnn {

namespace {

int64_t GatesOf(cudnnRNNMode_t cell) { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }

}  // namespace

Network::Network(const cudnnRNNStruct& from)
    : cell(from.cell),
      input_bias(from.bias == CUDNN_RNN_SINGLE_INP_BIAS || from.bias == CUDNN_RNN_DOUBLE_BIAS),
      recurrent_bias(from.bias == CUDNN_RNN_SINGLE_REC_BIAS || from.bias == CUDNN_RNN_DOUBLE_BIAS),
      skips(from.input == CUDNN_SKIP_INPUT),
      clips(from.clip == CUDNN_RNN_CLIP_MINMAX && from.cell == CUDNN_LSTM),
      keeps_nan(from.clip_nan == CUDNN_PROPAGATE_NAN),
      layers(from.layers),
      directions(from.direction == CUDNN_BIDIRECTIONAL ? 2 : 1),
      gates(GatesOf(from.cell)),
      input(from.input_size),
      hidden(from.hidden_size),
      output(from.projected_size),
      low(from.low),
      high(from.high) {}

Weights::Weights(const Network& network) {
  const auto take = [this](int64_t rows, int64_t columns) {
    const WeightPlace place{count, rows, columns};
    count += rows * columns;
    return place;
  };
  for (int64_t i = 0; i < network.pseudo_layers(); ++i) {
    const int64_t layer = i / network.directions;
    Of& of = layers.emplace_back();
    if (!network.Skips(layer)) of.input = take(network.width(), network.InputOf(layer));
    of.recurrent = take(network.width(), network.output);
    if (network.projects()) of.projection = take(network.output, network.hidden);
  }
  for (Of& of : layers) {
    if (network.input_bias) of.input_bias = take(network.width(), 1);
    if (network.recurrent_bias) of.recurrent_bias = take(network.width(), 1);
  }
}

std::optional<Weights::Pair> Weights::Find(const Network& network, int64_t pseudo_layer, int64_t id) const {
  if (pseudo_layer < 0 || pseudo_layer >= network.pseudo_layers() || id < 0) return std::nullopt;
  const Of& of = layers[static_cast<size_t>(pseudo_layer)];
  if (id == 2 * network.gates && network.cell == CUDNN_LSTM) return Pair{of.projection, {}};
  if (id >= 2 * network.gates) return std::nullopt;
  const auto gate_of = [&](const WeightPlace& all) {
    if (all.rows == 0) return WeightPlace{};
    return WeightPlace{all.at + id % network.gates * network.hidden * all.columns, network.hidden,
                       all.columns};
  };
  const bool recurrent = id >= network.gates;
  return Pair{gate_of(recurrent ? of.recurrent : of.input),
              gate_of(recurrent ? of.recurrent_bias : of.input_bias)};
}

Sequences::Sequences(const cudnnRNNDataStruct& data) {
  order.resize(data.lengths.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto length = [&](int64_t number) { return data.lengths[static_cast<size_t>(number)]; };
  std::ranges::sort(order, {}, [&](int64_t number) { return std::pair(-length(number), number); });
  for (int step = 0; step < (order.empty() ? 0 : length(order[0])); ++step) {
    first.push_back(rows);
    active.push_back(std::ranges::count_if(order, [&](int64_t number) { return length(number) > step; }));
    rows += active.back();
  }
}

int64_t PlaceOf(const cudnnRNNDataStruct& data, const Sequences& sequences, int64_t step, int64_t place) {
  const auto at = static_cast<size_t>(place);
  switch (data.layout) {
    case CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED:
      return (step * data.batch + sequences.order[at]) * data.vector;
    case CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED:
      return (sequences.first[static_cast<size_t>(step)] + place) * data.vector;
    case CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED:
      return (sequences.order[at] * data.steps + step) * data.vector;
  }
  return 0;
}

int64_t CountOf(const cudnnRNNDataStruct& data, const Sequences& sequences) {
  const bool packed = data.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  return (packed ? sequences.rows : int64_t{data.steps} * data.batch) * data.vector;
}

Reserve::Reserve(const Network& network, int64_t rows, bool drops) {
  const auto take = [this](int64_t elements) {
    count += elements;
    return count - elements;
  };
  const int64_t width = rows * network.width(), hidden = rows * network.hidden;
  const bool gru = network.cell == CUDNN_GRU;
  for (int64_t i = 0; i < network.layers; ++i) {
    OfLayer of{.output = take(rows * network.passed()), .scale = kNone};
    if (drops && i + 1 < network.layers) of.scale = take(rows * network.passed());
    layers.push_back(of);
  }
  for (int64_t i = 0; i < network.pseudo_layers(); ++i) {
    OfPseudoLayer of{};
    of.gates = take(width);
    of.cells = take(network.has_cells() || gru ? hidden : 0);
    of.d_gates = take(width);
    of.d_recurrent = gru ? take(width) : of.d_gates;
    of.d_output = take(network.projects() ? rows * network.output : 0);
    pseudo_layers.push_back(of);
  }
}

}  // namespace ptx2cpu::cudnn
