// A CUevent: a place in a stream or, while streams are captured, in a graph under construction.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/cuda/driver/stream/capture.h"
#include "runtime/cuda/driver/stream/shared_event.h"
#include "runtime/stream/event.h"

namespace ptx2cpu::driver {

class EventObject {
 public:
  using Handle = cuda::CUevent;
  static constexpr HandleKind kKind = HandleKind::kEvent;

  EventObject(Context& context, unsigned flags, std::shared_ptr<SharedEvent> shared = nullptr);

  Context& context() const { return context_; }
  unsigned flags() const { return flags_; }
  rt::Event& event() { return event_; }
  // The part of it that other processes share; null: the event is not shared.
  const std::shared_ptr<SharedEvent>& shared() const { return shared_; }
  // The latest record, by whichever process.
  bool Query() const { return shared_ ? shared_->Done(shared_->Latest()) : event_.Query(); }
  void Synchronize() const { shared_ ? shared_->Await(shared_->Latest()) : event_.Synchronize(); }

  // The place of the latest record, if that was in a capture.
  CapturedPlace place() const {
    std::lock_guard lock(mutex_);
    return place_;
  }
  void SetPlace(CapturedPlace place) {
    std::lock_guard lock(mutex_);
    place_ = std::move(place);
  }

 private:
  Context& context_;
  const unsigned flags_;
  rt::Event event_;
  const std::shared_ptr<SharedEvent> shared_;
  mutable std::mutex mutex_;
  CapturedPlace place_;
};

// cuStreamWaitEvent in a stream that is not captured.
cuda::CUresult WaitForEvent(StreamObject& stream, EventObject& event);

}  // namespace ptx2cpu::driver
