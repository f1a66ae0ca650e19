// Contexts: objects of one device that are destroyed together; and the current context of each thread.
//
// A Context object is never freed, so that a thread's current context can be read without a lock: when
// it is destroyed, everything in it is freed and the object remains, dead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/device/device_services.h"
#include "runtime/stream/stream_group.h"

namespace ptx2cpu::driver {

class Device;
class StreamObject;

class Context {
 public:
  using Handle = cuda::CUcontext;
  static constexpr HandleKind kKind = HandleKind::kContext;

  // Dead until Begin.
  Context(Device& device, bool primary);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() const { return device_; }
  bool primary() const { return primary_; }
  bool alive() const { return alive_.load(std::memory_order_acquire); }
  // Unique in the process; a primary context gets a new one each time it begins.
  uint64_t id() const { return id_.load(std::memory_order_relaxed); }
  unsigned flags() const { return flags_.load(std::memory_order_relaxed); }
  void set_flags(unsigned flags) { flags_.store(flags, std::memory_order_relaxed); }

  // The streams of the context; only while it is alive.
  rt::StreamGroup& streams() const { return *streams_; }
  StreamObject& legacy_stream() const { return *legacy_stream_; }
  // The calling thread's own default stream.
  StreamObject& per_thread_stream();

  // The sticky error: the first fault of a kernel. CUDA_SUCCESS: none.
  cuda::CUresult error() const { return streams_->errors()->failed() ? StickyError() : cuda::CUDA_SUCCESS; }

  // Objects that end with the context: destroy(object) is called then, the youngest first, after all work has
  // ended.
  void Own(void* object, void (*destroy)(void*));
  // The object ends before the context. False: it was not (or no longer) owned.
  bool Disown(void* object);

  // True once for each time that the context begins: for the first caller that provides its memory.
  bool BeginMemory() {
    const uint64_t now = id();
    return memory_since_.load(std::memory_order_acquire) != now && memory_since_.exchange(now) != now;
  }

  // The services for kernels of this context: the heap of device malloc, the limits, facts about the device.
  // They exist as long as the Context object; the heap is emptied when the context ends.
  rt::DeviceServices& services() { return services_; }

  // Limits of cuCtxSetLimit; the limits that kernels see are in services().
  std::atomic<size_t>* limit(cuda::CUlimit limit);  // null: no such limit
  // `limit` must exist. False: too large, or kernels have used what it bounds.
  bool SetLimit(cuda::CUlimit limit, size_t value);
  std::atomic<cuda::CUfunc_cache> cache_config{cuda::CU_FUNC_CACHE_PREFER_NONE};
  // Blocking streams that are being captured: while there are any, the legacy stream must not be used.
  std::atomic<int> blocking_captures{0};
  // Contexts whose memory this one may use (cuCtxEnablePeerAccess). Nothing here forbids access without it,
  // but a second call must return an error. False: it was enabled already.
  bool AddPeer(const Context& peer);
  bool RemovePeer(const Context& peer);
  // cuCtxAttach, cuDevicePrimaryCtxRetain.
  std::atomic<int> uses{0};

  void Begin(unsigned flags);
  // Waits for all work, destroys what the context owns.
  void End();

 private:
  struct Owned {
    void* object;
    void (*destroy)(void*);
  };
  cuda::CUresult StickyError() const;
  void ResetLimits();

  Device& device_;
  const bool primary_;
  std::atomic<bool> alive_{false};
  std::atomic<uint64_t> id_{0};
  std::atomic<uint64_t> memory_since_{0};  // the id at the last BeginMemory
  std::atomic<unsigned> flags_{0};
  std::unique_ptr<rt::StreamGroup> streams_;
  std::unique_ptr<StreamObject> legacy_stream_;
  rt::DeviceServices services_;
  std::array<std::atomic<size_t>, cuda::CU_LIMIT_MAX> limits_{};  // except those of services_
  std::mutex mutex_;                                              // what follows
  std::map<uint64_t, Owned> owned_;                               // in order of age
  std::unordered_map<void*, uint64_t> owned_number_;
  uint64_t next_owned_ = 0;
  std::set<uint64_t> peers_;  // ids
};

// The calling thread's context stack.
class ContextStack {
 public:
  static ContextStack& OfThread();
  Context* top() const { return contexts_.empty() ? nullptr : contexts_.back(); }
  void Push(Context* context) { contexts_.push_back(context); }
  Context* Pop();
  // Replaces the top; null: removes it.
  void SetTop(Context* context);

 private:
  std::vector<Context*> contexts_;
};

// The thread's context, if it can be worked in. Else NOT_INITIALIZED, INVALID_CONTEXT (none),
// CONTEXT_IS_DESTROYED.
cuda::CUresult CurrentContext(Context*& context);
// The same, if no kernel has faulted in it; else the sticky error. Nearly every function begins with it:
//   Context* context;
//   if (const CUresult error = WorkingContext(context)) return error;
cuda::CUresult WorkingContext(Context*& context);

// Makes and begins a context that no thread works in yet; for cuCtxCreate.
Context& NewContext(Device& device, unsigned flags);

}  // namespace ptx2cpu::driver
