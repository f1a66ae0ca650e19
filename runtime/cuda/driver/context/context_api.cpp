// cuCtx* and cuDevicePrimaryCtx*: which context a thread works in, and what is set for it.
#include <algorithm>
#include <bit>
#include <mutex>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/memory/pool.h"

namespace ptx2cpu::driver {

namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;
constexpr unsigned kApiVersion = 3020;

bool AreContextFlags(unsigned flags) {
  return (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0 &&
         std::popcount(flags & CU_CTX_SCHED_MASK) <= 1;
}

// Retains, releases and resets of primary contexts take turns.
std::mutex& PrimaryMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

// A handle that a function takes where null means the thread's context.
CUresult ContextOf(CUcontext handle, Context*& context) {
  if (handle == nullptr) return CurrentContext(context);
  if (const CUresult error = CheckInitialised()) return error;
  context = From<Context>(handle);
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult Create(CUcontext* result, unsigned flags, CUdevice dev) {
  Device* device;
  if (const CUresult error = CheckInitialised()) return error;
  if (result == nullptr || !AreContextFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FindDevice(dev, device)) return error;
  Context& context = NewContext(*device, flags);
  context.uses = 1;
  ContextStack::OfThread().Push(&context);
  *result = HandleOf(&context);
  return CUDA_SUCCESS;
}

CUresult Synchronize(Context& context) {
  if (const CUresult error = AllowedForContext(context)) return error;
  context.streams().Synchronize();
  TrimPoolsAfterWait();
  return context.error();
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return Create(pctx, flags, dev);
}
CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) { return Create(pctx, flags, dev); }

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                        CUdevice dev) {
  if (numParams < 0 || (paramsArray == nullptr) != (numParams == 0)) return CUDA_ERROR_INVALID_VALUE;
  if (numParams > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return Create(pctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
                        CUdevice dev) {
  if (ctxCreateParams == nullptr) return Create(pctx, flags, dev);
  if (ctxCreateParams->cigParams != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate_v3(pctx, ctxCreateParams->execAffinityParams, ctxCreateParams->numExecAffinityParams,
                        flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  if (const CUresult error = CheckInitialised()) return error;
  if (ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = From<Context>(ctx);
  if (context == nullptr || context->primary()) return CUDA_ERROR_INVALID_CONTEXT;
  if (ContextStack::OfThread().top() == context) ContextStack::OfThread().Pop();
  context->End();
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx) { return cuCtxDestroy_v2(ctx); }

CUresult cuCtxAttach(CUcontext* pctx, unsigned int flags) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (pctx == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  ++context->uses;
  *pctx = HandleOf(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext ctx) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (HandleOf(context) != ctx || context->primary()) return CUDA_ERROR_INVALID_CONTEXT;
  return --context->uses > 0 ? CUDA_SUCCESS : cuCtxDestroy_v2(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  if (const CUresult error = CheckInitialised()) return error;
  if (ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = From<Context>(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ContextStack::OfThread().Push(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx) { return cuCtxPushCurrent_v2(ctx); }

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  if (const CUresult error = CheckInitialised()) return error;
  Context* const context = ContextStack::OfThread().Pop();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = HandleOf(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* pctx) { return cuCtxPopCurrent_v2(pctx); }

CUresult cuCtxSetCurrent(CUcontext ctx) {
  if (const CUresult error = CheckInitialised()) return error;
  Context* const context = From<Context>(ctx);
  if (context == nullptr && ctx != nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ContextStack::OfThread().SetTop(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  if (const CUresult error = CheckInitialised()) return error;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = ContextStack::OfThread().top();
  *pctx = context == nullptr ? nullptr : HandleOf(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  Context* context;
  if (const CUresult error = ContextOf(ctx, context)) return error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device().ordinal();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) { return cuCtxGetDevice_v2(device, nullptr); }

CUresult cuCtxGetFlags(unsigned int* flags) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (!AreContextFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
  context->set_flags(flags);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  Context* context;
  if (const CUresult error = ContextOf(ctx, context)) return error;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ctxId = context->id();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  Context* context;
  if (const CUresult error = ContextOf(ctx, context)) return error;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kApiVersion;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  return Synchronize(*context);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  Context* context;
  if (const CUresult error = ContextOf(ctx, context)) return error;
  return Synchronize(*context);
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::atomic<size_t>* const value = context->limit(limit);
  if (value == nullptr)
    return limit >= 0 && limit <= CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED ? CUDA_ERROR_UNSUPPORTED_LIMIT
                                                                      : CUDA_ERROR_INVALID_VALUE;
  *pvalue = *value;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (context->limit(limit) == nullptr)
    return limit >= 0 && limit <= CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED ? CUDA_ERROR_UNSUPPORTED_LIMIT
                                                                      : CUDA_ERROR_INVALID_VALUE;
  return context->SetLimit(limit, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = context->cache_config;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return CUDA_ERROR_INVALID_VALUE;
  context->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;  // all that devices have had for long; setting it
                                                        // changes nothing
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (leastPriority != nullptr) *leastPriority = kLeastPriority;
  if (greatestPriority != nullptr) *greatestPriority = kGreatestPriority;
  return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache() {
  Context* context;
  return CurrentContext(context);
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* pExecAffinity, CUexecAffinityType type) {
  Context* context;
  if (const CUresult error = CurrentContext(context)) return error;
  if (pExecAffinity == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
  *pExecAffinity = {};
  pExecAffinity->type = type;
  pExecAffinity->param.smCount.val = static_cast<unsigned>(context->device().multiprocessors());
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Context* const peer = From<Context>(peerContext);
  if (peer == nullptr || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
  if (&peer->device() == &context->device()) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return context->AddPeer(*peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  const Context* const peer = From<Context>(peerContext);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->RemovePeer(*peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context& context = device->primary();
  std::lock_guard lock(PrimaryMutex());
  if (!context.alive()) context.Begin(context.flags());
  ++context.uses;
  *pctx = HandleOf(&context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  Context& context = device->primary();
  std::lock_guard lock(PrimaryMutex());
  if (context.uses == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--context.uses == 0) context.End();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) { return cuDevicePrimaryCtxRelease_v2(dev); }

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  std::lock_guard lock(PrimaryMutex());
  device->primary().End();  // the next retain begins it anew; who has retained it still has
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) { return cuDevicePrimaryCtxReset_v2(dev); }

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (!AreContextFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
  device->primary().set_flags(flags);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary().flags();
  *active = device->primary().alive() ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
