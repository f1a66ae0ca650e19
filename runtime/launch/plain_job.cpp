// The grid of a kernel that runs a block to its end in one call.
//
// The owner begins with block 0. Once it asks for help, the grid is divided into one part for each worker
// that the work is worth, which claims chunks of its part in index order. So repeated launches of one grid
// give a worker the same blocks, whose data is in its caches: to fetch a line that another core has written
// costs several times the work of a block on it. Therefore a worker without blocks takes blocks of another
// part only if that part has no worker, or many blocks left, or if it has waited for the part to shrink and
// it has not; among such parts it takes the lowest. The time of a block in the last launch decides whether
// the owner calls for help before the first block (BlockTimes). A block that waits for a lower one, by loads
// that the compiler did not recognise as a wait, still ends: the lowest block that has not been claimed is
// the next that the part's worker or the owner claims.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "runtime/abi/launch_shape.h"
#include "runtime/check/checks.h"
#include "runtime/launch/block_times.h"
#include "runtime/launch/blocks_of_code.h"
#include "runtime/launch/counted_blocks.h"
#include "runtime/launch/flushing.h"
#include "runtime/launch/joined_blocks.h"
#include "runtime/launch/later_code.h"
#include "runtime/launch/launch_job.h"
#include "runtime/launch/swapped_axes.h"
#include "runtime/profile/profile.h"
#include "runtime/worker/deferred_atomics.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kChunkSeconds =
    50e-6;  // aim of one claim: long against an atomic add, short against a launch
// The remaining work that justifies waking other threads, or taking blocks from them, and the work that
// justifies one more thread; then both for threads that do not sleep.
constexpr double kHelpSeconds = 20e-6, kShareSeconds = 8e-6;
constexpr double kNearHelpSeconds = 8e-6, kNearShareSeconds = 3e-6;

BlockTimes block_times;

class PlainJob final : public LaunchJob {
 public:
  PlainJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
           const LaunchOptions& options)
      : LaunchJob(kernel, shape, params, options),
        total_(Volume(shape.grid)),
        later_(options.later),
        code_(&kernel) {
    const unsigned pool = ThreadPool::Get().size();
    const uint64_t workers = options.max_workers == 0 ? pool : std::min(options.max_workers, pool);
    max_parts_ = static_cast<uint32_t>(std::min(workers, total_));
    joined_ = JoinedBlocks(kernel, this->shape(), max_parts_);
    if (profile::Wanted()) [[unlikely]]
      counting_ = profile::TakeCounting(kernel, profile::Counted::kBlocks);
  }

  // Called by workers that may help.
  bool Exhausted() const override {
    return failed() || std::all_of(parts_.get(), parts_.get() + part_count_,
                                   [](const Part& part) { return part.left() == 0; });
  }

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
  void RunChunk(ptx2cpu_block& block, Chunk chunk, ptx2cpu_block_function run_block);
  void RunRow(ptx2cpu_block& block, uint32_t first, uint32_t end, ptx2cpu_block_function run_block);
  void AskForHelp(unsigned worker, double per_block);
  void AskForMore(double per_block);
  void Divide(unsigned worker);
  uint32_t TakePart(unsigned worker);
  Chunk Claim(uint32_t& part, uint64_t grain, uint64_t worth_taking);
  uint64_t Grain(uint32_t part, uint32_t home, double per_block) const;
  bool Await() const;
  Chunk ClaimAlone(uint64_t grain);

  void LookForLaterCode();

  const uint64_t total_;
  const Clock::time_point start_ = Clock::now();
  LaterCode* const later_;
  std::atomic<const ptx2cpu_kernel*> code_;  // what blocks that begin now run
  uint64_t begun_ = 0;                       // by the owner, before it asks for help
  unsigned owner_ = 0;
  uint32_t max_parts_ = 1, part_count_ = 1;   // one for each worker
  uint32_t joined_ = 1;                       // blocks that run as one (runtime/abi/joined_blocks.h)
  const ptx2cpu_kernel* counting_ = nullptr;  // what some blocks run to be counted; null: none do
  std::unique_ptr<Part[]> parts_;             // once help is asked for
};

