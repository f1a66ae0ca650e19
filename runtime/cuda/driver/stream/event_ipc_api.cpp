// Handles of events for other processes of this machine.
#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/stream/event.h"

namespace ptx2cpu::driver {

namespace {

// What a CUipcEventHandle holds.
struct EventPlace {
  static constexpr uint64_t kMagic = 0x5032583145564e54;
  uint64_t magic = kMagic;
  ExportedName name = {};
};

}  // namespace

CUresult cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  EventObject* const found = From<EventObject>(event);
  if (pHandle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (found == nullptr || found->shared() == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  EventPlace place;
  if (!found->shared()->Export(place.name)) return CUDA_ERROR_OPERATING_SYSTEM;
  *pHandle = {};
  std::memcpy(pHandle, &place, sizeof place);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  EventPlace place;
  std::memcpy(&place, &handle, sizeof place);
  if (phEvent == nullptr || place.magic != EventPlace::kMagic) return CUDA_ERROR_INVALID_VALUE;
  if (ExportServer::Get().Own(place.name)) return CUDA_ERROR_INVALID_CONTEXT;  // it has the event itself
  auto shared = SharedEvent::Map(ExportServer::Fetch(place.name));
  if (shared == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  auto event = std::make_unique<EventObject>(*context, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS,
                                             std::move(shared));
  context->Own(event.get(),
               [](void* object) { Withdraw<EventObject>(HandleOf(static_cast<EventObject*>(object))); });
  *phEvent = Publish(std::move(event));
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
