#include "runtime/cuda/libraries/dnn/attention/sequence_data.h"

#include <algorithm>

#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

int64_t SequencesOf(const cudnnSeqDataStruct& data) {
  return int64_t{data.extents[CUDNN_SEQDATA_BATCH_DIM]} * data.extents[CUDNN_SEQDATA_BEAM_DIM];
}

// Bytes to a vector.
int64_t PlaceOf(const cudnnSeqDataStruct& data, int64_t sequence, int64_t step) {
  const int64_t beams = data.extents[CUDNN_SEQDATA_BEAM_DIM];
  const int64_t index[4] = {step, sequence / beams, sequence % beams, 0};
  int64_t place = 0;
  for (const cudnnSeqDataAxis_t axis : data.axes) place = place * data.extents[axis] + index[axis];
  return place * BytesOf(data.type);
}

}  // namespace

template <typename R>
SequenceRows<R>::SequenceRows(const cudnnSeqDataStruct& data)
    : sequences_(SequencesOf(data)),
      steps_(data.extents[CUDNN_SEQDATA_TIME_DIM]),
      vector_(data.extents[CUDNN_SEQDATA_VECT_DIM]),
      values_(Storage<R>(sequences_ * steps_ * vector_)) {
  std::fill_n(values_.get(), sequences_ * steps_ * vector_, R{0});
}

template <typename R>
SequenceRows<R>::SequenceRows(const cudnnSeqDataStruct& data, const void* from) : SequenceRows(data) {
  const Layout row{data.type, {vector_}, {1}};
  for (int64_t i = 0; i < sequences_; ++i) {
    for (int64_t step = 0; step < data.lengths[static_cast<size_t>(i)]; ++step)
      Load(row, static_cast<const std::byte*>(from) + PlaceOf(data, i, step), At(i) + step * vector_);
  }
}

template <typename R>
void SequenceRows<R>::Write(const cudnnSeqDataStruct& data, void* to, int64_t wanted) const {
  const Layout row{data.type, {vector_}, {1}};
  const std::vector<R> filled(static_cast<size_t>(vector_), static_cast<R>(data.fill));
  for (int64_t i = 0; i < sequences_; ++i) {
    for (int64_t step = 0; step < steps_; ++step) {
      if (wanted >= 0 && step != wanted) continue;
      const bool has = !data.fills || step < data.lengths[static_cast<size_t>(i)];
      Blend<R>(row, static_cast<std::byte*>(to) + PlaceOf(data, i, step),
               has ? At(i) + step * vector_ : filled.data(), 1, 0);
    }
  }
}

AttentionReserve::AttentionReserve(const Heads& heads, cudnnDataType_t type) {
  const int64_t sequences = heads.max_batch * heads.max_beam;
  sequence = heads.count * heads.max_queries * heads.max_keys;
  kept = sequences * sequence;
  output = 2 * kept;
  const int64_t count = output + sequences * heads.max_queries * heads.width();
  bytes = static_cast<size_t>(count) * (type == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float));
}

template class SequenceRows<float>;
template class SequenceRows<double>;

}  // namespace ptx2cpu::cudnn
