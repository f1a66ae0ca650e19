// Multi-head attention. Sequences have the lengths that descriptors state; no workspace is needed.
#include <algorithm>

#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/attention/attention.h"
#include "runtime/cuda/libraries/dnn/attention/sequence_data.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/dropout.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// A copy of what the descriptors state when the function is called.
struct Call {
  Call(const cudnnAttnStruct& descriptor, const cudnnSeqDataStruct& query, const cudnnSeqDataStruct& key,
       const cudnnSeqDataStruct& value, const cudnnSeqDataStruct& output)
      : heads(descriptor),
        places(heads),
        reserve(heads, descriptor.type),
        type(descriptor.type),
        q(query),
        k(key),
        v(value),
        out(output),
        drops(descriptor.dropout != nullptr),
        drops_output(descriptor.output_dropout != nullptr),
        dropout(descriptor.dropout == nullptr ? cudnnDropoutStruct{} : *descriptor.dropout),
        output_dropout(descriptor.output_dropout == nullptr ? cudnnDropoutStruct{}
                                                            : *descriptor.output_dropout) {}

  Heads heads;
  AttentionWeights places;
  AttentionReserve reserve;
  cudnnDataType_t type;
  cudnnSeqDataStruct q, k, v, out;
  bool drops, drops_output;  // it has these descriptors
  cudnnDropoutStruct dropout, output_dropout;

  int64_t beams() const { return q.extents[CUDNN_SEQDATA_BEAM_DIM]; }
  int64_t sequences() const { return q.extents[CUDNN_SEQDATA_BATCH_DIM] * beams(); }
  // The keys of a sequence of queries.
  int64_t KeysOf(int64_t sequence) const { return heads.one_to_one ? sequence : sequence / beams(); }

  bool Fits() const {
    const auto is = [&](const cudnnSeqDataStruct& data, int64_t vector, int64_t most, bool keys) {
      return data.type == type && data.extents[CUDNN_SEQDATA_VECT_DIM] == vector &&
             data.extents[CUDNN_SEQDATA_TIME_DIM] <= most &&
             data.extents[CUDNN_SEQDATA_BATCH_DIM] == q.extents[CUDNN_SEQDATA_BATCH_DIM] &&
             data.extents[CUDNN_SEQDATA_BEAM_DIM] == (keys && !heads.one_to_one ? 1 : beams());
    };
    return is(q, heads.size[kQuery], heads.max_queries, false) &&
           is(k, heads.size[kKey], heads.max_keys, true) && is(v, heads.size[kValue], heads.max_keys, true) &&
           is(out, heads.width(), heads.max_queries, false) && k.lengths == v.lengths &&
           q.lengths == out.lengths && q.extents[CUDNN_SEQDATA_BATCH_DIM] <= heads.max_batch &&
           beams() <= heads.max_beam;
  }
  // A descriptor without projections has no weights; one element is read instead.
  Layout WeightLayout() const { return {type, {std::max<int64_t>(places.count, 1)}, {1}}; }
  const void* WeightsAt(const void* weights) const {
    static constexpr double kNone = 0;
    return places.count == 0 ? &kNone : weights;
  }
  // As recorded, training with a descriptor of dropout needs its states, whatever is dropped.
  bool LacksStates() const {
    return (drops && dropout.states == nullptr) || (drops_output && output_dropout.states == nullptr);
  }
  size_t WeightBytes() const { return static_cast<size_t>(places.count * BytesOf(type)); }
  template <typename R>
  AttentionRows<R> RowsOf(const SequenceRows<R>& queries, const SequenceRows<R>& keys,
                          const SequenceRows<R>& values, int64_t sequence, R* weights, const R* kept) const {
    const int64_t of = KeysOf(sequence);
    return {.queries = q.lengths[static_cast<size_t>(sequence)],
            .keys = k.lengths[static_cast<size_t>(of)],
            .q = queries.At(sequence),
            .k = keys.At(of),
            .v = values.At(of),
            .weights = weights + sequence * reserve.sequence,
            .kept = kept == nullptr ? nullptr : kept + sequence * reserve.sequence};
  }
};

// What each of `count` elements is multiplied with.
template <typename R>
void Drop(const cudnnDropoutStruct& dropout, int64_t count, R* scale) {
  const DropoutStates states = NextCall(dropout.states);
  const R kept = dropout.rate < 1 ? 1 / (1 - static_cast<R>(dropout.rate)) : R{0};
  for (int64_t i = 0; i < count; ++i) scale[i] = Uniform(states, i) >= dropout.rate ? kept : R{0};
}
bool Drops(const cudnnDropoutStruct& dropout) { return dropout.rate > 0 && dropout.states != nullptr; }

// As if every sequence had all steps.
cudnnSeqDataStruct WithAllSteps(cudnnSeqDataStruct data) {
  std::ranges::fill(data.lengths, data.extents[CUDNN_SEQDATA_TIME_DIM]);
  return data;
}

struct ForwardPointers {
  const void *q, *k, *v, *residuals, *w;
  void *out, *reserve;
};

