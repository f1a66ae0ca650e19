#include "runtime/cuda/driver/stream/memory_operation.h"

#include <atomic>
#include <type_traits>

#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

template <typename T>
bool Holds(T word, T value, unsigned condition) {
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<T>>(word - value) >= 0;  // cyclic
    case CU_STREAM_WAIT_VALUE_EQ:
      return word == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (word & value) != 0;
    default:
      return static_cast<T>(~(word | value)) != 0;
  }
}

template <typename T>
T* WordAt(CUdeviceptr address) {
  return address == 0 || address % sizeof(T) != 0 ? nullptr : reinterpret_cast<T*>(address);
}

template <typename T>
CUresult MakeWait(CUdeviceptr address, T value, unsigned flags, rt::Work& work) {
  const unsigned condition = flags & ~unsigned{CU_STREAM_WAIT_VALUE_FLUSH};
  T* const word = WordAt<T>(address);
  if (word == nullptr || condition > CU_STREAM_WAIT_VALUE_NOR) return CUDA_ERROR_INVALID_VALUE;
  work = rt::PollWork{[word, value, condition] {
    return Holds(std::atomic_ref(*word).load(std::memory_order_acquire), value, condition);
  }};
  return CUDA_SUCCESS;
}

template <typename T>
CUresult MakeWrite(CUdeviceptr address, T value, unsigned flags, rt::Work& work) {
  T* const word = WordAt<T>(address);
  if (word == nullptr || (flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  work = rt::CallWork{[word, value] { std::atomic_ref(*word).store(value, std::memory_order_release); }};
  return CUDA_SUCCESS;
}

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

CUresult MakeMemoryOperation(const CUstreamBatchMemOpParams& operation, rt::Work& work) {
  const auto& wait = operation.waitValue;
  const auto& write = operation.writeValue;
  switch (operation.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return MakeWait<uint32_t>(wait.address, wait.value, wait.flags, work);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return MakeWait<uint64_t>(wait.address, wait.value64, wait.flags, work);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return MakeWrite<uint32_t>(write.address, write.value, write.flags, work);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return MakeWrite<uint64_t>(write.address, write.value64, write.flags, work);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      work = rt::CallWork{[] { std::atomic_thread_fence(std::memory_order_seq_cst); }};
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

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