void PlainJob::Divide(unsigned worker) {
  owner_ = worker;
  parts_ = std::make_unique<Part[]>(part_count_);
  parts_[0].workers.store(1, std::memory_order_relaxed);  // the owner
  uint64_t begin = 0;
  for (uint32_t n = 0; n < part_count_; ++n) {
    Part& part = parts_[n];
    part.end = begin + total_ / part_count_ + (n < total_ % part_count_ ? 1 : 0);
    part.next.store(std::min(part.end, std::max(begin, begun_)), std::memory_order_relaxed);
    begin = part.end;
  }
}

// The first part without a worker, beginning with the part that this worker has if all workers come.
// Consecutive launches mostly have the same workers.
uint32_t PlainJob::TakePart(unsigned worker) {
  const uint32_t first = (worker + part_count_ - owner_ % part_count_) % part_count_;
  for (uint32_t n = 0; n < part_count_; ++n) {
    Part& part = parts_[(first + n) % part_count_];
    uint32_t none = 0;
    if (part.workers.load(std::memory_order_relaxed) == 0 && part.workers.compare_exchange_strong(none, 1))
      return (first + n) % part_count_;
  }
  parts_[first].workers.fetch_add(1, std::memory_order_relaxed);
  return first;
}

// Requests as many workers as the remaining blocks justify.
void PlainJob::AskForHelp(unsigned worker, double per_block) {
  const double work = per_block * static_cast<double>(total_ - begun_);
  if (max_parts_ == 1 || work <= kNearHelpSeconds) return;
  const bool near = ThreadPool::Get().HelpIsNear();
  if (!near && work <= kHelpSeconds) return;
  const double workers = work / (near ? kNearShareSeconds : kShareSeconds);
  part_count_ = static_cast<uint32_t>(std::clamp(workers, 2.0, static_cast<double>(max_parts_)));
  running_launch()->EndAlone();
  Divide(worker);
  ThreadPool::Get().RequestHelp(*this, part_count_ - 1);
}

// The owner's part takes longer than expected, so the other parts may as well.
void PlainJob::AskForMore(double per_block) {
  const double part = per_block * static_cast<double>(parts_[0].left());
  if (part_count_ == max_parts_ || part <= 2 * kHelpSeconds) return;
  const double workers = std::min(part / kShareSeconds * part_count_, static_cast<double>(max_parts_));
  ThreadPool::Get().RequestHelp(*this, static_cast<unsigned>(workers) - 1);
}

PlainJob::Chunk PlainJob::ClaimAlone(uint64_t grain) {
  const Chunk chunk{begun_, std::min(grain, total_ - begun_)};
  begun_ += chunk.count;
  return chunk;
}

// Claims a chunk of `part`, or of the lowest part that blocks may be taken from, which `part` receives. An
// empty chunk: there is none.
PlainJob::Chunk PlainJob::Claim(uint32_t& part, uint64_t grain, uint64_t worth_taking) {
  while (part < part_count_) {
    Part& here = parts_[part];
    if (here.left() != 0) {
      const uint64_t first = here.next.fetch_add(grain, std::memory_order_relaxed);
      if (first < here.end) return {first, std::min(grain, here.end - first)};
    }
    for (part = 0; part < part_count_; ++part) {
      const uint64_t left = parts_[part].left();
      if (left > worth_taking || (left != 0 && parts_[part].workers.load(std::memory_order_relaxed) == 0))
        break;
    }
  }
  return {};
}

