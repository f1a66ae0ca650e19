#include "runtime/cuda/libraries/dnn/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "runtime/cuda/libraries/dnn/matrix.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

Heads::Heads(const cudnnAttnStruct& from)
    : count(from.heads),
      scaler(from.scaler),
      has_biases((from.mode & CUDNN_ATTN_ENABLE_PROJ_BIASES) != 0),
      one_to_one((from.mode & CUDNN_ATTN_QUERYMAP_ONE_TO_ONE) != 0),
      max_queries(from.max_queries),
      max_keys(from.max_keys),
      max_batch(from.max_batch),
      max_beam(from.max_beam) {
  for (size_t i = kQuery; i <= kValue; ++i) {
    size[i] = from.size[i];
    projects[i] = from.projected[i] != 0;
    projected[i] = projects[i] ? from.projected[i] : size[i];
  }
  size[kOutput] = projected[kValue];
  projects[kOutput] = from.projected[kOutput] != 0;
  projected[kOutput] = projects[kOutput] ? from.projected[kOutput] : size[kOutput];
}

AttentionWeights::AttentionWeights(const Heads& heads) {
  for (size_t i = 0; i < kOperands; ++i) {
    matrix[i] = heads.projects[i] ? count : -1;
    if (heads.projects[i]) count += heads.count * heads.projected[i] * heads.size[i];
  }
  for (size_t i = 0; i < kOperands; ++i) {
    bias[i] = heads.projects[i] && heads.has_biases ? count : -1;
    // The output has one bias for all heads, which are summed.
    if (bias[i] >= 0) count += (i == kOutput ? 1 : heads.count) * heads.projected[i];
  }
}

namespace {

// What one head reads of an operand: rows times its matrix, with its bias; or the rows themselves.
template <typename R>
class Projection {
 public:
  Projection(const Heads& heads, const AttentionWeights& places, const R* w, Operand operand, int64_t head,
             int64_t count, const R* rows)
      : values_(rows) {
    if (!heads.projects[operand]) return;
    const int64_t width = heads.projected[operand], size = heads.size[operand];
    made_ = Storage<R>(count * width);
    MultiplyHere<R>('N', 'N', count, width, size, rows, size, w + places.MatrixOf(heads, operand, head),
                    places.RowStep(heads, operand), 0, made_.get(), width);
    for (int64_t i = 0; places.bias[operand] >= 0 && i < count * width; ++i)
      made_[i] += w[places.bias[operand] + head * width + i % width];
    values_ = made_.get();
  }
  const R* get() const { return values_; }

 private:
  std::unique_ptr<R[]> made_;
  const R* values_;
};

// The gradients of what Projection read, from those of its values.
template <typename R>
void ProjectBackward(const Heads& heads, const AttentionWeights& places, const R* w, Operand operand,
                     int64_t head, int64_t count, const R* rows, const R* d_values, R* d_rows, R* dw) {
  const int64_t width = heads.projected[operand], size = heads.size[operand];
  if (!heads.projects[operand]) {
    for (int64_t i = 0; d_rows != nullptr && i < count * size; ++i) d_rows[i] += d_values[i];
    return;
  }
  const int64_t matrix = places.MatrixOf(heads, operand, head), step = places.RowStep(heads, operand);
  if (d_rows != nullptr)
    MultiplyHere<R>('N', 'T', count, size, width, d_values, width, w + matrix, step, 1, d_rows, size);
  if (dw == nullptr) return;
  MultiplyHere<R>('T', 'N', size, width, count, rows, size, d_values, width, 1, dw + matrix, step);
  for (int64_t i = 0; places.bias[operand] >= 0 && i < count * width; ++i)
    dw[places.bias[operand] + head * width + i % width] += d_values[i];
}

// Scores become weights: zero outside of the window.
template <typename R>
void SoftMax(const Window& window, int64_t keys, R* row) {
  const int64_t begin = std::clamp<int64_t>(window.begin, 0, keys),
                end = std::clamp<int64_t>(window.end, begin, keys);
  const R largest = begin == end ? R{0} : *std::max_element(row + begin, row + end);
  R sum = 0;
  for (int64_t i = 0; i < keys; ++i) {
    row[i] = i < begin || i >= end ? R{0} : std::exp(row[i] - largest);
    sum += row[i];
  }
  for (int64_t i = begin; i < end; ++i) row[i] /= sum;
}

// Weights as values are multiplied with them.
template <typename R>
std::unique_ptr<R[]> Kept(const AttentionRows<R>& rows, const R* weights, const R* kept) {
  auto result = Storage<R>(rows.queries * rows.keys);
  for (int64_t i = 0; i < rows.queries * rows.keys; ++i)
    result[i] = kept == nullptr ? weights[i] : weights[i] * kept[i];
  return result;
}

}  // namespace

