#include "runtime/cuda/driver/stream/memory_operation.h"

#include <atomic>
#include <type_traits>

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

}  // namespace ptx2cpu::driver