template <typename R>
void Forward(const Call& call, const std::vector<Window>& windows, int step, const ForwardPointers& at) {
  const SequenceRows<R> q(call.q, at.q), k(call.k, at.k), v(call.v, at.v), out(call.out);
  const Packed<R> w(call.WeightLayout(), call.WeightsAt(at.w));
  const int64_t all = call.sequences() * call.reserve.sequence, width = call.heads.width();
  const auto own = at.reserve == nullptr ? Storage<R>(all) : nullptr;
  R* const reserve = static_cast<R*>(at.reserve);
  R* const weights = at.reserve == nullptr ? own.get() : reserve;
  R* kept = nullptr;
  if (reserve != nullptr && Drops(call.dropout)) Drop(call.dropout, all, kept = reserve + call.reserve.kept);
  R* scale = nullptr;
  if (reserve != nullptr && Drops(call.output_dropout))
    Drop(call.output_dropout, call.sequences() * call.heads.max_queries * width,
         scale = reserve + call.reserve.output);
  libraries::ForEach(call.sequences(), [&](int64_t i) {
    const AttentionRows<R> rows = call.RowsOf<R>(q, k, v, i, weights, kept);
    Attend<R>(call.heads, call.places, w.get(), windows, rows, out.At(i));
    // As recorded, a step that the sequence has not is the projection of nothing.
    const int64_t bias = call.places.bias[kOutput], steps = call.out.extents[CUDNN_SEQDATA_TIME_DIM];
    for (int64_t n = rows.queries * width; bias >= 0 && n < steps * width; ++n)
      out.At(i)[n] = w.get()[bias + n % width];
    for (int64_t n = 0; scale != nullptr && n < rows.queries * width; ++n)
      out.At(i)[n] *= scale[i * call.heads.max_queries * width + n];
  });
  if (at.residuals != nullptr) {
    const SequenceRows<R> residuals(WithAllSteps(call.q), at.residuals);  // laid out as the queries
    for (int64_t n = 0; n < call.sequences() * call.out.extents[CUDNN_SEQDATA_TIME_DIM] * width; ++n)
      out.At(0)[n] += residuals.At(0)[n];
  }
  out.Write(call.out, at.out, step);
}

struct BackwardPointers {
  const void *q, *k, *v, *dout, *w;
  void *dq, *dk, *dv, *dw, *reserve;
  bool adds;
};

// Steps that the sequences have not are the output's bias, and their gradients the bias's.
template <typename R>
void AddUnusedSteps(const Call& call, const void* dout, R* dw) {
  const int64_t bias = call.places.bias[kOutput], width = call.heads.width();
  if (bias < 0) return;
  const int steps = call.out.extents[CUDNN_SEQDATA_TIME_DIM];
  const SequenceRows<R> rows(WithAllSteps(call.out), dout);
  for (int64_t i = 0; i < call.sequences(); ++i) {
    for (int64_t n = call.out.lengths[static_cast<size_t>(i)] * width; n < steps * width; ++n)
      dw[bias + n % width] += rows.At(i)[n];
  }
}

template <typename R>
void Backward(const Call& call, const BackwardPointers& at) {
  const SequenceRows<R> q(call.q, at.q), k(call.k, at.k), v(call.v, at.v), dout(call.out, at.dout);
  const SequenceRows<R> dq(call.q), dk(call.k), dv(call.v);
  const Layout layout = call.WeightLayout();
  const Packed<R> w(layout, call.WeightsAt(at.w));
  const auto dw = at.dw == nullptr ? nullptr : Storage<R>(layout.Count());
  if (dw != nullptr) std::fill_n(dw.get(), layout.Count(), R{0});
  R* const reserve = static_cast<R*>(at.reserve);
  const R* const kept = Drops(call.dropout) ? reserve + call.reserve.kept : nullptr;
  const int64_t width = call.heads.width();
  for (int64_t i = 0; i < call.sequences(); ++i) {
    const AttentionRows<R> rows = call.RowsOf<R>(q, k, v, i, reserve, kept);
    const R* const scale = reserve + call.reserve.output + i * call.heads.max_queries * width;
    for (int64_t n = 0; Drops(call.output_dropout) && n < rows.queries * width; ++n)
      dout.At(i)[n] *= scale[n];
    const int64_t of = call.KeysOf(i);
    AttendBackward<R>(call.heads, call.places, w.get(), rows, dout.At(i),
                      {dq.At(i), dk.At(of), dv.At(of), dw.get()});
  }
  if (dw != nullptr) AddUnusedSteps<R>(call, at.dout, dw.get());
  if (at.dq != nullptr) dq.Write(call.q, at.dq);
  if (at.dk != nullptr) dk.Write(call.k, at.dk);
  if (at.dv != nullptr) dv.Write(call.v, at.dv);
  if (dw != nullptr && call.places.count != 0) Blend<R>(layout, at.dw, dw.get(), 1, at.adds ? 1 : 0);
}