template <typename R>
void Attend(const Heads& heads, const AttentionWeights& places, const R* w,
            const std::vector<Window>& windows, const AttentionRows<R>& rows, R* out) {
  const int64_t queries = rows.queries, keys = rows.keys, inner = heads.projected[kQuery];
  const int64_t value = heads.projected[kValue], width = heads.width();
  std::fill_n(out, queries * width, R{0});
  for (int64_t head = 0; head < heads.count; ++head) {
    const Projection<R> q(heads, places, w, kQuery, head, queries, rows.q),
        k(heads, places, w, kKey, head, keys, rows.k), v(heads, places, w, kValue, head, keys, rows.v);
    R* const weights = rows.weights + head * queries * keys;
    MultiplyHere<R>('N', 'T', queries, keys, inner, q.get(), inner, k.get(), inner, 0, weights, keys);
    for (int64_t i = 0; i < queries * keys; ++i) weights[i] *= static_cast<R>(heads.scaler);
    for (int64_t i = 0; i < queries; ++i) SoftMax(windows[static_cast<size_t>(i)], keys, weights + i * keys);
    const auto kept = Kept(rows, weights, rows.kept == nullptr ? nullptr : rows.kept + head * queries * keys);
    if (!heads.projects[kOutput]) {
      MultiplyHere<R>('N', 'N', queries, value, keys, kept.get(), keys, v.get(), value, 0, out + head * value,
                      width);
      continue;
    }
    const auto mixed = Storage<R>(queries * value);
    MultiplyHere<R>('N', 'N', queries, value, keys, kept.get(), keys, v.get(), value, 0, mixed.get(), value);
    MultiplyHere<R>('N', 'N', queries, width, value, mixed.get(), value,
                    w + places.MatrixOf(heads, kOutput, head), width, 1, out, width);
  }
  for (int64_t i = 0; places.bias[kOutput] >= 0 && i < queries * width; ++i)
    out[i] += w[places.bias[kOutput] + i % width];
}