// The number of blocks of the next claim: fewer where the part is another worker's, so that this worker finds
// some when it comes.
uint64_t PlainJob::Grain(uint32_t part, uint32_t home, double per_block) const {
  const uint64_t left = parts_ == nullptr ? total_ - begun_ : parts_[part].left();
  uint64_t fair = left / (parts_ != nullptr && part == home ? 2 : 4 * max_parts_);
  if (parts_ == nullptr && (max_parts_ == 1 || per_block * static_cast<double>(left) <= kNearHelpSeconds))
    fair = left;  // no other worker will help
  const uint64_t grain =
      std::clamp<uint64_t>(static_cast<uint64_t>(kChunkSeconds / per_block), 1, std::max<uint64_t>(1, fair));
  return (grain + joined_ - 1) / joined_ * joined_;
}

// Waits a short while until the others have claimed all blocks. False: they have not.
bool PlainJob::Await() const {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kHelpSeconds));
  while (!Exhausted()) {
    if (Clock::now() > end) return false;
    Pause();
  }
  return true;
}

// Runs the blocks of a row of the grid.
void PlainJob::RunRow(ptx2cpu_block& block, uint32_t first, uint32_t end, ptx2cpu_block_function run_block) {
  const bool resets_live = (kernel().flags & PTX2CPU_KERNEL_HAS_EARLY_EXIT) != 0;
  const bool checks = check::Checks(kernel());
  const bool allocates = (kernel().flags & PTX2CPU_KERNEL_HAS_TENSOR_MEMORY) != 0;
  const Dim3& ntid = shape().block;
  uint32_t count = joined_;
  for (uint32_t x = first; x != end; x += count) {
    block.ctaid[0] = x;
    if (block.alone != 0) block.alone = running_launch()->StaysAlone();
    if (joined_ != 1) {
      count = std::min(joined_, end - x);
      if (block.ntid[0] != ntid.x * count) SetExtent(block, {ntid.x * count, ntid.y, ntid.z});
    }
    if (resets_live) InitialiseLiveMasks(block);
    if (checks) [[unlikely]]
      check::BeginBlock(block);
    if (allocates) [[unlikely]]
      ClearTensorAllocator(block);
    run_block(&block);
    if (checks) [[unlikely]]
      check::EndBlock(block);
  }
}

// Divides once per chunk, and computes values that are the same for a row once per row: otherwise they would
// be half the cost of a tiny block. Not inlined: a function that calls sigsetjmp keeps fewer values of the
// loop in registers.
[[gnu::noinline]] void PlainJob::RunChunk(ptx2cpu_block& block, Chunk chunk,
                                          ptx2cpu_block_function run_block) {
  auto [first, count] = chunk;
  const Dim3 grid = shape().grid;
  const uint64_t plane = uint64_t{grid.x} * grid.y, rest = first % plane;
  auto x = static_cast<uint32_t>(rest % grid.x), y = static_cast<uint32_t>(rest / grid.x),
       z = static_cast<uint32_t>(first / plane);
  while (count != 0) {
    const uint32_t end = x + static_cast<uint32_t>(std::min<uint64_t>(count, grid.x - x));
    count -= end - x;
    block.ctaid[1] = y, block.ctaid[2] = z;
    RunRow(block, x, end, run_block);
    x = 0;
    if (++y < grid.y) continue;
    y = 0;
    ++z;
  }
}

// Blocks are independent of each other, so those that have not begun may run other code.
void PlainJob::LookForLaterCode() {
  if (code_.load(std::memory_order_relaxed) != &kernel()) return;
  const ptx2cpu_kernel* newest = later_->Newest(std::chrono::nanoseconds(Clock::now() - start_).count());
  if (newest != nullptr && newest != &kernel() && MayReplace(kernel(), *newest, parameters()))
    code_.store(newest, std::memory_order_release);
}

