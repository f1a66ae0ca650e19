// A recurrent network as its documentation defines it, in plain loops over sequences, steps and gates; and
// the same network in cuDNN.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/libraries/cudnn_case.h"

namespace ptx2cpu {

using Values = std::vector<double>;

struct RnnCase {
  cuda::cudnnRNNMode_t cell = cuda::CUDNN_LSTM;
  cuda::cudnnRNNBiasMode_t bias = cuda::CUDNN_RNN_DOUBLE_BIAS;
  int directions = 1, layers = 1, input = 3, hidden = 4, projected = 4;
  bool skips = false, clips = false;
  cuda::cudnnRNNDataLayout_t layout = cuda::CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  std::vector<int> lengths = {4, 3, 3, 1};
  cuda::cudnnDataType_t type = cuda::CUDNN_DATA_DOUBLE;
  static constexpr double kLow = -0.3, kHigh = 0.25;  // of clipped cells

  int gates() const { return cell == cuda::CUDNN_LSTM ? 4 : cell == cuda::CUDNN_GRU ? 3 : 1; }
  int batch() const { return static_cast<int>(lengths.size()); }
  int steps() const { return *std::ranges::max_element(lengths) + 1; }  // one more than any sequence has
  int pseudo_layers() const { return layers * directions; }
  int InputOf(int layer) const { return layer == 0 ? input : directions * projected; }
  size_t States(int size) const { return static_cast<size_t>(pseudo_layers() * batch() * size); }
  // Where a vector begins in the data.
  size_t Place(int number, int step, int vector) const {
    if (layout == cuda::CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED)
      return static_cast<size_t>((step * batch() + number) * vector);
    if (layout == cuda::CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
      return static_cast<size_t>((number * steps() + step) * vector);
    int row = number;
    for (int before = 0; before < step; ++before)
      row += static_cast<int>(std::ranges::count_if(lengths, [&](int length) { return length > before; }));
    return static_cast<size_t>(row * vector);
  }
  size_t Count(int vector) const {
    if (layout != cuda::CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED)
      return static_cast<size_t>(steps() * batch() * vector);
    int rows = 0;
    for (const int length : lengths) rows += length;
    return static_cast<size_t>(rows * vector);
  }
};

// Places of the weights, as cudnnGetRNNWeightParams states them; negative: there are none.
struct RnnPlaces {
  std::vector<std::vector<long>> matrix, bias;  // by pseudo-layer and number
};

struct RnnResults {
  Values y, hy, cy;
};

// One cell's step: what h and c become.
inline void DefinedStep(const RnnCase& c, const RnnPlaces& places, int pseudo_layer, const Values& w,
                        const Values& x, Values& h, Values& cell) {
  const auto layer = static_cast<size_t>(pseudo_layer);
  const auto sum = [&](int id, int row, const Values& of) {
    const long matrix = places.matrix[layer][static_cast<size_t>(id)],
               bias = places.bias[layer][static_cast<size_t>(id)];
    double result = bias < 0 ? 0 : w[static_cast<size_t>(bias + row)];
    if (matrix < 0 && id < c.gates()) return result + of[static_cast<size_t>(row)];  // the input as it is
    const auto columns = static_cast<long>(of.size());
    for (long i = 0; i < columns; ++i)
      result += w[static_cast<size_t>(matrix + row * columns + i)] * of[static_cast<size_t>(i)];
    return result;
  };
  const auto in = [&](int gate, int row) { return sum(gate, row, x); };
  const auto before = [&](int gate, int row) { return sum(c.gates() + gate, row, h); };
  const auto both = [&](int gate, int row) { return in(gate, row) + before(gate, row); };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  Values fresh(static_cast<size_t>(c.hidden));
  for (int row = 0; row < c.hidden; ++row) {
    const auto i = static_cast<size_t>(row);
    if (c.cell == cuda::CUDNN_LSTM) {
      cell[i] = sigmoid(both(1, row)) * cell[i] + sigmoid(both(0, row)) * std::tanh(both(2, row));
      if (c.clips) cell[i] = std::clamp(cell[i], RnnCase::kLow, RnnCase::kHigh);
      fresh[i] = sigmoid(both(3, row)) * std::tanh(cell[i]);
    } else if (c.cell == cuda::CUDNN_GRU) {
      const double update = sigmoid(both(1, row));
      const double next = std::tanh(in(2, row) + sigmoid(both(0, row)) * before(2, row));
      fresh[i] = (1 - update) * next + update * h[i];
    } else {
      fresh[i] = c.cell == cuda::CUDNN_RNN_RELU ? std::max(both(0, row), 0.0) : std::tanh(both(0, row));
    }
  }
  if (c.projected == c.hidden) {
    h = fresh;
    return;
  }
  for (int row = 0; row < c.projected; ++row) {
    double result = 0;
    for (int i = 0; i < c.hidden; ++i)
      result += w[static_cast<size_t>(places.matrix[layer][8] + row * c.hidden + i)] *
                fresh[static_cast<size_t>(i)];
    h[static_cast<size_t>(row)] = result;
  }
}

inline RnnResults DefinedRnn(const RnnCase& c, const RnnPlaces& places, const Values& w, const Values& x,
                             const Values& hx, const Values& cx) {
  RnnResults results{Values(c.Count(c.directions * c.projected)), hx, cx};
  const auto state = [&](Values& all, int pseudo_layer, int number, int size) {
    return all.begin() + (pseudo_layer * c.batch() + number) * size;
  };
  for (int number = 0; number < c.batch(); ++number) {
    const int length = c.lengths[static_cast<size_t>(number)];
    std::vector<Values> inputs;
    for (int step = 0; step < length; ++step) {
      const auto from = x.begin() + static_cast<long>(c.Place(number, step, c.input));
      inputs.emplace_back(from, from + c.input);
    }
    for (int layer = 0; layer < c.layers; ++layer) {
      std::vector<Values> outputs(inputs.size(), Values(static_cast<size_t>(c.directions * c.projected)));
      for (int direction = 0; direction < c.directions; ++direction) {
        const int pseudo_layer = layer * c.directions + direction;
        const auto h_at = state(results.hy, pseudo_layer, number, c.projected);
        const auto c_at = state(results.cy, pseudo_layer, number, c.hidden);
        Values h(h_at, h_at + c.projected), cell(c_at, c_at + c.hidden);
        for (int i = 0; i < length; ++i) {
          const auto step = static_cast<size_t>(direction == 0 ? i : length - 1 - i);
          DefinedStep(c, places, pseudo_layer, w, inputs[step], h, cell);
          std::ranges::copy(h, outputs[step].begin() + direction * c.projected);
        }
        std::ranges::copy(h, h_at);
        std::ranges::copy(cell, c_at);
      }
      inputs = outputs;
    }
    for (int step = 0; step < length; ++step)
      std::ranges::copy(
          inputs[static_cast<size_t>(step)],
          results.y.begin() + static_cast<long>(c.Place(number, step, c.directions * c.projected)));
  }
  return results;
}

// The descriptors of a case.
class RnnDescriptors {
 public:
  explicit RnnDescriptors(const RnnCase& c, cuda::cudnnDropoutDescriptor_t dropout = nullptr) : case_(c) {
    using namespace cuda;
    Cudnn("cudnnCreateRNNDescriptor", &network);
    Cudnn("cudnnSetRNNDescriptor_v8", network, CUDNN_RNN_ALGO_STANDARD, c.cell, c.bias,
          c.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
          c.skips ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT, c.type,
          c.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, c.input,
          c.hidden, c.projected, c.layers, dropout, 1u);
    if (c.clips) Cudnn("cudnnRNNSetClip_v9", network, CUDNN_RNN_CLIP_MINMAX, RnnCase::kLow, RnnCase::kHigh);
    for (auto* data : {&x, &y}) {
      Cudnn("cudnnCreateRNNDataDescriptor", data);
      Cudnn("cudnnSetRNNDataDescriptor", *data, c.type, c.layout, c.steps(), c.batch(),
            data == &x ? c.input : c.directions * c.projected, static_cast<const int*>(c.lengths.data()),
            static_cast<void*>(nullptr));
    }
    for (auto* state : {&h, &cell}) {
      const int extents[] = {c.pseudo_layers(), c.batch(), state == &h ? c.projected : c.hidden};
      const int strides[] = {extents[1] * extents[2], extents[2], 1};
      Cudnn("cudnnCreateTensorDescriptor", state);
      Cudnn("cudnnSetTensorNdDescriptor", *state, c.type, 3, static_cast<const int*>(extents),
            static_cast<const int*>(strides));
    }
  }
  ~RnnDescriptors() {
    Cudnn().Call("cudnnDestroyRNNDescriptor", network);
    for (auto* data : {x, y}) Cudnn().Call("cudnnDestroyRNNDataDescriptor", data);
    for (auto* state : {h, cell}) Cudnn().Call("cudnnDestroyTensorDescriptor", state);
  }
  RnnDescriptors(const RnnDescriptors&) = delete;
  RnnDescriptors& operator=(const RnnDescriptors&) = delete;

