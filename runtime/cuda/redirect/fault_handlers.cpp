// sigaction and signal, as the program calls them. A kernel's faults arrive as signals, and the runtime
// handles them; a handler that the program installs while a kernel runs would receive them in its place. The
// runtime therefore keeps the program's handlers for these signals and calls them for the program's own
// faults. In the library that `exec` preloads, and in libcuda and libcudart: these come before the C library
// where a program is linked to them, and take its sigaction over where they were opened later. Handlers
// installed by a system call alone escape all of them.
#include "runtime/abi/fault_handlers.h"

#include <dlfcn.h>
#include <signal.h>

#include <atomic>

#include "runtime/cuda/redirect/system_sigaction.h"

namespace {

std::atomic<ptx2cpu_sigaction*> keeper;
std::atomic<ptx2cpu_sigaction*> taken;  // what reaches the system, once the C library's sigaction is ours

ptx2cpu_sigaction* SystemSigaction() {
  if (ptx2cpu_sigaction* const system = taken.load(std::memory_order_acquire)) return system;
  static auto* const system = reinterpret_cast<ptx2cpu_sigaction*>(dlsym(RTLD_NEXT, "sigaction"));
  return system;
}

bool Keep(int signal, const struct sigaction* action, struct sigaction* old) {
  ptx2cpu_sigaction* const keep = keeper.load(std::memory_order_acquire);
  return keep != nullptr && keep(signal, action, old) != PTX2CPU_NOT_KEPT;
}

int Sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  return Keep(signal, action, old) ? 0 : SystemSigaction()(signal, action, old);
}

// Whether the program's calls come to this object.
bool ComesFirst() {
  Dl_info first, own;
  return dladdr(dlsym(RTLD_DEFAULT, "sigaction"), &first) != 0 &&
         dladdr(reinterpret_cast<const void*>(&Sigaction), &own) != 0 && first.dli_fbase == own.dli_fbase;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] ptx2cpu_sigaction* ptx2cpu_keep_fault_handlers(ptx2cpu_sigaction* keep) {
  ptx2cpu_sigaction* none = nullptr;
  if (keeper.compare_exchange_strong(none, keep, std::memory_order_release, std::memory_order_relaxed) &&
      !ComesFirst())
    taken.store(ptx2cpu::redirect::TakeSigaction(&Sigaction), std::memory_order_release);
  return SystemSigaction();
}

[[gnu::visibility("default")]] int sigaction(int signal, const struct sigaction* action,
                                             struct sigaction* old) noexcept {
  return Sigaction(signal, action, old);
}

[[gnu::visibility("default")]] sighandler_t signal(int number, sighandler_t handler) noexcept {
  static auto* const system =
      reinterpret_cast<sighandler_t (*)(int, sighandler_t)>(dlsym(RTLD_NEXT, "signal"));
  struct sigaction action = {}, old = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  return Keep(number, &action, &old) ? old.sa_handler : system(number, handler);
}

}  // extern "C"
