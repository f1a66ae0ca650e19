// One step of one cell: the results of gates on the sums that they receive, and the gradients.
//
// RNN: h = act(a). LSTM: c = f c' + i g, h = o tanh(c), with a projection after it. GRU, as cuDNN has it:
// n = tanh(a_n + r q), h = (1 - z) n + z h', where q is the recurrent sum. h' and c' are those of the step
// before. K. Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014); S. Hochreiter and
// J. Schmidhuber, Long Short-Term Memory (1997).
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/cuda/libraries/dnn/recurrent/network.h"

namespace ptx2cpu::cudnn {

template <typename R>
R Sigmoid(R x) {
  return 1 / (1 + std::exp(-x));
}

// NaN in a cell stays where NaN is propagated, and becomes the lower bound elsewhere.
template <typename R>
R Clipped(const Network& network, R c) {
  const R low = static_cast<R>(network.low), high = static_cast<R>(network.high);
  return network.keeps_nan ? std::clamp(c, low, high) : std::fmin(std::fmax(c, low), high);
}

// A cell's rows; all gates one after the other, in the order of their numbers.
template <typename R>
struct CellRow {
  R* gates;            // in: the sums of the input; out: the gates
  const R* recurrent;  // the sums of the output of the step before
  const R* h_before;   // what a GRU keeps a part of
  const R* c_before;   // of an LSTM
  R* cells;            // an LSTM's c; a GRU's q
  R* h;                // out
};

template <typename R>
void StepForward(const Network& network, const CellRow<R>& row) {
  const int64_t n = network.hidden;
  R* const g = row.gates;
  const R* const r = row.recurrent;
  if (network.cell == CUDNN_LSTM) {
    for (int64_t i = 0; i < n; ++i) {
      const R in = Sigmoid(g[i] + r[i]), forget = Sigmoid(g[n + i] + r[n + i]);
      const R fresh = std::tanh(g[2 * n + i] + r[2 * n + i]), out = Sigmoid(g[3 * n + i] + r[3 * n + i]);
      R c = forget * row.c_before[i] + in * fresh;
      if (network.clips) c = Clipped(network, c);
      g[i] = in, g[n + i] = forget, g[2 * n + i] = fresh, g[3 * n + i] = out;
      row.cells[i] = c;
      row.h[i] = out * std::tanh(c);
    }
  } else if (network.cell == CUDNN_GRU) {
    for (int64_t i = 0; i < n; ++i) {
      const R reset = Sigmoid(g[i] + r[i]), keep = Sigmoid(g[n + i] + r[n + i]), q = r[2 * n + i];
      const R fresh = std::tanh(g[2 * n + i] + reset * q);
      g[i] = reset, g[n + i] = keep, g[2 * n + i] = fresh;
      row.cells[i] = q;
      row.h[i] = (1 - keep) * fresh + keep * row.h_before[i];
    }
  } else {
    const bool relu = network.cell == CUDNN_RNN_RELU;
    for (int64_t i = 0; i < n; ++i) {
      const R sum = g[i] + r[i];
      row.h[i] = g[i] = relu ? std::max(sum, R{0}) : std::tanh(sum);
    }
  }
}

// The gradients of a cell's rows.
template <typename R>
struct CellGradient {
  const R* gates;
  const R* cells;
  const R* h_before;
  const R* c_before;
  const R* dh;
  R* dc;           // in: of this step's c; out: of c before
  R* d_gates;      // of the sums of the input
  R* d_recurrent;  // of the recurrent sums; the same memory where they are the same
  R* dh_before;    // out: what comes past the sums
};

template <typename R>
void StepBackward(const Network& network, const CellGradient<R>& row) {
  const int64_t n = network.hidden;
  const R* const g = row.gates;
  R* const d = row.d_gates;
  if (network.cell == CUDNN_LSTM) {
    for (int64_t i = 0; i < n; ++i) {
      const R in = g[i], forget = g[n + i], fresh = g[2 * n + i], out = g[3 * n + i], c = row.cells[i];
      const R bent = std::tanh(c);
      const bool inside =
          !network.clips || (c > static_cast<R>(network.low) && c < static_cast<R>(network.high));
      const R dc = inside ? row.dc[i] + row.dh[i] * out * (1 - bent * bent) : R{0};
      d[i] = dc * fresh * in * (1 - in);
      d[n + i] = dc * row.c_before[i] * forget * (1 - forget);
      d[2 * n + i] = dc * in * (1 - fresh * fresh);
      d[3 * n + i] = row.dh[i] * bent * out * (1 - out);
      row.dc[i] = dc * forget;
    }
  } else if (network.cell == CUDNN_GRU) {
    for (int64_t i = 0; i < n; ++i) {
      const R reset = g[i], keep = g[n + i], fresh = g[2 * n + i], dh = row.dh[i];
      const R d_fresh = dh * (1 - keep) * (1 - fresh * fresh);
      d[i] = d_fresh * row.cells[i] * reset * (1 - reset);
      d[n + i] = dh * (row.h_before[i] - fresh) * keep * (1 - keep);
      d[2 * n + i] = d_fresh;
      row.d_recurrent[i] = d[i], row.d_recurrent[n + i] = d[n + i];
      row.d_recurrent[2 * n + i] = d_fresh * reset;
      row.dh_before[i] = dh * keep;
    }
  } else {
    const bool relu = network.cell == CUDNN_RNN_RELU;
    for (int64_t i = 0; i < n; ++i) d[i] = row.dh[i] * (relu ? static_cast<R>(g[i] > 0) : 1 - g[i] * g[i]);
  }
}

}  // namespace ptx2cpu::cudnn