  size_t WeightBytes(cuda::cudnnHandle_t handle) const {
    size_t bytes = 0;
    Cudnn("cudnnGetRNNWeightSpaceSize", handle, network, &bytes);
    return bytes;
  }
  RnnPlaces Places(cuda::cudnnHandle_t handle, size_t element) const {
    using namespace cuda;
    RnnPlaces places;
    cudnnTensorDescriptor_t layout[2] = {};
    for (auto& one : layout) Cudnn("cudnnCreateTensorDescriptor", &one);
    const auto* const base = reinterpret_cast<const char*>(uintptr_t{4096});
    for (int pseudo_layer = 0; pseudo_layer < case_.pseudo_layers(); ++pseudo_layer) {
      places.matrix.emplace_back(), places.bias.emplace_back();
      for (int id = 0; id < 2 * case_.gates() + (case_.cell == CUDNN_LSTM ? 1 : 0); ++id) {
        void *matrix = nullptr, *bias = nullptr;
        Cudnn("cudnnGetRNNWeightParams", handle, network, pseudo_layer, WeightBytes(handle),
              static_cast<const void*>(base), id, layout[0], &matrix, layout[1], &bias);
        const auto place = [&](const void* at) {
          return at == nullptr ? -1 : (static_cast<const char*>(at) - base) / static_cast<long>(element);
        };
        places.matrix.back().push_back(place(matrix)), places.bias.back().push_back(place(bias));
        CheckExtents(layout[0], matrix != nullptr, pseudo_layer, id);
      }
    }
    for (auto& one : layout) Cudnn().Call("cudnnDestroyTensorDescriptor", one);
    return places;
  }

  cuda::cudnnRNNDescriptor_t network = nullptr;
  cuda::cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
  cuda::cudnnTensorDescriptor_t h = nullptr, cell = nullptr;

 private:
  void CheckExtents(cuda::cudnnTensorDescriptor_t layout, bool given, int pseudo_layer, int id) const {
    cuda::cudnnDataType_t type{};
    int count = -1, extents[3] = {}, strides[3] = {};
    Cudnn("cudnnGetTensorNdDescriptor", layout, 3, &type, &count, &extents[0], &strides[0]);
    CHECK(count == (given ? 3 : 0));
    if (!given) return;
    const bool projection = id == 2 * case_.gates();
    CHECK(extents[1] == (projection ? case_.projected : case_.hidden));
    CHECK(extents[2] == (projection            ? case_.hidden
                         : id >= case_.gates() ? case_.projected
                                               : case_.InputOf(pseudo_layer / case_.directions)));
    CHECK(strides[1] == extents[2]);
  }
  const RnnCase case_;
};

}  // namespace ptx2cpu
