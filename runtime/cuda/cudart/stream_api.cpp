// Streams, events, callbacks.
#include <memory>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/launch_attribute.h"

namespace ptx2cpu::cudart {

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return InContext(&driver::cuStreamCreate, pStream, 0u);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return InContext(&driver::cuStreamCreate, pStream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return InContext(&driver::cuStreamCreateWithPriority, pStream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  // The default streams cannot be destroyed.
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
    return cudaErrorInvalidResourceHandle;
  return InContext(&driver::cuStreamDestroy_v2, stream);
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  return InContext(&driver::cuStreamGetPriority, hStream, priority);
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  return InContext(&driver::cuStreamGetFlags, hStream, flags);
}

cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long* streamId) {
  return InContext(&driver::cuStreamGetId, hStream, streamId);
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  return InContext(&driver::cuStreamGetDevice, hStream, device);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return InContext(&driver::cuStreamSynchronize, stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return InContext(&driver::cuStreamQuery, stream); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return InContext(&driver::cuStreamWaitEvent, stream, event, flags);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t length, unsigned int flags) {
  return InContext(&driver::cuStreamAttachMemAsync, stream, Address(devPtr), length, flags);
}

namespace {

// The driver's callback has another type of status.
struct Callback {
  cudaStreamCallback_t function;
  void* data;
  static void Run(CUstream stream, CUresult status, void* self) {
    const std::unique_ptr<Callback> callback(static_cast<Callback*>(self));
    callback->function(stream, FromDriver(status), callback->data);
  }
};

}  // namespace

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  auto carried = std::make_unique<Callback>(callback, userData);
  const cudaError_t error =
      InContext(&driver::cuStreamAddCallback, stream, &Callback::Run, static_cast<void*>(carried.get()), 0u);
  if (error == cudaSuccess) static_cast<void>(carried.release());  // Run has it
  return error;
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
  return InContext(&driver::cuStreamCopyAttributes, dst, src);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                   cudaLaunchAttributeValue* value_out) {
  return GetAttribute(attr, value_out, [&](CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
    return InContext(&driver::cuStreamGetAttribute, hStream, id, value);
  });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                   const cudaLaunchAttributeValue* value) {
  return SetAttribute(attr, value, [&](CUlaunchAttributeID id, const CUlaunchAttributeValue* from) {
    return InContext(&driver::cuStreamSetAttribute, hStream, id, from);
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return InContext(&driver::cuEventCreate, event, 0u); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return InContext(&driver::cuEventCreate, event, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return InContext(&driver::cuEventRecord, event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return InContext(&driver::cuEventRecordWithFlags, event, stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return InContext(&driver::cuEventQuery, event); }

cudaError_t cudaEventSynchronize(cudaEvent_t event) { return InContext(&driver::cuEventSynchronize, event); }

cudaError_t cudaEventDestroy(cudaEvent_t event) { return InContext(&driver::cuEventDestroy_v2, event); }

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  if (ms == nullptr) return cudaErrorInvalidValue;  // before the handles are checked
  return InContext(&driver::cuEventElapsedTime, ms, start, end);
}

cudaError_t cudaEventElapsedTime_v2(float* ms, cudaEvent_t start, cudaEvent_t end) {
  if (ms == nullptr) return cudaErrorInvalidValue;  // before the handles are checked
  return InContext(&driver::cuEventElapsedTime_v2, ms, start, end);
}

}  // namespace ptx2cpu::cudart
