#include "runtime/cuda/driver/stream/event.h"

#include <cmath>

#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/stream/capture.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

using namespace cuda;

EventObject::EventObject(Context& context, unsigned flags)
    : context_(context), flags_(flags), event_((flags & CU_EVENT_DISABLE_TIMING) == 0) {}

CUresult WaitForEvent(StreamObject& stream, EventObject& event) {
  if (stream.role() == StreamObject::Role::kLegacy && stream.context().blocking_captures.load() > 0)
    return RefuseImplicit(stream.context());
  stream.queue().WaitFor(event.event().ticket());
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
