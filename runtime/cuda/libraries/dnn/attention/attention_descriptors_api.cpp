// Descriptors of attention and of sequences; weights and their places.
#include <algorithm>
#include <cmath>

#include "runtime/cuda/libraries/dnn/attention/attention.h"
#include "runtime/cuda/libraries/dnn/attention/sequence_data.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

bool IsReal(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
         type == CUDNN_DATA_BFLOAT16;
}

}  // namespace

cudnnStatus_t cudnnSetSeqDataDescriptor(cudnnSeqDataDescriptor_t data, cudnnDataType_t type, int count,
                                        const int extents[], const cudnnSeqDataAxis_t axes[],
                                        size_t lengthCount, const int lengths[], void* fill) {
  if (!AllGiven(data, extents, axes, lengths)) return CUDNN_STATUS_BAD_PARAM;
  if (count != 4 || !IsReal(type)) return CUDNN_STATUS_NOT_SUPPORTED;
  cudnnSeqDataStruct made{.type = type};
  bool seen[4] = {};
  for (int i = 0; i < 4; ++i) {
    if (extents[i] < 1 || axes[i] < 0 || axes[i] > CUDNN_SEQDATA_VECT_DIM || seen[axes[i]])
      return CUDNN_STATUS_BAD_PARAM;
    seen[axes[i]] = true;
    made.extents[i] = extents[i], made.axes[i] = axes[i];
  }
  if (axes[3] != CUDNN_SEQDATA_VECT_DIM) return CUDNN_STATUS_BAD_PARAM;
  const int sequences = extents[CUDNN_SEQDATA_BATCH_DIM] * extents[CUDNN_SEQDATA_BEAM_DIM];
  made.lengths.assign(lengths, lengths + lengthCount);
  const auto fits = [&](int length) { return length >= 0 && length <= extents[CUDNN_SEQDATA_TIME_DIM]; };
  if (lengthCount != static_cast<size_t>(sequences) || !std::ranges::all_of(made.lengths, fits))
    return CUDNN_STATUS_BAD_PARAM;
  made.fills = fill != nullptr;
  if (made.fills) Load(Layout{type, {1}, {1}}, fill, &made.fill);
  *data = std::move(made);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetSeqDataDescriptor(cudnnSeqDataDescriptor_t data, cudnnDataType_t* type, int* count,
                                        int wanted, int extents[], cudnnSeqDataAxis_t axes[],
                                        size_t* lengthCount, size_t lengthsWanted, int lengths[],
                                        void* fill) {
  if (data == nullptr || wanted < 0) return CUDNN_STATUS_BAD_PARAM;
  Give(type, data->type), Give(count, 4), Give(lengthCount, data->lengths.size());
  for (int i = 0; i < std::min(wanted, 4); ++i) {
    if (extents != nullptr) extents[i] = data->extents[i];
    if (axes != nullptr) axes[i] = data->axes[i];
  }
  if (lengths != nullptr)
    std::copy_n(data->lengths.begin(), std::min(lengthsWanted, data->lengths.size()), lengths);
  if (fill != nullptr) Blend<double>(Layout{data->type, {1}, {1}}, fill, &data->fill, 1, 0);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetAttnDescriptor(cudnnAttnDescriptor_t attention, unsigned mode, int heads, double scaler,
                                     cudnnDataType_t type, cudnnDataType_t mathPrecision,
                                     cudnnMathType_t math, cudnnDropoutDescriptor_t attentionDropout,
                                     cudnnDropoutDescriptor_t outputDropout, int qSize, int kSize, int vSize,
                                     int qProjSize, int kProjSize, int vProjSize, int oProjSize,
                                     int maxQueries, int maxKeys, int maxBatch, int maxBeam) {
  const auto is_positive = [](int value) { return value > 0; };
  const auto is_size = [](int value) { return value >= 0; };
  const cudnnAttnStruct made{mode,
                             heads,
                             scaler,
                             type,
                             mathPrecision,
                             math,
                             attentionDropout,
                             outputDropout,
                             {qSize, kSize, vSize},
                             {qProjSize, kProjSize, vProjSize, oProjSize},
                             maxQueries,
                             maxKeys,
                             maxBatch,
                             maxBeam};
  if (attention == nullptr || !std::ranges::all_of(made.size, is_positive) ||
      !std::ranges::all_of(made.projected, is_size) ||
      !std::ranges::all_of(std::vector{heads, maxQueries, maxKeys, maxBatch, maxBeam}, is_positive) ||
      !(scaler >= 0) || mode > (CUDNN_ATTN_QUERYMAP_ONE_TO_ONE | CUDNN_ATTN_ENABLE_PROJ_BIASES) ||
      !IsReal(type) || math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH)
    return CUDNN_STATUS_BAD_PARAM;
  // Queries and keys are multiplied with each other.
  if ((qProjSize != 0 ? qProjSize : qSize) != (kProjSize != 0 ? kProjSize : kSize))
    return CUDNN_STATUS_BAD_PARAM;
  const bool wide = type == CUDNN_DATA_DOUBLE;
  if (mathPrecision != type && (wide || mathPrecision != CUDNN_DATA_FLOAT)) return CUDNN_STATUS_NOT_SUPPORTED;
  *attention = made;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetAttnDescriptor(cudnnAttnDescriptor_t attention, unsigned* mode, int* heads,
                                     double* scaler, cudnnDataType_t* type, cudnnDataType_t* mathPrecision,
                                     cudnnMathType_t* math, cudnnDropoutDescriptor_t* attentionDropout,
                                     cudnnDropoutDescriptor_t* outputDropout, int* qSize, int* kSize,
                                     int* vSize, int* qProjSize, int* kProjSize, int* vProjSize,
                                     int* oProjSize, int* maxQueries, int* maxKeys, int* maxBatch,
                                     int* maxBeam) {
  if (attention == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const cudnnAttnStruct& of = *attention;
  Give(mode, of.mode), Give(heads, of.heads), Give(scaler, of.scaler), Give(type, of.type);
  Give(mathPrecision, of.precision), Give(math, of.math), Give(attentionDropout, of.dropout);
  Give(outputDropout, of.output_dropout), Give(qSize, of.size[0]), Give(kSize, of.size[1]);
  Give(vSize, of.size[2]), Give(qProjSize, of.projected[0]), Give(kProjSize, of.projected[1]);
  Give(vProjSize, of.projected[2]), Give(oProjSize, of.projected[3]), Give(maxQueries, of.max_queries);
  Give(maxKeys, of.max_keys), Give(maxBatch, of.max_batch), Give(maxBeam, of.max_beam);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetMultiHeadAttnBuffers(cudnnHandle_t handle, cudnnAttnDescriptor_t attention,
                                           size_t* weightsSize, size_t* workspaceSize, size_t* reserveSize) {
  if (!AllGiven(handle, attention, weightsSize, workspaceSize)) return CUDNN_STATUS_BAD_PARAM;
  const Heads heads(*attention);
  *weightsSize = static_cast<size_t>(AttentionWeights(heads).count * BytesOf(attention->type));
  *workspaceSize = 0;
  Give(reserveSize, AttentionReserve(heads, attention->type).bytes);
  return CUDNN_STATUS_SUCCESS;
}

// Matrices are heads, projected elements, elements.
cudnnStatus_t cudnnGetMultiHeadAttnWeights(cudnnHandle_t handle, cudnnAttnDescriptor_t attention,
                                           cudnnMultiHeadAttnWeightKind_t kind, size_t weightsSize,
                                           const void* weights, cudnnTensorDescriptor_t layout, void** at) {
  if (!AllGiven(handle, attention, layout, at)) return CUDNN_STATUS_BAD_PARAM;
  if (kind < CUDNN_MH_ATTN_Q_WEIGHTS || kind > CUDNN_MH_ATTN_O_BIASES) return CUDNN_STATUS_BAD_PARAM;
  const Heads heads(*attention);
  const AttentionWeights places(heads);
  const int64_t element = BytesOf(attention->type);
  if (weightsSize < static_cast<size_t>(places.count * element)) return CUDNN_STATUS_BAD_PARAM;
  const bool is_bias = kind >= CUDNN_MH_ATTN_Q_BIASES;
  const auto operand = static_cast<Operand>(static_cast<int>(kind) % static_cast<int>(kOperands));
  const int64_t place = (is_bias ? places.bias : places.matrix)[operand];
  layout->layout = {.type = attention->type, .extents = {}, .strides = {}};
  *at = nullptr;
  if (place < 0) return CUDNN_STATUS_SUCCESS;
  const int64_t count = is_bias && operand == kOutput ? 1 : heads.count;
  layout->layout.extents = {count, heads.projected[operand], is_bias ? 1 : heads.size[operand]};
  layout->layout.strides = is_bias ? PackedStrides(layout->layout.extents)
                                   : std::vector<int64_t>{AttentionWeights::HeadStep(heads, operand), 1,
                                                          AttentionWeights::RowStep(heads, operand)};
  *at = static_cast<std::byte*>(const_cast<void*>(weights)) + place * element;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
