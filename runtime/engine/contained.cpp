#include "runtime/engine/contained.h"

#include <pthread.h>

#include <cstdint>

#include "ir/internal_error.h"
#include "runtime/worker/failure.h"
#include "runtime/worker/processors.h"

namespace ptx2cpu::rt {

namespace {

// LLVM's depth grows with the depth of a kernel's control flow. Memory is taken as it is used.
constexpr size_t kStackBytes[] = {size_t{256} << 20, size_t{64} << 20, size_t{8} << 20};
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

}  // namespace

Status RunCaught(const std::function<void()>& work) {
  const ThrowInternalErrors throwing;
  try {
    work();
    return {};
  } catch (...) {
    Failure failure = CurrentFailure();
    const bool internal = failure.kind == Failure::Kind::kInternal;
    if (!internal) failure.text = "compiling: " + failure.text;
    return Fail(internal ? ErrorCode::kInternal : ErrorCode::kLaunch, std::move(failure.text));
  }
}

Status RunContained(const std::function<void()>& work) {
  if (on_own_stack) return RunCaught(work);
  Call call{work, {}};
  for (const size_t bytes : kStackBytes) {
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
  return Fail(ErrorCode::kLaunch, "compiling: no memory or no thread for the compiler's stack");
}

}  // namespace ptx2cpu::rt