bool PlainJob::RunBlocks(unsigned worker, Arena& arena) {
  ptx2cpu_block block;
  if (!FillBlock(block, arena.block, arena.ids, worker, joined_)) {
    Fail(NoMemory());
    return false;
  }
  DeferredAtomics deferred(kernel(), block);
  CountedBlocks counted(*this, counting_, total_, worker);
  BlocksOfCode turned(*this, worker);  // of later code with other axes
  LandingPoint landing;
  landing.block = &block;
  const bool helper = help_requested();
  LandingScope scope(landing, helper);
  // No signal mask is saved: the handlers run without blocking their signal (see fault.cpp).
  if (sigsetjmp(landing.jump, 0) != 0) {
    UnblockFaultSignals();
    FaultRecord record = landing.record;
    ptx2cpu_block& at = *landing.block;
    if (&at == &block) NameBlock(shape().block, at, record);
    const BlockMemory* apart = counted.MemoryOf(at);
    if (apart == nullptr) apart = turned.MemoryOf(at);
    Fail(Fault(record, at, apart == nullptr ? arena.block : *apart, {}));
    return true;
  }
  bool any = false;
  uint64_t grain = joined_;
  const double expected = block_times.Get(kernel());
  if (!helper) AskForHelp(worker, expected);
  const uint32_t home = helper ? TakePart(worker) : 0;
  uint32_t part = home;
  if (expected != 0 && parts_ != nullptr) grain = Grain(part, home, expected);
  uint64_t worth_taking = 0, blocks = 0;
  double seconds = 0;  // that the blocks took
  Clock::time_point start;
  const ptx2cpu_kernel* running = &kernel();
  while (!failed() && !(helper && ThreadPool::Get().OtherWorkWaits())) {
    const Chunk chunk = parts_ == nullptr ? ClaimAlone(grain) : Claim(part, grain, worth_taking);
    if (chunk.count == 0) {
      if (helper || parts_ == nullptr || Await()) break;
      part = 0, grain = joined_, worth_taking = 0, start = {};  // it has waited
      continue;
    }
    any = true;
    if (total_ != 1 && start == Clock::time_point{}) start = Clock::now();
    const ptx2cpu_kernel* code = code_.load(std::memory_order_acquire);
    // Waiting atomics have the form that the code that left them defers; other code may defer other atomics.
    if (std::exchange(running, code) != code) deferred.Finish();
    block.alone = parts_ == nullptr && running_launch()->StaysAlone();
    const auto run = [&](uint64_t first, uint64_t count) {
      if (SwapsAxes(*code) != SwapsAxes(kernel())) [[unlikely]]
        return turned.Run(*code, first, count, landing);
      const FlushingScope flushing(*code);  // a fault's jump restores what was before
      RunChunk(block, {first, count}, code->run_block);
      return true;
    };
    if (!(counted.any() ? counted.RunSome(chunk.first, chunk.count, landing, run)
                        : run(chunk.first, chunk.count))) [[unlikely]]
      Fail(NoMemory());
    if (total_ == 1) break;
    if (later_ != nullptr) [[unlikely]]
      LookForLaterCode();
    const Clock::time_point end = Clock::now();
    const double per_block = std::chrono::duration<double>(end - std::exchange(start, end)).count() /
                                 static_cast<double>(chunk.count) +
                             1e-9;
    if (!helper) {
      seconds += per_block * static_cast<double>(chunk.count), blocks += chunk.count;
      parts_ == nullptr ? AskForHelp(worker, per_block) : AskForMore(per_block);
    }
    if (parts_ == nullptr || part == home) worth_taking = static_cast<uint64_t>(kHelpSeconds / per_block);
    grain = Grain(part, home, per_block);
  }
  if (parts_ != nullptr) parts_[home].workers.fetch_sub(1, std::memory_order_relaxed);
  if (blocks != 0) block_times.Set(kernel(), seconds / static_cast<double>(blocks));
  deferred.Finish();
  counted.Finish(landing);
  turned.Finish(landing);
  return any;
}

// Small kernels are launched millions of times: each thread keeps the memory of the last job that ended on
// it. Launches may even come from destructors of static objects, after those of thread-locals: so members
// with a destructor are separate from those that are used then.
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
