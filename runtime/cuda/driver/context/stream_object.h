// The object of a CUstream: a queue of the launch library in a context, perhaps captured.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::driver {

class Capture;  // a capture in progress: stream/capture.h
class Context;

// cuStreamSetAttribute: kept and reported; none changes what is computed.
struct StreamAttributes {
  std::mutex mutex;
  std::map<cuda::CUstreamAttrID, cuda::CUstreamAttrValue> values;
};

// The object of a CUstream.
class StreamObject {
 public:
  using Handle = cuda::CUstream;
  static constexpr HandleKind kKind = HandleKind::kStream;
  enum class Role : uint8_t { kLegacy, kPerThread, kCreated };

  StreamObject(Context& context, std::shared_ptr<rt::Stream> queue, Role role, unsigned flags, int priority)
      : context_(context), queue_(std::move(queue)), role_(role), flags_(flags), priority_(priority) {}

  Context& context() const { return context_; }
  rt::Stream& queue() const { return *queue_; }
  const std::shared_ptr<rt::Stream>& shared_queue() const { return queue_; }
  Role role() const { return role_; }
  unsigned flags() const { return flags_; }  // CU_STREAM_NON_BLOCKING
  int priority() const { return priority_; }

  bool capturing() const { return capturing_.load(std::memory_order_acquire); }
  std::shared_ptr<Capture> capture() const {
    std::lock_guard lock(mutex_);
    return capture_;
  }
  void SetCapture(std::shared_ptr<Capture> capture) {
    std::lock_guard lock(mutex_);
    capture_ = std::move(capture);
    capturing_.store(capture_ != nullptr, std::memory_order_release);
  }

  // The attributes that cuStreamSetAttribute has set.
  StreamAttributes attributes;

 private:
  Context& context_;
  const std::shared_ptr<rt::Stream> queue_;
  const Role role_;
  const unsigned flags_;
  const int priority_;
  std::atomic<bool> capturing_{false};
  mutable std::mutex mutex_;  // capture_
  std::shared_ptr<Capture> capture_;
};

}  // namespace ptx2cpu::driver
