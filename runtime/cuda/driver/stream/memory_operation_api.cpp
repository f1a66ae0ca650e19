// Streams that wait for words of memory and write them.
#include <atomic>
#include <type_traits>

#include "runtime/cuda/driver/stream/memory_operation.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

CUresult SubmitAll(CUstream handle, const CUstreamBatchMemOpParams* operations, unsigned count,
                   unsigned flags) {
  if (flags != 0 || (count != 0 && operations == nullptr) || count > 256) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  std::vector<rt::Work> works(count);
  for (unsigned i = 0; i < count; ++i) {
    if (const CUresult error = MakeMemoryOperation(operations[i], works[i])) return error;
  }
  if (stream->capturing()) {
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    node.memOp = {HandleOf(&stream->context()), count, const_cast<CUstreamBatchMemOpParams*>(operations),
                  flags};
    return AppendToCapture(*stream, node, {});
  }
  for (rt::Work& work : works) {
    if (const CUresult error = Enqueue(*stream, std::move(work))) return error;
  }
  return CUDA_SUCCESS;
}

CUresult SubmitWait(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, cuuint64_t value,
                    unsigned flags) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = type;
  operation.waitValue.address = address;
  operation.waitValue.value64 = value;
  operation.waitValue.flags = flags;
  return SubmitAll(stream, &operation, 1, 0);
}

CUresult SubmitWrite(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr address, cuuint64_t value,
                     unsigned flags) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = type;
  operation.writeValue.address = address;
  operation.writeValue.value64 = value;
  operation.writeValue.flags = flags;
  return SubmitAll(stream, &operation, 1, 0);
}

}  // namespace

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray,
                            unsigned int flags) {
  return SubmitAll(stream, paramArray, count, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams* paramArray,
                               unsigned int flags) {
  return SubmitAll(stream, paramArray, count, flags);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return SubmitWait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return SubmitWait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return SubmitWait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return SubmitWait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return SubmitWrite(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return SubmitWrite(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return SubmitWrite(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  return SubmitWrite(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

}  // namespace ptx2cpu::driver
