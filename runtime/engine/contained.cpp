#include "runtime/engine/contained.h"

#include <execinfo.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

#include "ir/internal_error.h"
#include "runtime/worker/failure.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

namespace {

// LLVM's depth grows with the depth of a kernel's control flow. Memory is committed as it is used, but all of
// it counts where the address space is limited.
constexpr size_t kStackBytes[] = {size_t{256} << 20, size_t{64} << 20, size_t{8} << 20};
constexpr rlim_t kMaxShareOfSpace = 16;
constexpr rlim_t kLeastRoom = rlim_t{64} << 20;
constexpr size_t kLeastStackBytes = size_t{4} << 20;  // of the caller's own, where there is none to be had

thread_local bool on_own_stack = false;

struct Call {
  const std::function<void()>& work;
  Status status;
};

void* RunOnThread(void* argument) {
  on_own_stack = true;
  BlockSignalsOfProgram();
  auto* call = static_cast<Call*>(argument);
  call->status = RunCaught(call->work);
  return nullptr;
}

// Bytes below the stack pointer.
size_t StackLeft() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* low = nullptr;
  size_t bytes = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto least = reinterpret_cast<uintptr_t>(low);
  return known && here > least && here - least <= bytes ? here - least : 0;
}

// The limit of a process under `ulimit -v`; else RLIM_INFINITY.
rlim_t AddressSpace() {
  rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

std::string Missing(const std::string& what) {
  const rlim_t space = AddressSpace();
  std::string text = "compiling: " + what;
  if (space != RLIM_INFINITY)
    text += "; the process is limited to " + std::to_string(space >> 20) + " MB of addresses (ulimit -v)";
  return text;
}

// LLVM's code is not made to be left by an exception: where there is so little, it is not begun.
bool HasRoom() {
  const rlim_t space = AddressSpace();
  if (space == RLIM_INFINITY) return true;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return errno != ENOMEM;
  unsigned long pages = 0;
  const bool known = std::fscanf(file, "%lu", &pages) == 1;
  std::fclose(file);
  return !known || pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + kLeastRoom <= space;
}

// The C library looks for its unwinder when something is first thrown through a function of its own, and ends
// the process where it has no memory for that.
void PrepareToThrow() {
  void* frame;
  backtrace(&frame, 1);
}

}  // namespace

Status RunCaught(const std::function<void()>& work) {
  const ThrowInternalErrors throwing;
  try {
    work();
    return {};
  } catch (...) {
    Failure failure = CurrentFailure();
    const bool internal = failure.kind == Failure::Kind::kInternal;
    if (internal) return Fail(ErrorCode::kInternal, std::move(failure.text));
    return Fail(ErrorCode::kLaunch, Missing(failure.text));
  }
}

Status RunContained(const std::function<void()>& work) {
  if (!HasRoom()) return Fail(ErrorCode::kLaunch, Missing("no memory"));
  if (on_own_stack) return RunCaught(work);
  PrepareToThrow();
  Call call{work, {}};
  const rlim_t space = AddressSpace();
  for (const size_t bytes : kStackBytes) {
    if (bytes > space / kMaxShareOfSpace && bytes != kStackBytes[std::size(kStackBytes) - 1]) continue;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_t thread;
    const bool started = pthread_attr_setstacksize(&attributes, bytes) == 0 &&
                         pthread_create(&thread, &attributes, RunOnThread, &call) == 0;
    pthread_attr_destroy(&attributes);
    if (!started) continue;
    pthread_join(thread, nullptr);
    return std::move(call.status);
  }
  if (StackLeft() >= kLeastStackBytes) return RunCaught(work);
  return Fail(ErrorCode::kLaunch, Missing("no memory or no thread for the compiler's stack"));
}

}  // namespace ptx2cpu::rt
