// The executor runs streams: it has the list of ready streams, the host-function thread and the streams that
// poll. One per process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/stream/stream.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::rt {

// The thread that runs a stream.
struct RunContext {
  unsigned worker;
  Arena& arena;
};

class Executor final : public WorkSource {
 public:
  static Executor& Get();

  bool RunReady(unsigned worker, Arena& arena) override;
  bool HasReady() const override { return ready_count_.load() != 0; }
  bool Polling() const override { return poll_count_.load() != 0; }

  // The process ends and no workers are left.
  bool stopping() const { return pool_.stopping(); }
  ThreadPool& pool() { return pool_; }

 private:
  friend class FrontOperation;
  friend class Stream;
  static constexpr int kLevels = 6;  // priorities 0 (least) to -5

  struct HostCall {
    Stream* stream;
    HostWork work;
  };

  explicit Executor(ThreadPool& pool);
  void MakeReady(Stream& stream);
  Stream* TakeReady();
  // False: another thread has it, or it is not ready.
  bool TryClaim(Stream& stream);
  void Unlink(Stream& stream, int level);
  static int LevelOf(const Stream& stream);

  // Host functions have a thread of their own; false: the system provides none.
  bool HasHostThread();
  void CallHost(Stream& stream, const HostWork& work);
  void HostMain();

  void Poll(Stream& stream);
  void PollAll();

  ThreadPool& pool_;
  alignas(64) SpinLock ready_lock_;
  std::array<Stream*, kLevels> first_{}, last_{};
  alignas(64) std::atomic<uint32_t> ready_count_{0};

  std::mutex host_mutex_;
  std::deque<HostCall> host_calls_;
  std::atomic<uint32_t> host_word_{0};
  bool host_started_ = false;

  SpinLock poll_lock_;
  std::vector<Stream*> polling_;
  std::atomic<uint32_t> poll_count_{0};
};

// Runs a copy or fill.
std::optional<LaunchError> RunCopy(const CopyWork& work, RunContext& context);
std::optional<LaunchError> RunFill(const FillWork& work, RunContext& context);

}  // namespace ptx2cpu::rt
