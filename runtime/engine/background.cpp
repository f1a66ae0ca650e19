#include "runtime/engine/background.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

namespace {

constexpr size_t kMaxWaiting = 256;
constexpr int kLowerPriority = 5;  // not the lowest: with kernels on all processors it would never run

class Background {
 public:
  using Work = std::function<void(const std::atomic<bool>&)>;

  static Background& Get() {
    static Background* background = new Background;  // lives as long as the thread
    return *background;
  }

  bool Run(Work work) {
    // A forked child has none of the threads, and the lock may stay held there.
    if (owner_ != 0 && owner_ != getpid()) return false;
    std::lock_guard lock(mutex_);
    if (stop_ || waiting_.size() >= kMaxWaiting) return false;
    if (waiting_.size() >= idle_ && threads_.size() < MaxBackgroundThreads() && !Start() && threads_.empty())
      return false;  // the quick code stays
    waiting_.push_back(std::move(work));
    changed_.notify_all();
    return true;
  }

  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.empty() && idle_ == threads_.size(); });
  }

 private:
  bool Start() {
    try {
      threads_.emplace_back([this] { Serve(); });
    } catch (const std::system_error&) {
      return false;
    }
    ++idle_;
    if (owner_ == 0) {
      owner_ = getpid();
      std::atexit([] { Get().Stop(); });
    }
    return true;
  }

  void Serve() {
    UseAllProcessors();
    // On Linux this is of the thread alone.
    static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLowerPriority));
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      Work work = std::move(waiting_.front());
      waiting_.pop_front();
      --idle_;
      lock.unlock();
      work(stop_);
      work = nullptr;  // what it holds is freed before completion is reported
      lock.lock();
      ++idle_;
      changed_.notify_all();
    }
  }

  void Stop() {
    if (owner_ != getpid()) return;
    std::deque<Work> dropped;
    std::vector<std::thread> threads;
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      dropped.swap(waiting_);
      threads.swap(threads_);
      changed_.notify_all();
    }
    for (std::thread& thread : threads) {
      if (thread.get_id() == std::this_thread::get_id())
        thread.detach();  // the work ends the process
      else
        thread.join();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;  // threads that wait for work, or begin
  std::atomic<bool> stop_ = false;
  std::atomic<pid_t> owner_ = 0;
};

}  // namespace

unsigned MaxBackgroundThreads() { return std::max(1U, UsableProcessors() / 2); }
bool RunInBackground(std::function<void(const std::atomic<bool>&)> work) {
  return Background::Get().Run(std::move(work));
}
void WaitForBackground() { Background::Get().Wait(); }

}  // namespace ptx2cpu::rt
