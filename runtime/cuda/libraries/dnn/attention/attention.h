// Multi-head attention: for each head, out += Wo (soft-max of scaler * (Wq q)(Wk k), over k) (Wv v), of one
// sequence of queries and the keys and values that belong to it (A. Vaswani et al., Attention Is All You
// Need, 2017).
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

// The operands in the order of cudnnMultiHeadAttnWeightKind_t.
enum Operand : uint8_t { kQuery, kKey, kValue, kOutput, kOperands };

// The sizes of a descriptor.
struct Heads {
  explicit Heads(const cudnnAttnStruct& descriptor);

  int64_t count;
  double scaler;
  bool has_biases, one_to_one;
  // The sizes of a vector before and after its projection, for each operand; equal where there is no
  // projection. An output's sizes are those of one head.
  int64_t size[kOperands], projected[kOperands];
  bool projects[kOperands];
  int64_t max_queries, max_keys, max_batch, max_beam;

  // Elements of an output vector.
  int64_t width() const { return projects[kOutput] ? projected[kOutput] : count * size[kOutput]; }
};

// Weights: for each operand that is projected a matrix, then the biases in the same order. As recorded on an
// H200, a matrix has a row for each element of a vector, in which the projected elements of all heads follow
// each other; the output's has the rows of one head after those of another.
struct AttentionWeights {
  explicit AttentionWeights(const Heads& heads);
  int64_t matrix[kOperands], bias[kOperands];  // places in elements; -1: there is none
  int64_t count = 0;

  // The distance of two heads, and of two rows of one.
  static int64_t HeadStep(const Heads& heads, Operand operand) {
    return operand == kOutput ? heads.projected[operand] * heads.size[operand] : heads.projected[operand];
  }
  static int64_t RowStep(const Heads& heads, Operand operand) {
    return operand == kOutput ? heads.projected[operand] : heads.count * heads.projected[operand];
  }
  int64_t MatrixOf(const Heads& heads, Operand operand, int64_t head) const {
    return matrix[operand] + head * HeadStep(heads, operand);
  }
};

// Rows of one sequence of queries and one of keys and values, and what is computed of them.
template <typename R>
struct AttentionRows {
  int64_t queries = 0, keys = 0;
  const R *q = nullptr, *k = nullptr, *v = nullptr;
  // For all heads: soft-max, queries x keys of the descriptor's maxima; and what dropout multiplies it with,
  // or null.
  R* weights = nullptr;
  const R* kept = nullptr;
};

// A window of keys, for each query.
struct Window {
  int64_t begin, end;
};

// out, `queries` rows of heads.width(), without residuals; fills rows.weights.
template <typename R>
void Attend(const Heads& heads, const AttentionWeights& places, const R* w,
            const std::vector<Window>& windows, const AttentionRows<R>& rows, R* out);
// Adds to those gradients that are not null, from d_out and rows.weights.
template <typename R>
struct AttentionGradients {
  R *dq = nullptr, *dk = nullptr, *dv = nullptr, *dw = nullptr;
};
template <typename R>
void AttendBackward(const Heads& heads, const AttentionWeights& places, const R* w,
                    const AttentionRows<R>& rows, const R* d_out, const AttentionGradients<R>& gradients);

}  // namespace ptx2cpu::cudnn
