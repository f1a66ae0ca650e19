// Batches of copies. A batch is one operation in its stream; its copies may run in any order, here in the
// order given.
#include <algorithm>
#include <vector>

#include "driver_api.h"
#include "runtime/cuda/driver/copy/copy.h"
#include "runtime/cuda/driver/image/array.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

namespace {

constexpr size_t kNoOne = SIZE_MAX;  // failIdx when no particular copy is at fault

bool LegalOrder(CUmemcpySrcAccessOrder order) {
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

CopyMode ModeOf(CUmemcpySrcAccessOrder order) {
  switch (order) {
    case CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL:
      return CopyMode::kFromCall;
    case CU_MEMCPY_SRC_ACCESS_ORDER_ANY:
      return CopyMode::kFree;
    default:
      return CopyMode::kAsynchronous;
  }
}

// The null stream is refused; the thread's own default stream is not.
CUresult CheckStream(CUstream handle) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  return stream->role() == StreamObject::Role::kLegacy ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

struct BatchCopy {
  CopyRequest request;
  CopyMode mode;
};

// Nothing is queued unless all of it is legal.
CUresult Run(const std::vector<BatchCopy>& copies, CUstream stream, size_t* fail) {
  for (size_t i = 0; i < copies.size(); ++i) {
    CopyPlan plan;
    *fail = i;
    if (const CUresult error = PlanCopy(copies[i].request, &plan)) return error;
    if (plan.nothing) return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    *fail = i;
    if (const CUresult error = RunCopy(copies[i].request, stream, copies[i].mode)) return error;
  }
  *fail = kNoOne;
  return CUDA_SUCCESS;
}

// An operand of a 3D batch. Extents are in elements; those of pointers are as large as the array's on the
// other side.
CUresult EndOf(const CUmemcpy3DOperand& operand, size_t element, const CUextent3D& extent, CopyEnd* end) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
    const auto& p = operand.op.ptr;
    if ((p.rowLength != 0 && p.rowLength < extent.width) ||
        (p.layerHeight != 0 && p.layerHeight < extent.height))
      return CUDA_ERROR_INVALID_VALUE;
    *end = CopyEnd::Unified(p.ptr);
    if (__builtin_mul_overflow(p.rowLength, element, &end->pitch)) return CUDA_ERROR_INVALID_VALUE;
    end->height = p.layerHeight;
    return CUDA_SUCCESS;
  }
  const auto& a = operand.op.array;
  *end = CopyEnd::Elements(a.array, 0);
  if (__builtin_mul_overflow(a.offset.x, element, &end->x)) return CUDA_ERROR_INVALID_VALUE;
  end->y = a.offset.y, end->z = a.offset.z;
  return CUDA_SUCCESS;
}

// Bytes of an element of the operand's array; 1 for pointers; 0: no operand.
size_t ElementOf(const CUmemcpy3DOperand& operand) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER) return 1;
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return 0;
  const Array* array = From<Array>(operand.op.array.array);
  return array == nullptr ? 0 : array->element_bytes();
}

CUresult RequestOf(const CUDA_MEMCPY3D_BATCH_OP& op, CopyRequest* request) {
  const size_t from = ElementOf(op.src), to = ElementOf(op.dst);
  const bool arrays =
      op.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY && op.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
  if (from == 0 || to == 0 || (arrays && from != to) || !LegalOrder(op.srcAccessOrder))
    return CUDA_ERROR_INVALID_VALUE;
  if (op.extent.width == 0 || op.extent.height == 0 || op.extent.depth == 0) return CUDA_ERROR_INVALID_VALUE;
  const size_t element = std::max(from, to);
  if (const CUresult error = EndOf(op.src, element, op.extent, &request->from)) return error;
  if (const CUresult error = EndOf(op.dst, element, op.extent, &request->to)) return error;
  if (__builtin_mul_overflow(op.extent.width, element, &request->width)) return CUDA_ERROR_INVALID_VALUE;
  request->height = op.extent.height, request->depth = op.extent.depth;
  return CUDA_SUCCESS;
}

CUresult Batch(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs,
               size_t* attrsIdxs, size_t numAttrs, size_t* fail, CUstream stream) {
  *fail = kNoOne;
  if (const CUresult error = CheckStream(stream)) return error;
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || attrs == nullptr || attrsIdxs == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  if (count == 0 || numAttrs == 0 || numAttrs > count || attrsIdxs[0] != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t k = 0; k < numAttrs; ++k) {
    const bool ascending = k == 0 || attrsIdxs[k] > attrsIdxs[k - 1];
    if (!ascending || attrsIdxs[k] >= count || !LegalOrder(attrs[k].srcAccessOrder))
      return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<BatchCopy> copies(count);
  for (size_t i = 0, k = 0; i < count; ++i) {
    if (k + 1 < numAttrs && attrsIdxs[k + 1] == i) ++k;
    copies[i].request.from = CopyEnd::Unified(srcs[i]);
    copies[i].request.to = CopyEnd::Unified(dsts[i]);
    copies[i].request.width = sizes[i];
    copies[i].mode = ModeOf(attrs[k].srcAccessOrder);
  }
  return Run(copies, stream, fail);
}

CUresult Batch3D(size_t count, CUDA_MEMCPY3D_BATCH_OP* ops, unsigned long long flags, size_t* fail,
                 CUstream stream) {
  *fail = kNoOne;
  if (const CUresult error = CheckStream(stream)) return error;
  if (ops == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<BatchCopy> copies(count);
  for (size_t i = 0; i < count; ++i) {
    *fail = i;
    if (const CUresult error = RequestOf(ops[i], &copies[i].request)) return error;
    copies[i].mode = ModeOf(ops[i].srcAccessOrder);
  }
  return Run(copies, stream, fail);
}

}  // namespace

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                               CUstream hStream) {
  size_t fail = 0;
  return Batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &fail, hStream);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, size_t* failIdx,
                            CUstream hStream) {
  size_t fail = 0;
  const CUresult result = Batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &fail, hStream);
  if (failIdx != nullptr && result != CUDA_SUCCESS) *failIdx = fail;
  return result;
}

CUresult cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, unsigned long long flags,
                                 CUstream hStream) {
  size_t fail = 0;
  return Batch3D(numOps, opList, flags, &fail, hStream);
}

CUresult cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, size_t* failIdx,
                              unsigned long long flags, CUstream hStream) {
  size_t fail = 0;
  const CUresult result = Batch3D(numOps, opList, flags, &fail, hStream);
  if (failIdx != nullptr && result != CUDA_SUCCESS) *failIdx = fail;
  return result;
}

}  // namespace ptx2cpu::driver
