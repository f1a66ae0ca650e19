#include "runtime/cuda/driver/stream/capture.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

// Captures in progress, for functions that are not allowed beside them.
struct Ongoing {
  std::atomic<size_t> count{0};
  std::mutex mutex;
  std::vector<std::weak_ptr<Capture>> captures;
  static Ongoing& Get() {
    static Ongoing& ongoing = *new Ongoing;
    return ongoing;
  }
};

// Invalidates the captures that `concerned` names; true: there were some.
template <typename Concerned>
bool InvalidateThose(const Concerned& concerned) {
  Ongoing& ongoing = Ongoing::Get();
  if (ongoing.count.load(std::memory_order_acquire) == 0) return false;
  std::lock_guard lock(ongoing.mutex);
  bool any = false;
  for (const auto& weak : ongoing.captures) {
    const std::shared_ptr<Capture> capture = weak.lock();
    if (capture == nullptr || !concerned(*capture)) continue;
    capture->Invalidate();
    any = true;
  }
  return any;
}

}  // namespace

void AddCapture(const std::shared_ptr<Capture>& capture) {
  Ongoing& ongoing = Ongoing::Get();
  std::lock_guard lock(ongoing.mutex);
  ongoing.captures.push_back(capture);
  ++ongoing.count;
}

void RemoveCapture(const Capture& capture) {
  Ongoing& ongoing = Ongoing::Get();
  std::lock_guard lock(ongoing.mutex);
  ongoing.count -= std::erase_if(
      ongoing.captures, [&](const auto& weak) { return weak.expired() || weak.lock().get() == &capture; });
}

CUresult AllowedDuringCapture() {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const bool any = InvalidateThose([](const Capture& capture) {
    if (capture.thread() == std::this_thread::get_id())
      return capture.mode() != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
  });
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult RefuseImplicit(Context& context) {
  InvalidateThose(
      [&](const Capture& capture) { return &capture.context() == &context && capture.has_blocking(); });
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult AllowedForContext(Context& context) {
  const bool any = InvalidateThose([&](const Capture& capture) { return &capture.context() == &context; });
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult RefuseCapturedStream(StreamObject& stream) {
  if (const std::shared_ptr<Capture> capture = stream.capture()) capture->Invalidate();
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

}  // namespace ptx2cpu::driver
