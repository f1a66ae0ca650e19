#include "runtime/cuda/driver/stream/submit.h"

#include <cstdlib>
#include <string_view>

#include "runtime/cuda/driver/core/call.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/capture.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

bool LaunchBlocking() {
  static const bool blocking = [] {
    const char* text = std::getenv("CUDA_LAUNCH_BLOCKING");
    return text != nullptr && *text != '\0' && std::string_view(text) != "0";
  }();
  return blocking;
}

}  // namespace

CUresult StreamOf(CUstream handle, StreamObject*& stream) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (handle == nullptr)
    handle = api::PerThreadDefaultStream::Active() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle == CU_STREAM_LEGACY) {
    stream = &context->legacy_stream();
  } else if (handle == CU_STREAM_PER_THREAD) {
    stream = &context->per_thread_stream();
  } else {
    stream = From<StreamObject>(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (&stream->context() != context) return stream->context().error();
  }
  return CUDA_SUCCESS;
}

CUresult Enqueue(StreamObject& stream, rt::Work work) {
  Context& context = stream.context();
  if (stream.role() == StreamObject::Role::kLegacy &&
      context.blocking_captures.load(std::memory_order_acquire) > 0) {
    return RefuseImplicit(context);
  }
  const bool wait = LaunchBlocking() && std::holds_alternative<rt::KernelWork>(work);
  stream.queue().Submit(std::move(work));
  return wait ? SynchronizeStream(stream) : CUDA_SUCCESS;
}

CUresult AppendToCapture(StreamObject& stream, const CUgraphNodeParams& node, rt::Work work) {
  const std::shared_ptr<Capture> capture = stream.capture();
  if (capture == nullptr) return Enqueue(stream, std::move(work));  // it has just ended
  return capture->Append(stream, node, std::move(work));
}

CUresult SynchronizeStream(StreamObject& stream) {
  stream.queue().Synchronize();
  TrimPoolsAfterWait();
  return stream.context().error();
}

}  // namespace ptx2cpu::driver
