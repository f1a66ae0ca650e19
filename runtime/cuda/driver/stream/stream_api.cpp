// Streams: making, asking, waiting, callbacks, attributes.
#include <algorithm>
#include <map>
#include <mutex>

#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr int kGreatestPriority = -5, kLeastPriority = 0;

bool IsStreamAttribute(CUstreamAttrID id) {
  return id == CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW || id == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
         id == CU_STREAM_ATTRIBUTE_PRIORITY || id == CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
         id == CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

CUresult Create(CUstream* result, unsigned flags, int priority) {
  if (result == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
  const auto kind = flags == 0 ? rt::StreamKind::kBlocking : rt::StreamKind::kNonBlocking;
  auto stream = std::make_unique<StreamObject>(*context, context->streams().NewStream(kind, priority),
                                               StreamObject::Role::kCreated, flags, priority);
  context->Own(stream.get(),
               [](void* object) { Withdraw<StreamObject>(HandleOf(static_cast<StreamObject*>(object))); });
  *result = Publish(std::move(stream));
  return CUDA_SUCCESS;
}

// A stream for a query, whatever has happened in its context.
CUresult FindStream(CUstream handle, StreamObject*& stream) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  stream = nullptr;
  const CUresult error = StreamOf(handle, stream);
  return stream == nullptr ? error : CUDA_SUCCESS;
}

// For what cannot be done with a captured stream, and what a capture elsewhere forbids.
CUresult CheckWait(StreamObject& stream) {
  if (stream.capturing()) return RefuseCapturedStream(stream);
  if (stream.role() == StreamObject::Role::kLegacy && stream.context().blocking_captures.load() > 0)
    return RefuseImplicit(stream.context());
  return AllowedDuringCapture();
}

// A callback of cuStreamAddCallback hears of the context's error too, so it is called whatever happened.
struct Callback {
  CUstreamCallback function;
  CUstream stream;
  void* data;
  std::shared_ptr<rt::ErrorState> errors;
  Context* context;
};

void RunCallback(void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  const CUresult status = callback->errors->failed() ? callback->context->error() : CUDA_SUCCESS;
  callback->function(callback->stream, status, callback->data);
}

}  // namespace

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) { return Create(phStream, Flags, 0); }
CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  return Create(phStream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
  if (const CUresult error = CheckInitialised()) return error;
  StreamObject* const stream = From<StreamObject>(hStream);  // a thread without a context may destroy it too
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const auto capture = CaptureOf(*stream)) capture->Leave(*stream);
  stream->context().Disown(stream);
  return Withdraw<StreamObject>(hStream) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream hStream) { return cuStreamDestroy_v2(hStream); }

CUresult cuStreamQuery(CUstream hStream) {
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (const CUresult error = CheckWait(*stream)) return error;
  const bool legacy = stream->role() == StreamObject::Role::kLegacy;
  if (!stream->queue().Idle() || (legacy && !stream->context().streams().BlockingIdle()))
    return CUDA_ERROR_NOT_READY;
  return stream->context().error();
}

CUresult cuStreamSynchronize(CUstream hStream) {
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (const CUresult error = CheckWait(*stream)) return error;
  return SynchronizeStream(*stream);
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  *priority = stream->priority();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  *flags = stream->flags();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  if (streamId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  *streamId = stream->queue().id();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  *pctx = HandleOf(&stream->context());
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  if (pGreenCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pGreenCtx = nullptr;
  return cuStreamGetCtx(hStream, pCtx);
}

CUresult cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx* phCtx) {
  if (phCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  *phCtx = nullptr;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  *device = stream->context().device().ordinal();
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (stream->capturing()) return RefuseCapturedStream(*stream);
  auto call = std::make_unique<Callback>(
      Callback{callback, hStream, userData, stream->context().streams().errors(), &stream->context()});
  const CUresult result = Enqueue(*stream, rt::HostWork{RunCallback, call.get(), true});
  if (result == CUDA_SUCCESS) static_cast<void>(call.release());  // RunCallback has it
  return result;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Submit(hStream, rt::HostWork{fn, userData}, [&](CUgraphNodeParams& node) {
    node.type = CU_GRAPH_NODE_TYPE_HOST;
    node.host = {fn, userData};
  });
}

// Managed memory is plain memory: every stream and the host may use it at any time.
CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags) {
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (stream->capturing()) return RefuseCapturedStream(*stream);
  const bool one =
      flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE;
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(dptr));
  if (!one || !range || range->kind != RangeKind::kManaged || range->base != dptr ||
      (length != 0 && length != range->size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (flags == CU_MEM_ATTACH_SINGLE && stream->role() == StreamObject::Role::kLegacy)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* param) {
  if (param == nullptr || !IsStreamAttribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY &&
      (param->syncPolicy < CU_SYNC_POLICY_AUTO || param->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  StreamAttributes& attributes = stream->attributes;
  std::lock_guard lock(attributes.mutex);
  attributes.values[attr] = *param;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value) {
  if (value == nullptr || !IsStreamAttribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = FindStream(hStream, stream)) return error;
  StreamAttributes& attributes = stream->attributes;
  std::lock_guard lock(attributes.mutex);
  CUstreamAttrValue answer{};
  if (attr == CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY)
    answer.syncPolicy = static_cast<CUsynchronizationPolicy>(-1);  // none was set
  if (attr == CU_STREAM_ATTRIBUTE_PRIORITY) answer.priority = stream->priority();
  if (attr == CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) answer.memSyncDomainMap = {0, 1};
  if (const auto found = attributes.values.find(attr); found != attributes.values.end())
    answer = found->second;
  *value = answer;
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream) {
  StreamObject *to, *from;
  if (const CUresult error = StreamOf(dstStream, to)) return error;
  if (const CUresult error = StreamOf(srcStream, from)) return error;
  if (to == from) return CUDA_SUCCESS;
  StreamAttributes &source = from->attributes, &target = to->attributes;
  std::scoped_lock lock(source.mutex, target.mutex);
  target.values = source.values;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