namespace {

// The gradient of scores from that of weights as they were kept, in place.
template <typename R>
void SoftMaxBackward(const AttentionRows<R>& rows, const R* weights, const R* kept, R scaler, R* d) {
  for (int64_t i = 0; i < rows.queries; ++i) {
    const int64_t at = i * rows.keys;
    R sum = 0;
    for (int64_t j = 0; j < rows.keys; ++j) {
      if (kept != nullptr) d[at + j] *= kept[at + j];
      sum += d[at + j] * weights[at + j];
    }
    for (int64_t j = 0; j < rows.keys; ++j) d[at + j] = scaler * weights[at + j] * (d[at + j] - sum);
  }
}

template <typename R>
void BackwardHead(const Heads& heads, const AttentionWeights& places, const R* w,
                  const AttentionRows<R>& rows, const R* d_out, const AttentionGradients<R>& to,
                  int64_t head) {
  const int64_t queries = rows.queries, keys = rows.keys, inner = heads.projected[kQuery];
  const int64_t value = heads.projected[kValue], width = heads.width();
  const Projection<R> q(heads, places, w, kQuery, head, queries, rows.q),
      k(heads, places, w, kKey, head, keys, rows.k), v(heads, places, w, kValue, head, keys, rows.v);
  const R* const weights = rows.weights + head * queries * keys;
  const R* const kept_of = rows.kept == nullptr ? nullptr : rows.kept + head * queries * keys;
  const auto kept = Kept(rows, weights, kept_of);
  const auto d_mixed = Storage<R>(queries * value), d_scores = Storage<R>(queries * keys);
  if (heads.projects[kOutput]) {
    const int64_t matrix = places.MatrixOf(heads, kOutput, head);
    MultiplyHere<R>('N', 'T', queries, value, width, d_out, width, w + matrix, width, 0, d_mixed.get(),
                    value);
    if (to.dw != nullptr) {
      const auto mixed = Storage<R>(queries * value);
      MultiplyHere<R>('N', 'N', queries, value, keys, kept.get(), keys, v.get(), value, 0, mixed.get(),
                      value);
      MultiplyHere<R>('T', 'N', value, width, queries, mixed.get(), value, d_out, width, 1, to.dw + matrix,
                      width);
    }
  } else {
    for (int64_t i = 0; i < queries; ++i)
      std::copy_n(d_out + i * width + head * value, value, &d_mixed[i * value]);
  }
  const auto dq = Storage<R>(queries * inner), dk = Storage<R>(keys * inner), dv = Storage<R>(keys * value);
  MultiplyHere<R>('T', 'N', keys, value, queries, kept.get(), keys, d_mixed.get(), value, 0, dv.get(), value);
  MultiplyHere<R>('N', 'T', queries, keys, value, d_mixed.get(), value, v.get(), value, 0, d_scores.get(),
                  keys);
  SoftMaxBackward(rows, weights, kept_of, static_cast<R>(heads.scaler), d_scores.get());
  MultiplyHere<R>('N', 'N', queries, inner, keys, d_scores.get(), keys, k.get(), inner, 0, dq.get(), inner);
  MultiplyHere<R>('T', 'N', keys, inner, queries, d_scores.get(), keys, q.get(), inner, 0, dk.get(), inner);
  ProjectBackward<R>(heads, places, w, kQuery, head, queries, rows.q, dq.get(), to.dq, to.dw);
  ProjectBackward<R>(heads, places, w, kKey, head, keys, rows.k, dk.get(), to.dk, to.dw);
  ProjectBackward<R>(heads, places, w, kValue, head, keys, rows.v, dv.get(), to.dv, to.dw);
}

}  // namespace

template <typename R>
void AttendBackward(const Heads& heads, const AttentionWeights& places, const R* w,
                    const AttentionRows<R>& rows, const R* d_out, const AttentionGradients<R>& to) {
  for (int64_t head = 0; head < heads.count; ++head) BackwardHead(heads, places, w, rows, d_out, to, head);
  const int64_t width = heads.width();
  for (int64_t i = 0; to.dw != nullptr && places.bias[kOutput] >= 0 && i < rows.queries * width; ++i)
    to.dw[places.bias[kOutput] + i % width] += d_out[i];
}

template void Attend(const Heads&, const AttentionWeights&, const float*, const std::vector<Window>&,
                     const AttentionRows<float>&, float*);
template void Attend(const Heads&, const AttentionWeights&, const double*, const std::vector<Window>&,
                     const AttentionRows<double>&, double*);
template void AttendBackward(const Heads&, const AttentionWeights&, const float*, const AttentionRows<float>&,
                             const float*, const AttentionGradients<float>&);
template void AttendBackward(const Heads&, const AttentionWeights&, const double*,
                             const AttentionRows<double>&, const double*, const AttentionGradients<double>&);

}  // namespace ptx2cpu::cudnn