cudnnStatus_t SubmitBackward(cudnnHandle_t handle, const char* name, Call call, const BackwardPointers& at,
                             size_t weights_size, size_t reserve_size) {
  if (!call.Fits() || weights_size < call.WeightBytes() || reserve_size < call.reserve.bytes ||
      (call.places.count != 0 && at.w == nullptr))
    return CUDNN_STATUS_BAD_PARAM;
  if (at.dw == nullptr && call.LacksStates()) return CUDNN_STATUS_EXECUTION_FAILED;
  if (!libraries::LoadBlas(name)) return CUDNN_STATUS_NOT_SUPPORTED;
  return OnStream(handle, name, [call = std::move(call), at] {
    WithReal(call.type, [&]<typename R>(R) { Backward<R>(call, at); });
  });
}

}  // namespace

cudnnStatus_t cudnnMultiHeadAttnForward(cudnnHandle_t handle, cudnnAttnDescriptor_t attention, int step,
                                        const int windowBegins[], const int windowEnds[], const int[],
                                        const int[], cudnnSeqDataDescriptor_t qData, const void* q,
                                        const void* residuals, cudnnSeqDataDescriptor_t kData, const void* k,
                                        cudnnSeqDataDescriptor_t vData, const void* v,
                                        cudnnSeqDataDescriptor_t oData, void* out, size_t weightsSize,
                                        const void* weights, size_t, void*, size_t reserveSize,
                                        void* reserve) {
  if (!AllGiven(handle, attention, windowBegins, windowEnds, qData, q, kData, k, vData, v, oData, out))
    return CUDNN_STATUS_BAD_PARAM;
  Call call(*attention, *qData, *kData, *vData, *oData);
  const int queries = qData->extents[CUDNN_SEQDATA_TIME_DIM];
  if (!call.Fits() || weightsSize < call.WeightBytes() || (call.places.count != 0 && weights == nullptr) ||
      step >= queries || (reserve != nullptr && (step >= 0 || reserveSize < call.reserve.bytes)))
    return CUDNN_STATUS_BAD_PARAM;
  // Residuals are added to vectors of their size.
  if (residuals != nullptr && call.heads.size[kQuery] != call.heads.width()) return CUDNN_STATUS_BAD_PARAM;
  if (reserve != nullptr && call.LacksStates()) return CUDNN_STATUS_EXECUTION_FAILED;
  std::vector<Window> windows;
  for (int i = 0; i < queries; ++i) windows.push_back({windowBegins[i], windowEnds[i]});
  if (!libraries::LoadBlas("cudnnMultiHeadAttnForward")) return CUDNN_STATUS_NOT_SUPPORTED;
  return OnStream(handle, "cudnnMultiHeadAttnForward",
                  [=, call = std::move(call), windows = std::move(windows)] {
                    WithReal(call.type, [&]<typename R>(R) {
                      Forward<R>(call, windows, step, {q, k, v, residuals, weights, out, reserve});
                    });
                  });
}

cudnnStatus_t cudnnMultiHeadAttnBackwardData(cudnnHandle_t handle, cudnnAttnDescriptor_t attention,
                                             const int[], const int[], const int[], const int[],
                                             cudnnSeqDataDescriptor_t doData, const void* dout,
                                             cudnnSeqDataDescriptor_t dqData, void* dq, const void* q,
                                             cudnnSeqDataDescriptor_t dkData, void* dk, const void* k,
                                             cudnnSeqDataDescriptor_t dvData, void* dv, const void* v,
                                             size_t weightsSize, const void* weights, size_t, void*,
                                             size_t reserveSize, void* reserve) {
  if (!AllGiven(handle, attention, doData, dout, dqData, dq, q, dkData, dk, k, dvData, dv, v, reserve))
    return CUDNN_STATUS_BAD_PARAM;
  return SubmitBackward(
      handle, "cudnnMultiHeadAttnBackwardData", Call(*attention, *dqData, *dkData, *dvData, *doData),
      {q, k, v, dout, weights, dq, dk, dv, nullptr, reserve, false}, weightsSize, reserveSize);
}
cudnnStatus_t cudnnMultiHeadAttnBackwardWeights(cudnnHandle_t handle, cudnnAttnDescriptor_t attention,
                                                cudnnWgradMode_t mode, cudnnSeqDataDescriptor_t qData,
                                                const void* q, cudnnSeqDataDescriptor_t kData, const void* k,
                                                cudnnSeqDataDescriptor_t vData, const void* v,
                                                cudnnSeqDataDescriptor_t doData, const void* dout,
                                                size_t weightsSize, const void* weights, void* dweights,
                                                size_t, void*, size_t reserveSize, void* reserve) {
  if (!AllGiven(handle, attention, qData, q, kData, k, vData, v, doData, dout, dweights, reserve))
    return CUDNN_STATUS_BAD_PARAM;
  if (mode != CUDNN_WGRAD_MODE_ADD && mode != CUDNN_WGRAD_MODE_SET) return CUDNN_STATUS_BAD_PARAM;
  return SubmitBackward(
      handle, "cudnnMultiHeadAttnBackwardWeights", Call(*attention, *qData, *kData, *vData, *doData),
      {q, k, v, dout, weights, nullptr, nullptr, nullptr, dweights, reserve, mode == CUDNN_WGRAD_MODE_ADD},
      weightsSize, reserveSize);
}

}  // namespace ptx2cpu::cudnn
