// Events: making them, recording them, waiting for them.
#include <cmath>

#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/event.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr unsigned kEventFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult FindEvent(CUevent handle, EventObject*& event) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  event = From<EventObject>(handle);
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : event->context().error();
}

// For questions about an event that is not (or no longer) part of a capture.
CUresult OutsideCapture(EventObject& event) {
  if (const auto capture = CaptureOf(event.place()); capture != nullptr) {
    if (capture->ended()) return CUDA_ERROR_INVALID_VALUE;
    capture->Invalidate();
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return AllowedDuringCapture();
}

CUresult Record(CUevent handle, CUstream stream_handle, unsigned flags) {
  if ((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(stream_handle, stream)) return error;
  EventObject* const event = From<EventObject>(handle);
  if (event == nullptr || &event->context() != &stream->context()) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capturing()) {
    const auto capture = CaptureOf(*stream);
    if (flags == 0) return capture->Record(*stream, *event);
    CUgraphNodeParams node{};
    if (event->shared() != nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // graphs record local events
    node.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    node.eventRecord.event = handle;
    return capture->Append(*stream, node, {});
  }
  if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;  // outside of capture
  if (stream->role() == StreamObject::Role::kLegacy && stream->context().blocking_captures.load() > 0)
    return RefuseImplicit(stream->context());
  event->SetPlace({});
  event->event().Record(stream->queue());
  if (const auto& shared = event->shared()) {
    const uint64_t record = shared->BeginRecord();
    return Enqueue(*stream, rt::CallWork{[shared, record] { shared->EndRecord(record); }, true});
  }
  return CUDA_SUCCESS;
}

CUresult WaitInCapture(StreamObject& stream, EventObject& event, const CapturedPlace& place, unsigned flags) {
  const auto own = CaptureOf(stream), other = CaptureOf(place);
  if (flags == CU_EVENT_WAIT_EXTERNAL) {
    if (event.shared() != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    CUgraphNodeParams node{};
    node.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    node.eventWait.event = HandleOf(&event);
    return own->Append(stream, node, {});
  }
  if (other == nullptr && !event.event().recorded()) return CUDA_SUCCESS;
  if (other == nullptr || other->ended()) {
    own->Invalidate();
    return other == nullptr ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_ERROR_INVALID_VALUE;
  }
  if (other != own) {
    own->Invalidate();
    other->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  return own->Wait(stream, place.nodes);
}

}  // namespace

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  if (phEvent == nullptr || (Flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0 && (Flags & CU_EVENT_DISABLE_TIMING) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  std::shared_ptr<SharedEvent> shared;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0) {
    shared = SharedEvent::Make();
    if (shared == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto event = std::make_unique<EventObject>(*context, Flags, std::move(shared));
  context->Own(event.get(),
               [](void* object) { Withdraw<EventObject>(HandleOf(static_cast<EventObject*>(object))); });
  *phEvent = Publish(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
  if (const CUresult error = CheckInitialised()) return error;
  EventObject* const event = From<EventObject>(hEvent);  // a thread without a context may destroy it too
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->context().Disown(event);
  return Withdraw<EventObject>(hEvent) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent hEvent) { return cuEventDestroy_v2(hEvent); }

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return Record(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  return Record(hEvent, hStream, flags);
}

CUresult cuEventQuery(CUevent hEvent) {
  EventObject* event;
  if (const CUresult error = FindEvent(hEvent, event)) return error;
  if (const CUresult error = OutsideCapture(*event)) return error;
  if (!event->Query()) return CUDA_ERROR_NOT_READY;
  return event->context().error();
}

CUresult cuEventSynchronize(CUevent hEvent) {
  EventObject* event;
  if (const CUresult error = FindEvent(hEvent, event)) return error;
  if (const CUresult error = OutsideCapture(*event)) return error;
  event->Synchronize();
  TrimPoolsAfterWait();
  return event->context().error();
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  if (pMilliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // as the driver does
  EventObject *start, *end;
  if (const CUresult error = FindEvent(hStart, start)) return error;
  if (const CUresult error = FindEvent(hEnd, end)) return error;
  rt::Event &first = start->event(), &second = end->event();
  if (&start->context() != &end->context() || !first.timed() || !second.timed())
    return CUDA_ERROR_INVALID_HANDLE;
  if (start->place().capture != nullptr || end->place().capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
  if (!first.recorded() || !second.recorded()) return CUDA_ERROR_INVALID_HANDLE;
  if (!first.Query() || !second.Query()) return CUDA_ERROR_NOT_READY;
  *pMilliseconds = static_cast<float>(second.MillisecondsSince(first));
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return cuEventElapsedTime(pMilliseconds, hStart, hEnd);
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  if ((Flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  EventObject* const event = From<EventObject>(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CapturedPlace place = event->place();
  if (stream->capturing()) return WaitInCapture(*stream, *event, place, Flags);
  if (Flags != 0) return CUDA_ERROR_ILLEGAL_STATE;  // outside of capture
  const auto capture = CaptureOf(place);
  if (capture == nullptr) return WaitForEvent(*stream, *event);
  if (capture->ended()) return CUDA_ERROR_INVALID_VALUE;
  if (stream->role() == StreamObject::Role::kLegacy) {
    capture->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return capture->Wait(*stream, place.nodes);
}

}  // namespace ptx2cpu::driver
