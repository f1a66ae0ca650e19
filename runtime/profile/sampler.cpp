// One thread wakes about once in a millisecond and sends a signal to each thread that runs blocks; the
// handler notes the address of the instruction. So threads that wait cost nothing, and no privilege is
// needed.
//
// A thread that leaves a share waits for a signal that was sent to it: so the signal arrives while our own
// code runs, and interrupts no system call of the program.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/profile/recorder.h"

namespace ptx2cpu::rt::profile {

namespace {

constexpr long kInterval = 1'000'000;  // nanoseconds, on average
constexpr uint64_t kPatience = 20'000'000;

struct alignas(64) Slot {
  std::mutex mutex;  // held while a signal is sent
  pid_t thread = 0;
  std::atomic<const ptx2cpu_kernel*> code = nullptr;  // null: runs no block
  std::atomic<uint32_t> sent = 0, handled = 0;
  const ptx2cpu_kernel* asked = nullptr;  // what it ran when the signal was sent; the sampler's
  std::atomic<uint64_t> pc = 0;
  std::atomic<bool> deaf = false;  // the program blocks the signal
};

std::array<Slot, 1024> slots;  // of threads that have run blocks; further ones are not asked
std::atomic<size_t> slot_count = 0;
thread_local Slot* own_slot = nullptr;
std::atomic<int> signal_number = 0;

uint64_t ProgramCounter(const void* context) {
  [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uint64_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return machine.pc;
#elif defined(__riscv)
  return machine.__gregs[REG_PC];
#else
  return 0;
#endif
}

void OnSignal(int, siginfo_t*, void* context) {
  Slot* const slot = own_slot;
  if (slot == nullptr) return;
  slot->pc.store(ProgramCounter(context), std::memory_order_relaxed);
  slot->handled.store(slot->sent.load(std::memory_order_relaxed), std::memory_order_release);
}

// The last real-time signal that the program does not use; 0: there is none.
int InstallHandler() {
  for (int number = SIGRTMAX; number >= SIGRTMIN; --number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
        action.sa_handler != SIG_DFL)
      continue;
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, nullptr) == 0) return number;
  }
  return 0;
}

// Notes the answer to the last question, and asks again.
void Ask(Slot& slot, int number) {
  if (slot.deaf.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(slot.mutex);
  const uint32_t sent = slot.sent.load(std::memory_order_relaxed);
  if (slot.handled.load(std::memory_order_acquire) != sent) return;
  if (const ptx2cpu_kernel* asked = std::exchange(slot.asked, nullptr)) {
    Recorder& r = Recorder::Get();
    std::lock_guard recording(r.mutex());
    r.AddSample(*asked, slot.pc.load(std::memory_order_relaxed));
  }
  const ptx2cpu_kernel* const code = slot.code.load(std::memory_order_acquire);
  if (code == nullptr) return;
  slot.asked = code;
  slot.sent.store(sent + 1, std::memory_order_relaxed);
  if (syscall(SYS_tgkill, getpid(), slot.thread, number) != 0) {
    slot.asked = nullptr;
    slot.handled.store(sent + 1, std::memory_order_relaxed);
  }
}

void Serve(int number) {
  uint32_t random = 1;
  while (Wanted()) {
    random = random * 1664525 + 1013904223;
    // Not in step with what the program repeats.
    const timespec pause = {0, kInterval / 2 + static_cast<long>(random >> 8) % kInterval};
    nanosleep(&pause, nullptr);
    const size_t count = std::min(slot_count.load(std::memory_order_acquire), slots.size());
    for (size_t n = 0; n < count; ++n) Ask(slots[n], number);
  }
}

Slot* TakeSlot() {
  const size_t number = slot_count.load(std::memory_order_relaxed);
  if (number >= slots.size()) return nullptr;
  Slot* const slot = &slots[number];
  slot->thread = static_cast<pid_t>(syscall(SYS_gettid));
  slot_count.store(number + 1, std::memory_order_release);
  return slot;
}

// Workers block the program's signals.
void Unblock() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number.load());
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

void StartSampler() {
  const int number = InstallHandler();
  if (number == 0) return;
  signal_number = number;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    std::thread(Serve, number).detach();
  } catch (const std::system_error&) {
    signal_number = 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ShareScope::Begin() {
  begin_ = Now();
  {
    Recorder& r = Recorder::Get();
    std::lock_guard lock(r.mutex());
    if (r.RowOf(*code_) == nullptr) return;
    if (r.file()->sample_interval == 0) {
      r.file()->sample_interval = kInterval;
      StartSampler();
    }
    if (own_slot == nullptr && signal_number != 0 && (own_slot = TakeSlot()) != nullptr) Unblock();
  }
  if (own_slot != nullptr) outer_ = own_slot->code.exchange(code_, std::memory_order_release);
}

void ShareScope::End() {
  if (Slot* const slot = own_slot) {
    slot->code.store(outer_, std::memory_order_release);
    {
      std::lock_guard lock(slot->mutex);
    }  // no signal is being sent
    const uint64_t end = Now() + kPatience;
    while (slot->handled.load(std::memory_order_acquire) != slot->sent.load(std::memory_order_relaxed)) {
      sched_yield();
      if (Now() > end) {
        slot->deaf = true;
        break;
      }
    }
  }
  Recorder& r = Recorder::Get();
  std::lock_guard lock(r.mutex());
  if (CodeRow* row = r.RowOf(*code_)) row->busy += Now() - begin_, ++row->shares;
}

}  // namespace ptx2cpu::rt::profile
