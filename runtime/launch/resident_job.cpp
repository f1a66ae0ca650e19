// The grid of a resumable kernel. Each worker takes turns over the blocks (clusters) that are resident on it;
// when none of them makes progress, it begins the next one of the grid, in index order, up to a bound; when
// there is none to begin, it lets other threads of the machine run. So blocks that wait for earlier blocks
// always end. In a cooperative launch, where only the grid bounds the number of residents, blocks may wait
// for any other block, even with one worker.
#include <algorithm>
#include <chrono>
#include <csetjmp>
#include <thread>

#include "runtime/abi/launch_shape.h"
#include "runtime/launch/resident.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kHelpSeconds = 20e-6;  // work left that is worth waking other threads for
// For launches that are not cooperative: blocks per worker, as many as a large device holds, because programs
// with a grid barrier of their own rely on that; and the memory that they may take together.
constexpr uint64_t kMaxResident = 4224, kMaxBytes = uint64_t{1} << 30;
// Blocks' memory that an arena keeps for the next launch.
constexpr size_t kKeptMemories = 64, kKeptBytes = size_t{1} << 26;
// Cooperative launches: how long a worker with its share of the grid waits for others to take theirs.
constexpr auto kShareSeconds = std::chrono::microseconds(500);

class ResidentJob final : public LaunchJob {
 public:
  ResidentJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
              const LaunchOptions& options);

  bool Exhausted() const override { return next_.load(std::memory_order_relaxed) >= total_ || failed(); }

  // The next cluster of the grid; total() or more: none is left.
  uint64_t Claim() { return next_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t left() const { return total_ - std::min(total_, next_.load(std::memory_order_relaxed)); }
  uint64_t total() const { return total_; }
  bool cooperative() const { return cooperative_; }
  const std::optional<uint64_t>& order() const { return order_; }
  uint64_t share() const { return share_; }

 private:
  bool RunBlocks(unsigned worker, Arena& arena) override;

  uint64_t total_;  // clusters
  const bool cooperative_;
  const std::optional<uint64_t> order_;
  uint64_t share_;  // clusters a worker begins without looking for others
  alignas(64) std::atomic<uint64_t> next_{0};
};

// One worker's part of a job.
class Rotation {
 public:
  Rotation(ResidentJob& job, unsigned worker, Arena& arena)
      : job_(job), worker_(worker), arena_(arena), share_(job.share()), asked_(job.help_requested()) {
    if (!job.order()) return;
    order_.emplace(*job.order());
    begins_.emplace(*job.order(), job.total());
    asked_ = true;  // one worker
  }
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  // False: there was no cluster to begin.
  bool Work(LandingPoint& landing);
  const RunningBlock& running() const { return running_; }

 private:
  bool TakeTurns();
  bool MayBegin();
  bool BeginNext();
  bool LackMemory();
  void AskForHelp(bool stalled);

  ResidentJob& job_;
  const unsigned worker_;
  Arena& arena_;
  uint64_t share_;
  bool asked_;
  uint64_t done_ = 0;
  Clock::time_point start_ = Clock::now(), last_begin_ = start_;
  std::vector<std::unique_ptr<Resident>> residents_, idle_;
  RunningBlock running_;
  std::optional<RandomOrder> order_;   // of turns
  std::optional<Permutation> begins_;  // which cluster of the grid begins next
};

ResidentJob::ResidentJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
                         const LaunchOptions& options)
    : LaunchJob(kernel, shape, params, options), cooperative_(options.cooperative), order_(options.order) {
  const Dim3 &grid = this->shape().grid, &cluster = this->shape().cluster;
  const uint64_t per_cluster = uint64_t{cluster.x} * cluster.y * cluster.z;
  total_ = Volume(grid) / per_cluster;
  const unsigned pool = ThreadPool::Get().size();
  const uint64_t workers = options.max_workers == 0 ? pool : std::min(options.max_workers, pool);
  const uint64_t by_memory = kMaxBytes / (ResidentBytes(kernel, shape) * per_cluster);
  share_ = cooperative_
               ? (total_ + workers - 1) / workers
               : std::clamp<uint64_t>(by_memory, 1, std::max<uint64_t>(1, kMaxResident / per_cluster));
}

