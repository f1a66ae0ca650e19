// The dimensions of a recurrent network: sizes, places of weights, and sequences in the order of the steps.
#pragma once

#include <optional>

#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

// A layer has one pseudo-layer for each direction: pseudo-layer = layer * directions + direction.
struct Network {
  explicit Network(const cudnnRNNStruct& descriptor);

  cudnnRNNMode_t cell;
  bool input_bias, recurrent_bias, skips, clips, keeps_nan;
  int64_t layers, directions, gates;
  int64_t input, hidden, output;  // sizes; `output` is what a cell passes on, after a projection
  double low, high;               // of clipped cells

  int64_t pseudo_layers() const { return layers * directions; }
  int64_t width() const { return gates * hidden; }  // all gates of a cell
  int64_t passed() const { return directions * output; }
  bool projects() const { return output != hidden; }
  bool has_cells() const { return cell == CUDNN_LSTM; }
  int64_t InputOf(int64_t layer) const { return layer == 0 ? input : passed(); }
  // The first layer's input is added to every gate as it is.
  bool Skips(int64_t layer) const { return skips && layer == 0; }
};

// A matrix or a bias in the weights; 0 rows: there is none.
struct WeightPlace {
  int64_t at = 0, rows = 0, columns = 0;  // `at` in elements
};
// The weights are, for each pseudo-layer, the matrices of all gates for the input and for the output of the
// step before, and the projection; after those of all, the biases in the same order.
struct Weights {
  explicit Weights(const Network& network);
  struct Of {
    WeightPlace input, recurrent, projection, input_bias, recurrent_bias;  // of all gates
  };
  std::vector<Of> layers;  // by pseudo-layer
  int64_t count = 0;       // elements

  // What cudnnGetRNNWeightParams names `id`. Nothing: there is no such id.
  struct Pair {
    WeightPlace matrix, bias;
  };
  std::optional<Pair> Find(const Network& network, int64_t pseudo_layer, int64_t id) const;
};

// Sequences of a batch, longest first: those that have a step are the first `active` ones, and the rows of
// all steps lie one after the other.
struct Sequences {
  explicit Sequences(const cudnnRNNDataStruct& data);
  std::vector<int64_t> order;          // the number in the batch of each sequence
  std::vector<int64_t> active, first;  // by step: how many have it, and the row of the longest
  int64_t rows = 0;

  int64_t batch() const { return static_cast<int64_t>(order.size()); }
  int64_t steps() const { return static_cast<int64_t>(active.size()); }
};

// Where an element of the data begins: step and place in the order of Sequences.
int64_t PlaceOf(const cudnnRNNDataStruct& data, const Sequences& sequences, int64_t step, int64_t place);
// Elements that data of this layout takes.
int64_t CountOf(const cudnnRNNDataStruct& data, const Sequences& sequences);

// The places of a training's intermediate results in the reserve, in elements of the type that is computed
// in.
struct Reserve {
  Reserve(const Network& network, int64_t rows, bool drops);
  static constexpr int64_t kNone = -1;
  struct OfLayer {
    int64_t output, scale;  // what is passed on, and what dropout multiplies it with, or kNone
  };
  struct OfPseudoLayer {
    int64_t gates, cells;          // `cells` of an LSTM; of a GRU the recurrent part of the new value
    int64_t d_gates, d_recurrent;  // the gradients; the second only of a GRU, where they differ
    int64_t d_output;              // where outputs are projected
  };
  std::vector<OfLayer> layers;
  std::vector<OfPseudoLayer> pseudo_layers;
  int64_t count = 0;
};

}  // namespace ptx2cpu::cudnn
