// A network over a batch of sequences, in float or double: rows of packed matrices, in the order of
// Sequences. LoadBlas must come before. Results do not depend on the number of threads.
#pragma once

#include <memory>

#include "runtime/cuda/libraries/dnn/dropout.h"
#include "runtime/cuda/libraries/dnn/matrix.h"
#include "runtime/cuda/libraries/dnn/recurrent/network.h"

namespace ptx2cpu::cudnn {

// What a cell has before the first step and after the last, of all pseudo-layers, by the number in the batch.
// Null: zeros are read, nothing is written.
template <typename R>
struct EndStates {
  R* h = nullptr;
  R* c = nullptr;
};

template <typename R>
class Pass {
 public:
  Pass(const Network& network, const Weights& weights, const Sequences& sequences, const Reserve& places,
       const R* w, R* reserve)
      : network_(network),
        weights_(weights),
        sequences_(sequences),
        places_(places),
        w_(w),
        reserve_(reserve) {}

  // The rows of the last layer's output.
  const R* Output() const { return reserve_ + places_.layers.back().output; }
  // Fills the reserve. `states` null: nothing is dropped.
  void Forward(const R* x, EndStates<R> before, EndStates<R> after, const cudnnDropoutStruct* dropout);
  // `dy` is changed where it is not null; `before` are the states, the others gradients.
  void BackwardData(std::unique_ptr<R[]> dy, EndStates<R> before, EndStates<R> d_after, R* dx,
                    EndStates<R> d_before);
  // After BackwardData, of the same reserve; adds to dw.
  void BackwardWeights(const R* x, EndStates<R> before, R* dw);

 private:
  struct Steps;
  R* At(int64_t place) const { return reserve_ + place; }
  int64_t Rows() const { return sequences_.rows; }
  bool Scales(int64_t layer) const;
  void Drop(int64_t layer, const cudnnDropoutStruct& dropout);
  // What a layer reads: x, or what the one below passes on; `made` holds it where it was not there.
  const R* InputOf(int64_t layer, const R* x, std::unique_ptr<R[]>& made) const;
  // The states of one pseudo-layer in the order of the sequences; written back by Store.
  std::unique_ptr<R[]> States(const R* all, int64_t pseudo_layer, int64_t size) const;
  void Store(const R* states, R* all, int64_t pseudo_layer, int64_t size) const;
  // For each row the values of the step before: rows of `of` with `stride`, or the first state.
  std::unique_ptr<R[]> Before(int64_t pseudo_layer, const R* of, int64_t stride, const R* initial,
                              int64_t size) const;
  void ForwardLayer(int64_t pseudo_layer, const R* input, EndStates<R> before, EndStates<R> after);
  void Project(int64_t pseudo_layer, int64_t rows, const R* from, R* h) const;
  void BackwardLayer(int64_t pseudo_layer, const R* d_output, EndStates<R> before, EndStates<R> d_after,
                     EndStates<R> d_before);
  void BackwardInput(int64_t pseudo_layer, R* d_input, bool adds) const;
  void BackwardWeightsOf(int64_t pseudo_layer, const R* input, EndStates<R> before, R* dw) const;

  const Network& network_;
  const Weights& weights_;
  const Sequences& sequences_;
  const Reserve& places_;
  const R* const w_;
  R* const reserve_;
};

// The steps of a direction in their order.
template <typename R>
struct Pass<R>::Steps {
  int64_t count;
  bool backwards;
  int64_t operator[](int64_t number) const { return backwards ? count - 1 - number : number; }
};

}  // namespace ptx2cpu::cudnn