Rotation::~Rotation() {
  for (auto& resident : residents_) resident->ReturnMemory(arena_);
  for (auto& resident : idle_) resident->ReturnMemory(arena_);
  size_t bytes = 0, kept = 0;
  for (const auto& memory : arena_.resident) {
    bytes += memory->bytes();
    if (kept == kKeptMemories || bytes > kKeptBytes) break;
    ++kept;
  }
  arena_.resident.resize(kept);
}

// False: the launch has failed.
bool Rotation::TakeTurns() {
  bool progressed = false;
  for (size_t left = order_ ? residents_.size() : 0; left > 1; --left)
    std::swap(residents_[left - 1], residents_[order_->Below(left)]);
  for (size_t i = 0; i < residents_.size();) {
    Resident& resident = *residents_[i];
    const Verdict verdict = resident.Run(job_, running_);
    if (verdict == Verdict::kFaulted) job_.Fail(resident.Fault(job_));
    if (job_.failed()) return false;
    progressed |= resident.progressed();
    if (verdict != Verdict::kDone) {
      ++i;
      continue;
    }
    ++done_;
    idle_.push_back(std::move(residents_[i]));
    residents_.erase(residents_.begin() + static_cast<ptrdiff_t>(i));
  }
  AskForHelp(!progressed);
  if (progressed && !residents_.empty()) return true;
  if (!BeginNext() && !residents_.empty() && !job_.failed() && !order_) std::this_thread::yield();
  return !job_.failed();
}

void Rotation::AskForHelp(bool stalled) {
  if (asked_ || job_.left() == 0 || job_.total() == 1) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double per_block = seconds / static_cast<double>(done_ + 1);
  if (!stalled && !job_.cooperative() && per_block * static_cast<double>(job_.left()) < kHelpSeconds) return;
  asked_ = true;
  ThreadPool::Get().RequestHelp(job_);
}

bool Rotation::MayBegin() {
  if (residents_.size() < share_ || residents_.empty()) return true;
  if (!job_.cooperative() || job_.left() == 0 || Clock::now() - last_begin_ < kShareSeconds) return false;
  share_ *= 2;  // no other worker came
  return true;
}

// False. Ends the beginning of blocks, since there is no memory for one more: only the resident blocks go
// through their turns. Returns false.
bool Rotation::LackMemory() {
  idle_.back()->ReturnMemory(arena_);
  idle_.pop_back();
  if (residents_.empty() || job_.cooperative()) job_.Fail(job_.NoMemory());
  share_ = residents_.size();
  return false;
}

// Begins the next cluster of the grid, or several, so that many residents are not polled in vain for each new
// one. False: there is none to begin now.
bool Rotation::BeginNext() {
  const size_t wanted = 1 + (job_.cooperative() ? residents_.size() : residents_.size() / 16);
  for (size_t n = 0; n < wanted; ++n) {
    if (job_.left() == 0 || !MayBegin()) return n != 0;
    if (idle_.empty()) {
      idle_.push_back(std::make_unique<Resident>());
      if (!idle_.back()->Prepare(job_, arena_, worker_)) return LackMemory();
    }
    const uint64_t index = job_.Claim();
    if (index >= job_.total()) return n != 0;
    idle_.back()->Start(job_, begins_ ? (*begins_)(index) : index);
    residents_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    if (job_.cooperative()) last_begin_ = Clock::now();
  }
  return true;
}

bool Rotation::Work(LandingPoint& landing) {
  running_.landing = &landing;
  if (job_.cooperative()) AskForHelp(true);
  if (!BeginNext()) return false;
  while (TakeTurns() && (!residents_.empty() || job_.left() != 0)) {
  }
  return true;
}

bool ResidentJob::RunBlocks(unsigned worker, Arena& arena) {
  Rotation rotation(*this, worker, arena);
  LandingPoint landing;
  LandingScope scope(landing, help_requested());
  // No signal mask is saved: the handlers run without blocking their signal (see fault.cpp).
  if (sigsetjmp(landing.jump, 0) != 0) {
    UnblockFaultSignals();
    const FaultRecord record = landing.record;
    const RunningBlock& running = rotation.running();
    const WarpLanes lanes = running.scheduler == nullptr ? WarpLanes{} : running.scheduler->LanesOfStep();
    Fail(Fault(record, *running.block, *running.memory, lanes));
    return true;
  }
  return rotation.Work(landing);
}

}  // namespace

std::shared_ptr<LaunchJob> MakeResidentJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                           const std::byte* params, const LaunchOptions& options) {
  return std::make_shared<ResidentJob>(kernel, shape, params, options);
}

}  // namespace ptx2cpu::rt
