#include "runtime/cuda/libraries/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>

#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::libraries {

namespace {

constexpr int64_t kMaxHelpers = 1 << 16;

class PieceJob final : public rt::Job, public std::enable_shared_from_this<PieceJob> {
 public:
  PieceJob(int64_t count, internal::Piece piece, const void* body)
      : count_(count), piece_(piece), body_(body) {}

  void Work(unsigned, rt::Arena&) override {
    rt::LandingPoint landing;
    rt::LandingScope scope(landing);
    if (sigsetjmp(landing.jump, 0) != 0) {
      rt::UnblockFaultSignals();
      if (!failed_.exchange(true)) {
        fault.record = landing.record;
        faulted = true;
      }
      return;
    }
    rt::ThreadPool::Get().RequestHelp(*this, static_cast<unsigned>(std::min(count_ - 1, kMaxHelpers)));
    while (!failed_.load(std::memory_order_relaxed)) {
      const int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count_) return;
      piece_(body_, index);
    }
  }
  bool Exhausted() const override {
    return next_.load(std::memory_order_relaxed) >= count_ || failed_.load();
  }
  void Break(const rt::Failure& failure) override {
    if (!failed_.exchange(true)) text = failure.text;
  }

  bool failed() const { return failed_.load(); }
  PieceFault fault;
  bool faulted = false;
  std::string text;

 private:
  const int64_t count_;
  const internal::Piece piece_;
  const void* const body_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace

namespace internal {

void RunPieces(int64_t count, Piece piece, const void* body) {
  if (count <= 0) return;
  const auto job = std::make_shared<PieceJob>(count, piece, body);
  rt::ThreadPool::Get().Run(job, 0);
  if (!job->failed()) return;
  if (job->faulted) throw PieceFault(job->fault);
  throw std::runtime_error(job->text);
}

}  // namespace internal

int64_t Threads() { return rt::ThreadPool::Get().size(); }

}  // namespace ptx2cpu::libraries
