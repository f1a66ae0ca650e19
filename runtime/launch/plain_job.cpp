// The grid of a kernel that runs a block to its end in one call: workers claim chunks of blocks in index
// order.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "runtime/launch/launch_job.h"
#include "runtime/worker/deferred_atomics.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kChunkSeconds =
    50e-6;  // aim of one claim: long against an atomic add, short against a launch
constexpr double kHelpSeconds = 20e-6;  // work left that is worth waking other threads for

class PlainJob final : public LaunchJob {
 public:
  PlainJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
           const LaunchOptions& options)
      : LaunchJob(kernel, shape, params, options),
        total_(uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z) {}

  bool Exhausted() const override { return next_.load(std::memory_order_relaxed) >= total_ || failed(); }

 private:
  bool RunBlocks(unsigned worker, Arena& arena) override;
  void RunChunk(ptx2cpu_block& block, uint64_t first, uint64_t count);

  const uint64_t total_;
  alignas(64) std::atomic<uint64_t> next_{0};
};

// Divisions once per chunk, and what is the same for a row once per row: they would be half the cost of a
// tiny block. Not inlined: a function that calls sigsetjmp keeps fewer values of the loop in registers.
[[gnu::noinline]] void PlainJob::RunChunk(ptx2cpu_block& block, uint64_t first, uint64_t count) {
  const Dim3 grid = shape().grid;
  const uint64_t plane = uint64_t{grid.x} * grid.y, rest = first % plane;
  const bool resets_live = (kernel().flags & PTX2CPU_KERNEL_HAS_EARLY_EXIT) != 0;
  const ptx2cpu_block_function run_block = kernel().run_block;
  auto x = static_cast<uint32_t>(rest % grid.x), y = static_cast<uint32_t>(rest / grid.x),
       z = static_cast<uint32_t>(first / plane);
  while (count != 0) {
    const uint32_t end = x + static_cast<uint32_t>(std::min<uint64_t>(count, grid.x - x));
    count -= end - x;
    block.ctaid[1] = y, block.ctaid[2] = z;
    for (; x != end; ++x) {
      block.ctaid[0] = x;
      if (resets_live) InitialiseLiveMasks(block);
      run_block(&block);
    }
    x = 0;
    if (++y < grid.y) continue;
    y = 0;
    ++z;
  }
}

bool PlainJob::RunBlocks(unsigned worker, Arena& arena) {
  ptx2cpu_block block;
  if (!FillBlock(block, arena.block, arena, worker)) {
    Fail(NoMemory());
    return false;
  }
  DeferredAtomics deferred(kernel(), block);
  LandingPoint landing;
  landing.block = &block;
  LandingScope scope(landing);
  // No signal mask is saved: the handlers run without blocking their signal (see fault.cpp).
  if (sigsetjmp(landing.jump, 0) != 0) {
    UnblockFaultSignals();
    const FaultRecord record = landing.record;
    Fail(Fault(record, block, arena.block, {}));
    return true;
  }
  bool any = false;
  uint64_t grain = 1;
  const bool helper = help_requested();
  bool asked = helper;
  while (!failed() && !(helper && ThreadPool::Get().OtherWorkWaits())) {
    const uint64_t first = next_.fetch_add(grain, std::memory_order_relaxed);
    if (first >= total_) break;
    any = true;
    const uint64_t count = std::min(grain, total_ - first);
    if (!asked && total_ == 1) asked = true;
    const Clock::time_point start = total_ == 1 ? Clock::time_point{} : Clock::now();
    RunChunk(block, first, count);
    if (total_ == 1) break;
    const double per_block =
        std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(count) + 1e-9;
    const uint64_t left = total_ - std::min(total_, next_.load(std::memory_order_relaxed));
    if (!asked && per_block * static_cast<double>(left) > kHelpSeconds) {
      asked = true;
      ThreadPool::Get().RequestHelp(shared_from_this());
    }
    const uint64_t fair = std::max<uint64_t>(1, left / (4 * block.worker_count));
    grain = std::clamp<uint64_t>(static_cast<uint64_t>(kChunkSeconds / per_block), 1, fair);
  }
  deferred.Finish();
  return any;
}

}  // namespace

namespace {

// Small kernels are launched millions of times: each thread keeps the memory of the last job that ended on
// it. Launches come as late as from destructors of static objects, after those of thread-locals: what has a
// destructor is apart from what is used then.
struct KeptMemory {
  void* memory = nullptr;
  bool ended = false;
};
thread_local KeptMemory kept_memory;
struct KeptMemoryEnd {
  bool registered = false;
  ~KeptMemoryEnd() {
    kept_memory.ended = true;
    std::free(std::exchange(kept_memory.memory, nullptr));
  }
};
thread_local KeptMemoryEnd kept_memory_end;

template <typename T>
struct KeepingAllocator {
  using value_type = T;
  KeepingAllocator() = default;
  template <typename U>
  KeepingAllocator(const KeepingAllocator<U>&) {}

  // One size only: that of a job with its reference counts.
  T* allocate(size_t count) {
    if (void* memory = std::exchange(kept_memory.memory, nullptr)) return static_cast<T*>(memory);
    constexpr size_t kAlign = std::max<size_t>(64, alignof(T));
    void* memory = std::aligned_alloc(kAlign, (count * sizeof(T) + kAlign - 1) / kAlign * kAlign);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) {
    if (kept_memory.ended) return std::free(memory);
    kept_memory_end.registered = true;  // makes sure that it is destroyed with the thread
    std::free(std::exchange(kept_memory.memory, memory));
  }
  template <typename U>
  bool operator==(const KeepingAllocator<U>&) const {
    return true;
  }
};

}  // namespace

std::shared_ptr<LaunchJob> MakePlainJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                        const std::byte* params, const LaunchOptions& options) {
  return std::allocate_shared<PlainJob>(KeepingAllocator<PlainJob>(), kernel, shape, params, options);
}

}  // namespace ptx2cpu::rt
