#include "runtime/cuda/driver/stream/event.h"

#include <cmath>

#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/stream/capture.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

using namespace cuda;

EventObject::EventObject(Context& context, unsigned flags, std::shared_ptr<SharedEvent> shared)
    : context_(context),
      flags_(flags),
      event_((flags & CU_EVENT_DISABLE_TIMING) == 0),
      shared_(std::move(shared)) {}

CUresult WaitForEvent(StreamObject& stream, EventObject& event) {
  if (stream.role() == StreamObject::Role::kLegacy && stream.context().blocking_captures.load() > 0)
    return RefuseImplicit(stream.context());
  if (const auto& shared = event.shared()) {
    const uint64_t latest = shared->Latest();
    if (!shared->Done(latest)) stream.queue().Submit(rt::PollWork{[=] { return shared->Done(latest); }});
    return CUDA_SUCCESS;
  }
  stream.queue().WaitFor(event.event().ticket());
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
