#include "runtime/cuda/driver/context/context.h"

#include <type_traits>
#include <utility>

#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/context/stream_object.h"
#include "runtime/cuda/driver/core/errors.h"
#include "runtime/worker/per_thread.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

std::atomic<uint64_t> next_context_id{1};

// `least` and `most` as an H200 takes them: less becomes the least, more is an error.
struct LimitRow {
  CUlimit limit;
  size_t at_first;
  size_t least = 0, most = SIZE_MAX;
};
constexpr LimitRow kLimits[] = {
    {CU_LIMIT_STACK_SIZE, 1024, 16, 512 << 10},    {CU_LIMIT_PRINTF_FIFO_SIZE, 8650752, 512 << 10},
    {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20, 4 << 20}, {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},       {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0},
    {CU_LIMIT_SHMEM_SIZE, kMaxSharedBytes},        {CU_LIMIT_CIG_ENABLED, 0},
};

// Streams of this thread, one for each context it uses. Work in them continues after the thread ends.
struct ThreadStream {
  uint64_t context_id;
  std::unique_ptr<StreamObject> stream;
};
using ThreadStreams = std::vector<ThreadStream>;

// For kernels that ask.
rt::DeviceFacts FactsOf(const Device& device) {
  rt::DeviceFacts facts;
  facts.ordinal = device.ordinal();
  facts.count = Devices::Get().count();
  facts.attribute = [](uint32_t attribute, int32_t ordinal, int32_t* value) {
    return DeviceAttribute(value, static_cast<CUdevice_attribute>(attribute), ordinal) == CUDA_SUCCESS;
  };
  return facts;
}

}  // namespace

Context::Context(Device& device, bool primary)
    : device_(device), primary_(primary), streams_(std::make_unique<rt::StreamGroup>()) {
  ResetLimits();
}

Context::~Context() = default;

void Context::ResetLimits() {
  for (const LimitRow& row : kLimits) limit(row.limit)->store(row.at_first, std::memory_order_relaxed);
}

std::atomic<size_t>* Context::limit(CUlimit limit) {
  static_assert(std::is_same_v<size_t, uint64_t>);
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return &services_.limits.stack_bytes;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return &services_.limits.printf_bytes;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return &services_.limits.heap_bytes;
    default:
      break;
  }
  for (const LimitRow& row : kLimits) {
    if (row.limit == limit) return &limits_[limit];
  }
  return nullptr;
}

bool Context::SetLimit(CUlimit which, size_t value) {
  if (which == CU_LIMIT_MALLOC_HEAP_SIZE && services_.heap.was_used()) return false;
  if (which == CU_LIMIT_PRINTF_FIFO_SIZE && services_.printed.load(std::memory_order_relaxed)) return false;
  for (const LimitRow& row : kLimits) {
    if (row.limit != which) continue;
    if (value > row.most) return false;
    limit(which)->store(std::max(value, row.least), std::memory_order_relaxed);
  }
  return true;
}

void Context::Begin(unsigned flags) {
  streams_ = std::make_unique<rt::StreamGroup>();
  legacy_stream_ = std::make_unique<StreamObject>(*this, streams_->legacy().shared_from_this(),
                                                  StreamObject::Role::kLegacy, 0u, 0);
  ResetLimits();
  services_.device = FactsOf(device_);
  peers_.clear();
  cache_config = CU_FUNC_CACHE_PREFER_NONE;
  set_flags(flags);
  id_.store(next_context_id.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  Handles::Get().Add(this, kKind);
  alive_.store(true, std::memory_order_release);
}

void Context::End() {
  if (!Handles::Get().Remove(this, kKind)) return;
  alive_.store(false, std::memory_order_release);
  streams_->Synchronize();
  for (;;) {  // what is destroyed may disown others
    std::unique_lock lock(mutex_);
    if (owned_.empty()) break;
    const Owned youngest = std::prev(owned_.end())->second;
    owned_.erase(std::prev(owned_.end()));
    owned_number_.erase(youngest.object);
    lock.unlock();
    youngest.destroy(youngest.object);
  }
  services_.heap.Clear();  // after those that look at what is left in it
  services_.printed = false;
}

void Context::Own(void* object, void (*destroy)(void*)) {
  std::lock_guard lock(mutex_);
  owned_number_[object] = next_owned_;
  owned_[next_owned_++] = {object, destroy};
}

bool Context::Disown(void* object) {
  std::lock_guard lock(mutex_);
  const auto number = owned_number_.find(object);
  if (number == owned_number_.end()) return false;
  owned_.erase(number->second);
  owned_number_.erase(number);
  return true;
}

bool Context::AddPeer(const Context& peer) {
  std::lock_guard lock(mutex_);
  return peers_.insert(peer.id()).second;
}

bool Context::RemovePeer(const Context& peer) {
  std::lock_guard lock(mutex_);
  return peers_.erase(peer.id()) == 1;
}

StreamObject& Context::per_thread_stream() {
  ThreadStreams& thread_streams = rt::PerThread<ThreadStreams>();
  for (const ThreadStream& own : thread_streams) {
    if (own.context_id == id()) return *own.stream;
  }
  std::erase_if(thread_streams, [](const ThreadStream& own) {
    Context& context = own.stream->context();
    return !context.alive() || context.id() != own.context_id;
  });
  auto stream = std::make_unique<StreamObject>(*this, streams_->NewStream(rt::StreamKind::kBlocking),
                                               StreamObject::Role::kPerThread, 0u, 0);
  thread_streams.push_back({id(), std::move(stream)});
  return *thread_streams.back().stream;
}

CUresult Context::StickyError() const {
  const auto error = streams_->errors()->error();
  return error ? ResultOf(*error) : CUDA_ERROR_UNKNOWN;
}

ContextStack& ContextStack::OfThread() { return rt::PerThread<ContextStack>(); }

Context* ContextStack::Pop() {
  if (contexts_.empty()) return nullptr;
  Context* const context = contexts_.back();
  contexts_.pop_back();
  return context;
}

void ContextStack::SetTop(Context* context) {
  if (!contexts_.empty()) contexts_.pop_back();
  if (context != nullptr) contexts_.push_back(context);
}

CUresult CurrentContext(Context*& context) {
  if (const CUresult error = CheckInitialised()) return error;
  context = ContextStack::OfThread().top();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->alive() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult WorkingContext(Context*& context) {
  if (const CUresult error = CurrentContext(context)) return error;
  return context->error();
}

CUresult StateOfWork() {
  Context* context;
  return WorkingContext(context);
}

Context& NewContext(Device& device, unsigned flags) {
  static std::mutex mutex;
  static auto* const contexts = new std::vector<std::unique_ptr<Context>>;  // for ever
  auto context = std::make_unique<Context>(device, false);
  Context& result = *context;
  result.Begin(flags);
  std::lock_guard lock(mutex);
  contexts->push_back(std::move(context));
  return result;
}

}  // namespace ptx2cpu::driver
