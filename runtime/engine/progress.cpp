#include "runtime/engine/progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuietTime = std::chrono::seconds(2);
constexpr auto kLongTime = std::chrono::seconds(10);  // without a terminal
constexpr auto kInterval = std::chrono::milliseconds(500);

enum class Form { kNone, kTerminal, kLines, kOneLine };

Form FormWanted() {
  const char* value = std::getenv("PTX2CPU_PROGRESS");
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (value != nullptr && *value != '\0')
    return *value == '0' ? Form::kNone : terminal ? Form::kTerminal : Form::kLines;
  return terminal ? Form::kTerminal : Form::kOneLine;
}

// The process's list of kernels that are compiling now. A thread shows it; the thread starts with the first
// kernel and ends when nothing has compiled for an interval. The list is never destroyed, because kernels may
// compile while the process ends.
class Display {
 public:
  static Display& Get() {
    static Display* display = new Display;
    return *display;
  }

  void Begin(Form form, std::string_view kernel) {
    std::lock_guard lock(mutex_);
    form_ = form;
    running_.emplace_back(kernel);
    if (running_.size() == 1 && !shown_) busy_since_ = Clock::now();
    if (has_thread_) return;
    has_thread_ = StartThread([this] { Show(); });
  }

  void End(std::string_view kernel) {
    std::lock_guard lock(mutex_);
    running_.erase(std::ranges::find(running_, kernel));
    ++done_;
    if (!running_.empty()) return;
    Erase();  // now: the process may end, or the program print, before the thread looks again
    ended_.notify_all();
  }

 private:
  void Show() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto quiet = form_ == Form::kOneLine ? std::chrono::seconds(kLongTime) : kQuietTime;
      const auto next = shown_ ? Clock::now() + kInterval : busy_since_ + quiet;
      ended_.wait_until(lock, next, [&] { return running_.empty(); });
      if (running_.empty() && !ended_.wait_for(lock, kInterval, [&] { return !running_.empty(); })) break;
      const bool wanted = form_ != Form::kOneLine || !shown_;
      if (wanted && !running_.empty() && Clock::now() - busy_since_ >= quiet) Print();
    }
    shown_ = false;
    has_thread_ = false;
    done_ = 0;
  }

  void Print() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - busy_since_).count();
    const std::string& oldest = running_.front();
    const std::string name = oldest.size() <= 60 ? oldest : oldest.substr(0, 57) + "...";
    std::fprintf(stderr,
                 form_ == Form::kTerminal ? "\r\033[Kptx2cpu: compiling %s (%u done, %lld s)"
                                          : "ptx2cpu: compiling %s (%u done, %lld s)\n",
                 name.c_str(), done_, static_cast<long long>(seconds));
    std::fflush(stderr);
    shown_ = true;
    on_terminal_ = form_ == Form::kTerminal;
  }

  void Erase() {
    if (std::exchange(on_terminal_, false)) std::fputs("\r\033[K", stderr);
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  Form form_ = Form::kNone;
  std::deque<std::string> running_;  // kernels, the one that began first in front
  unsigned done_ = 0;
  bool has_thread_ = false, shown_ = false;
  bool on_terminal_ = false;  // a line is there, to be written over
  Clock::time_point busy_since_;
};

}  // namespace

namespace {
std::atomic<unsigned> compiling = 0, most_at_once = 0;
}

unsigned CompileProgress::MostAtOnce() { return most_at_once; }

CompileProgress::CompileProgress(std::string_view kernel) : kernel_(kernel) {
  const unsigned now = ++compiling;
  for (unsigned most = most_at_once; most < now && !most_at_once.compare_exchange_weak(most, now);) {
  }
  const Form form = FormWanted();
  counted_ = form != Form::kNone;
  if (counted_) Display::Get().Begin(form, kernel);
}

CompileProgress::~CompileProgress() {
  --compiling;
  if (counted_) Display::Get().End(kernel_);
}

}  // namespace ptx2cpu::rt
