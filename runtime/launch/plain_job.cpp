// The grid of a kernel that runs a block to its end in one call.
//
// The owner begins with block 0. Once it asks for help, the grid is divided into one part for each worker,
// which claims chunks of its part in index order. So launches of one grid give a worker the same blocks,
// whose data is in its caches: a line that another core has written costs several times what a block does
// with it. Therefore a worker that has no blocks left takes those of others only from a part without a
// worker, or where there are many, or where it has waited in vain for them to become less; of all parts, from
// the lowest. A block that waits for a lower one, by loads that the compiler did not recognise as a wait,
// still ends: the lowest block that has not been claimed is the next that the part's worker or the owner
// claims.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "runtime/check/checks.h"
#include "runtime/launch/launch_job.h"
#include "runtime/worker/deferred_atomics.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kChunkSeconds =
    50e-6;  // aim of one claim: long against an atomic add, short against a launch
constexpr double kHelpSeconds =
    20e-6;  // work left that is worth waking other threads for, or taking from them

class PlainJob final : public LaunchJob {
 public:
  PlainJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
           const LaunchOptions& options)
      : LaunchJob(kernel, shape, params, options),
        total_(uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z) {
    const unsigned pool = ThreadPool::Get().size();
    const uint64_t workers = options.max_workers == 0 ? pool : std::min(options.max_workers, pool);
    part_count_ = static_cast<uint32_t>(std::min(workers, total_));
  }

  // Asked by those who would help.
  bool Exhausted() const override { return open_.load(std::memory_order_relaxed) == 0 || failed(); }

 private:
  struct alignas(64) Part {
    std::atomic<uint64_t> next{0};
    std::atomic<uint32_t> workers{0};  // that claim it as their own
    uint64_t end = 0;
    uint64_t left() const { return end - std::min(end, next.load(std::memory_order_relaxed)); }
  };
  struct Chunk {
    uint64_t first = 0, count = 0;
  };

  bool RunBlocks(unsigned worker, Arena& arena) override;
  void RunChunk(ptx2cpu_block& block, Chunk chunk);
  void Divide(unsigned worker);
  uint32_t PartOf(unsigned worker) const {
    return (worker + part_count_ - owner_ % part_count_) % part_count_;
  }
  Chunk Claim(uint32_t& part, uint64_t grain, uint64_t worth_taking);
  bool Await() const;
  Chunk ClaimAlone(uint64_t grain);

  const uint64_t total_;
  uint64_t begun_ = 0;  // by the owner, before it asks for help
  unsigned owner_ = 0;
  uint32_t part_count_ = 1;                    // one for each worker
  std::unique_ptr<Part[]> parts_;              // once help is asked for
  alignas(64) std::atomic<uint32_t> open_{1};  // parts that have blocks left
};

void PlainJob::Divide(unsigned worker) {
  owner_ = worker;
  parts_ = std::make_unique<Part[]>(part_count_);
  parts_[0].workers.store(1, std::memory_order_relaxed);  // the owner
  uint64_t begin = 0;
  uint32_t open = 0;
  for (uint32_t n = 0; n < part_count_; ++n) {
    Part& part = parts_[n];
    part.end = begin + total_ / part_count_ + (n < total_ % part_count_ ? 1 : 0);
    part.next.store(std::min(part.end, std::max(begin, begun_)), std::memory_order_relaxed);
    open += part.left() != 0 ? 1 : 0;
    begin = part.end;
  }
  open_.store(open, std::memory_order_relaxed);
}

PlainJob::Chunk PlainJob::ClaimAlone(uint64_t grain) {
  const Chunk chunk{begun_, std::min(grain, total_ - begun_)};
  begun_ += chunk.count;
  return chunk;
}

// From `part` or the lowest that blocks may be taken from, which is `part` then. An empty chunk: there is
// none.
PlainJob::Chunk PlainJob::Claim(uint32_t& part, uint64_t grain, uint64_t worth_taking) {
  while (part < part_count_) {
    Part& here = parts_[part];
    if (here.left() != 0) {
      const uint64_t first = here.next.fetch_add(grain, std::memory_order_relaxed);
      if (first < here.end) {
        if (here.end - first <= grain) open_.fetch_sub(1, std::memory_order_relaxed);
        return {first, std::min(grain, here.end - first)};
      }
    }
    for (part = 0; part < part_count_; ++part) {
      const uint64_t left = parts_[part].left();
      if (left > worth_taking || (left != 0 && parts_[part].workers.load(std::memory_order_relaxed) == 0))
        break;
    }
  }
  return {};
}

// Until the others have claimed all blocks, for a short while. False: they have not.
bool PlainJob::Await() const {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kHelpSeconds));
  while (!Exhausted()) {
    if (Clock::now() > end) return false;
    Pause();
  }
  return true;
}

// Divisions once per chunk, and what is the same for a row once per row: they would be half the cost of a
// tiny block. Not inlined: a function that calls sigsetjmp keeps fewer values of the loop in registers.
[[gnu::noinline]] void PlainJob::RunChunk(ptx2cpu_block& block, Chunk chunk) {
  auto [first, count] = chunk;
  const Dim3 grid = shape().grid;
  const uint64_t plane = uint64_t{grid.x} * grid.y, rest = first % plane;
  const bool resets_live = (kernel().flags & PTX2CPU_KERNEL_HAS_EARLY_EXIT) != 0;
  const bool checks = check::Wanted();
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
      if (checks) [[unlikely]]
        check::BeginBlock(block);
      run_block(&block);
      if (checks) [[unlikely]]
        check::EndBlock(block);
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
  uint32_t part = helper ? PartOf(worker) : 0;
  uint64_t worth_taking = 0;
  if (helper) parts_[part].workers.fetch_add(1, std::memory_order_relaxed);
  while (!failed() && !(helper && ThreadPool::Get().OtherWorkWaits())) {
    const Chunk chunk = parts_ == nullptr ? ClaimAlone(grain) : Claim(part, grain, worth_taking);
    if (chunk.count == 0) {
      if (helper || parts_ == nullptr || Await()) break;
      part = 0, grain = 1, worth_taking = 0;
      continue;
    }
    any = true;
    const Clock::time_point start = total_ == 1 ? Clock::time_point{} : Clock::now();
    RunChunk(block, chunk);
    if (total_ == 1) break;
    const double per_block =
        std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(chunk.count) + 1e-9;
    if (part_count_ > 1 && parts_ == nullptr &&
        per_block * static_cast<double>(total_ - begun_) > kHelpSeconds) {
      Divide(worker);
      ThreadPool::Get().RequestHelp(shared_from_this());
    }
    const bool own = parts_ != nullptr && part == PartOf(worker);
    if (parts_ == nullptr || own) worth_taking = static_cast<uint64_t>(kHelpSeconds / per_block);
    const uint64_t left = parts_ == nullptr ? total_ - begun_ : parts_[part].left();
    const uint64_t fair = std::max<uint64_t>(1, left / (own ? 4 : 4 * block.worker_count));
    grain = std::clamp<uint64_t>(static_cast<uint64_t>(kChunkSeconds / per_block), 1, fair);
  }
  if (parts_ != nullptr) parts_[PartOf(worker)].workers.fetch_sub(1, std::memory_order_relaxed);
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
