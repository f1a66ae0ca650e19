#include "runtime/cuda/redirect/system_sigaction.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/cuda/redirect/patch.h"

namespace ptx2cpu::redirect {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

// The argument of the system call on both processors; rt_sigaction(2).
struct SystemAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  uint64_t mask;
};
constexpr unsigned long kHasRestorer = 0x04000000;

// The code that handlers return to is the C library's, so that debuggers and unwinders know it.
void* restorer = nullptr;
unsigned long restorer_flag = 0;

long Call(int signal, const SystemAction* action, SystemAction* old) {
  return syscall(SYS_rt_sigaction, signal, action, old, sizeof(SystemAction::mask));
}

int CallSystem(int signal, const struct sigaction* action, struct sigaction* old) {
  // The C library keeps the signals below SIGRTMIN to itself.
  if (signal > 31 && signal < SIGRTMIN) return errno = EINVAL, -1;
  SystemAction in = {}, out = {};
  if (action != nullptr) {
    in.handler = reinterpret_cast<void*>(action->sa_handler);
    in.flags = static_cast<unsigned>(action->sa_flags) | restorer_flag;
    in.restorer = restorer;
    std::memcpy(&in.mask, &action->sa_mask, sizeof in.mask);
  }
  if (Call(signal, action == nullptr ? nullptr : &in, old == nullptr ? nullptr : &out) != 0) return -1;
  if (old != nullptr) {
    *old = {};
    old->sa_handler = reinterpret_cast<__sighandler_t>(out.handler);
    old->sa_flags = static_cast<int>(out.flags & ~kHasRestorer);
    std::memcpy(&old->sa_mask, &out.mask, sizeof out.mask);
  }
  return 0;
}

// The C library sets it with each action, also with one that changes nothing.
bool FindRestorer(ptx2cpu_sigaction* library) {
  struct sigaction same;
  SystemAction found = {};
  if (library(SIGILL, nullptr, &same) != 0 || library(SIGILL, &same, nullptr) != 0 ||
      Call(SIGILL, nullptr, &found) != 0)
    return false;
  restorer_flag = found.flags & kHasRestorer;
  restorer = restorer_flag == 0 ? nullptr : found.restorer;
  return true;
}

}  // namespace

ptx2cpu_sigaction* TakeSigaction(ptx2cpu_sigaction* ours) {
  void* const library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  auto* const entry = library == nullptr ? nullptr : static_cast<uint8_t*>(dlsym(library, "sigaction"));
  if (entry == nullptr || !FindRestorer(reinterpret_cast<ptx2cpu_sigaction*>(entry))) return nullptr;
  const Slots slots = Apply({{entry, reinterpret_cast<const void*>(ours)}}, Busy::kYes);
  return slots.memory == nullptr ? nullptr : &CallSystem;
}

#else

ptx2cpu_sigaction* TakeSigaction(ptx2cpu_sigaction*) { return nullptr; }

#endif

}  // namespace ptx2cpu::redirect
