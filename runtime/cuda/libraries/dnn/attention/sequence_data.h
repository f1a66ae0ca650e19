// Sequences of vectors in memory with a descriptor's axes, and the data that the training of an attention
// keeps.
#pragma once

#include <memory>

#include "runtime/cuda/libraries/dnn/attention/attention.h"

namespace ptx2cpu::cudnn {

// Vectors of a batch's beams, read when the work is done: sequence, step, element.
template <typename R>
class SequenceRows {
 public:
  SequenceRows(const cudnnSeqDataStruct& data, const void* from);
  explicit SequenceRows(const cudnnSeqDataStruct& data);  // zeros
  R* At(int64_t sequence) const { return values_.get() + sequence * steps_ * vector_; }
  // What no sequence has a step for becomes the descriptor's element, where it has one; `step` not negative:
  // that step alone.
  void Write(const cudnnSeqDataStruct& data, void* to, int64_t step = -1) const;

 private:
  int64_t sequences_, steps_, vector_;
  std::unique_ptr<R[]> values_;
};

// Places of a training's results in the reserve, in elements of the type that is computed in: soft-max of
// every sequence and head, what dropout multiplies it with, and the output.
struct AttentionReserve {
  AttentionReserve(const Heads& heads, cudnnDataType_t type);
  int64_t sequence;  // elements of a sequence's soft-max
  int64_t kept, output;
  size_t bytes;
};

}  // namespace ptx2cpu::cudnn
