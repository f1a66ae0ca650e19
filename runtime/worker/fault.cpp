#include "runtime/worker/fault.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

#include "runtime/abi/fault_handlers.h"
#include "runtime/worker/current_block.h"
#include "runtime/worker/per_thread.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;

// Generated code never sees it, so it is not part of the ABI. A signal handler has no other way to find its
// activation.
thread_local LandingPoint* current_landing = nullptr;
thread_local bool is_listed = false;

// Until this time the thread's signal stack and mask and the process's handlers are known to be as a fault
// needs them. Querying the system takes longer than a small launch, so a thread does not query it for each of
// many launches in a row.
thread_local Clock::time_point ready_until;
constexpr auto kReadyFor = std::chrono::microseconds(50);

// A worker's signal stack and mask stay as they were made, because no code of the program runs on it. One
// worker queries the handlers on behalf of all: the system has one lock for that, on which workers that begin
// a job together would wait for longer than a small job takes.
std::atomic<Clock::time_point> handlers_ready_until{};

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kMaxHandlers = 16;

// Handlers that were installed for a signal before ours, the oldest first: more than one where the program
// installs its own again and again. Written under the lock; the count grows after the entry is written.
struct SignalHistory {
  struct sigaction handlers[kMaxHandlers] = {};
  std::atomic<size_t> count = 0;
};
SignalHistory histories[std::size(kSignals)];

SignalHistory& HistoryOf(int signal) {
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] == signal) return histories[i];
  }
  std::abort();
}

bool IsOurs(const struct sigaction& action);

// The entry is complete before the count includes it. Under the lock.
void Push(SignalHistory& history, const struct sigaction& action) {
  const size_t count = history.count.load(std::memory_order_relaxed);
  if (count == kMaxHandlers) {  // the oldest, which was there before us, stays
    std::copy(history.handlers + 2, history.handlers + kMaxHandlers, history.handlers + 1);
    history.handlers[count - 1] = action;
    return;
  }
  history.handlers[count] = action;
  history.count.store(count + 1, std::memory_order_release);
}

std::mutex& HistoryMutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

int KeepHandler(int signal, const struct sigaction* action, struct sigaction* old);

// The system's own sigaction, even where the program's calls of it are redirected to KeepHandler.
ptx2cpu_sigaction* SystemSigaction() {
  static ptx2cpu_sigaction* const system = []() -> ptx2cpu_sigaction* {
    auto* const keep = reinterpret_cast<ptx2cpu_sigaction* (*)(ptx2cpu_sigaction*)>(
        dlsym(RTLD_DEFAULT, PTX2CPU_KEEP_FAULT_HANDLERS));
    if (keep != nullptr) return keep(KeepHandler);
    // The first call takes the report that no such name exists, the second frees it: this thread may end
    // while a sanitizer looks for leaks.
    dlerror();
    dlerror();
    return &sigaction;
  }();
  return system;
}

// The program's call of sigaction while our handler is installed: ours stays, and calls the program's for
// faults that are not a kernel's.
int KeepHandler(int signal, const struct sigaction* action, struct sigaction* old) {
  struct sigaction current;
  if (std::ranges::find(kSignals, signal) == std::end(kSignals) ||
      SystemSigaction()(signal, nullptr, &current) != 0 || !IsOurs(current))
    return PTX2CPU_NOT_KEPT;
  sigset_t all, before;  // a handler may call sigaction too
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  {
    std::lock_guard lock(HistoryMutex());
    SignalHistory& history = HistoryOf(signal);
    const size_t count = history.count.load(std::memory_order_relaxed);
    const struct sigaction latest = count == 0 ? (struct sigaction){} : history.handlers[count - 1];
    if (action != nullptr) Push(history, *action);
    if (old != nullptr) *old = latest;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return 0;
}

// The faulting instruction runs again and ends the process as it would have. A signal that was sent (raise,
// kill) has no such instruction, so it is sent again.
void RestoreDefault(int signal, const siginfo_t& info) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  SystemSigaction()(signal, &action, nullptr);
  if (info.si_code <= 0) raise(signal);
}

uintptr_t ProgramCounter(void* context) {
  auto* ucontext = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<uintptr_t>(ucontext->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(ucontext->uc_mcontext.pc);
#elif defined(__riscv)
  return static_cast<uintptr_t>(ucontext->uc_mcontext.__gregs[REG_PC]);
#else
  return 0;
#endif
}

uintptr_t StackPointer(void* context) {
  auto* ucontext = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<uintptr_t>(ucontext->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(ucontext->uc_mcontext.sp);
#elif defined(__riscv)
  return static_cast<uintptr_t>(ucontext->uc_mcontext.__gregs[REG_SP]);
#else
  return 0;
#endif
}

#if defined(__x86_64__)
// Whether an instruction is a move that needs an aligned address, in the encodings of AVX and AVX-512
// (vmovaps, vmovdqa, vmovntps and their kin). For these the machine raises "general protection" without an
// address.
bool IsAlignedMove(uintptr_t pc) {
  const auto* code = reinterpret_cast<const uint8_t*>(pc);
  uint32_t map = 1, prefix = 0, opcode = 0;
  if (code[0] == 0xC5) {
    prefix = code[1] & 3, opcode = code[2];
  } else if (code[0] == 0xC4) {
    map = code[1] & 31, prefix = code[2] & 3, opcode = code[3];
  } else if (code[0] == 0x62) {
    map = code[1] & 7, prefix = code[2] & 3, opcode = code[4];
  } else {
    return false;
  }
  if (map != 1) return false;
  if (opcode == 0x28 || opcode == 0x29 || opcode == 0x2B || opcode == 0xE7) return true;
  return prefix == 1 && (opcode == 0x6F || opcode == 0x7F);
}
#else
bool IsAlignedMove(uintptr_t) { return false; }
#endif

// A handler that was installed after ours may call ours for faults that are not its own, with the frame it
// was given. The frame shows it: the system clears the last words of siginfo_t, and we count in them how far
// back we have gone.
struct ChainMark {
  uint32_t magic, depth;
};
constexpr uint32_t kChainMagic = 0x70747863;
static_assert(sizeof(siginfo_t) == 128);

size_t NextInChain(siginfo_t* info) {
  auto* bytes = reinterpret_cast<unsigned char*>(info) + sizeof(siginfo_t) - sizeof(ChainMark);
  ChainMark mark;
  std::memcpy(&mark, bytes, sizeof mark);
  mark.depth = mark.magic == kChainMagic ? mark.depth + 1 : 0;
  mark.magic = kChainMagic;
  std::memcpy(bytes, &mark, sizeof mark);
  return mark.depth;
}

void CallPrevious(int signal, siginfo_t* info, void* context) {
  const SignalHistory& history = HistoryOf(signal);
  const size_t count = history.count.load(std::memory_order_acquire), back = NextInChain(info);
  if (back >= count) return RestoreDefault(signal, *info);
  const struct sigaction& old = history.handlers[count - 1 - back];
  const bool has_info = (old.sa_flags & SA_SIGINFO) != 0;
  if (!has_info && old.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (!has_info && (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN))
    return RestoreDefault(signal, *info);
  // As the system would have called it.
  sigset_t mask = old.sa_mask, before;
  if ((old.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  if (has_info)
    old.sa_sigaction(signal, info, context);
  else
    old.sa_handler(signal);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Kernels may run with another floating-point control word (lowering/llvm/kernel/flush_to_zero.h), on x86
// only. Jumps keep it.
uint32_t FloatControl() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr();
#else
  return 0;
#endif
}
void SetFloatControl([[maybe_unused]] uint32_t control) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(control);
#endif
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  LandingPoint* landing = current_landing;
  if (landing == nullptr || info->si_code <= 0)
    return CallPrevious(signal, info, context);  // not ours, or sent by kill()
  FaultRecord& record = landing->record;
  record = FaultRecord{};
  record.pc = ProgramCounter(context);
  record.address = reinterpret_cast<uintptr_t>(info->si_addr);
  const uintptr_t stack = StackPointer(context);
  const bool near_stack = record.address + 65536 > stack && record.address < stack + 65536;
  const bool is_odd = signal == SIGSEGV && record.address == 0 && IsAlignedMove(record.pc);
  record.kind = signal == SIGBUS || is_odd        ? PTX2CPU_FAULT_MISALIGNED
                : signal == SIGSEGV && near_stack ? PTX2CPU_FAULT_STACK
                                                  : PTX2CPU_FAULT_BAD_ADDRESS;
  SetFloatControl(landing->float_control);
  siglongjmp(landing->jump, 1);
}

void InstallHandler(int signal) {
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  // SA_NODEFER: siglongjmp leaves the handler without restoring the signal mask.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  struct sigaction old;
  if (SystemSigaction()(signal, &action, &old) != 0 || IsOurs(old)) return;
  Push(HistoryOf(signal), old);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == OnSignal;
}

// Programs install handlers of their own after they began to use CUDA; a GPU's faults never reach those.
void InstallHandlers() {
  for (const int signal : kSignals) {
    struct sigaction current;
    if (SystemSigaction()(signal, nullptr, &current) == 0 && IsOurs(current)) [[likely]]
      continue;
    std::lock_guard lock(HistoryMutex());
    InstallHandler(signal);
  }
}

// An alternate signal stack that is taken down with its thread.
struct AlternateStack {
  static constexpr size_t kBytes = 64 * 1024;
  void* memory = nullptr;
  ~AlternateStack() {
    if (memory == nullptr) return;
    stack_t current = {};
    if (sigaltstack(nullptr, &current) == 0 && current.ss_sp == memory) {
      stack_t off = {};
      off.ss_flags = SS_DISABLE;
      sigaltstack(&off, nullptr);
    }
    munmap(memory, kBytes);
  }
};

}  // namespace

void PrepareThreadForFaults() {
  // Large enough for a frame with all vector registers and for our handler.
  constexpr size_t kEnough = 32 * 1024;
  stack_t current = {};
  if (sigaltstack(nullptr, &current) != 0) return;
  if ((current.ss_flags & SS_DISABLE) == 0 && current.ss_size >= kEnough) return;  // the thread has one
  if ((current.ss_flags & SS_ONSTACK) != 0) return;                                // and runs on it
  AlternateStack& stack = PerThread<AlternateStack>();
  if (stack.memory == nullptr) {
    void* memory =
        mmap(nullptr, AlternateStack::kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;  // only the report of a stack overflow is lost
    stack.memory = memory;
  }
  stack_t wanted = {};
  wanted.ss_sp = stack.memory;
  wanted.ss_size = AlternateStack::kBytes;
  sigaltstack(&wanted, nullptr);
}

void PrepareWorkerForFaults() {
  InstallHandlers();
  PrepareThreadForFaults();
  UnblockFaultSignals();
}

LandingScope::LandingScope(LandingPoint& point, bool helps) {
  point.outer = current_landing;
  point.float_control = FloatControl();
  sigemptyset(&blocked_before_);
  const Clock::time_point now = Clock::now();
  if (ThreadPool::OnWorker()) {
    Clock::time_point until = handlers_ready_until.load(std::memory_order_relaxed);
    if (!helps && now >= until && handlers_ready_until.compare_exchange_strong(until, now + kReadyFor))
      InstallHandlers();
  } else if (now >= ready_until) {
    InstallHandlers();
    PrepareThreadForFaults();
    // A thread that blocks these signals blocks them again after each scope.
    if (!UnblockForScope()) ready_until = now + kReadyFor;
  }
  current_landing = &point;
  if (ListsForDebugger() && !is_listed) [[unlikely]] {
    is_listed = true;
    ListForDebugger(reinterpret_cast<const void* const*>(&current_landing), offsetof(LandingPoint, block));
  }
}

bool LandingScope::UnblockForScope() {
  // A fault whose signal is blocked ends the process. Programs block all signals in threads that only
  // compute.
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : kSignals) sigaddset(&faults, signal);
  pthread_sigmask(SIG_UNBLOCK, &faults, &blocked_before_);
  return BlockedSome();
}

bool LandingScope::BlockedSome() const {
  return std::ranges::any_of(kSignals,
                             [&](int signal) { return sigismember(&blocked_before_, signal) == 1; });
}

LandingScope::~LandingScope() {
  if (current_landing != nullptr) current_landing = current_landing->outer;
  if (BlockedSome()) pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
}

void UnblockFaultSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kSignals) sigaddset(&signals, signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void JumpToLandingPoint(const FaultRecord& record) {
  LandingPoint* landing = current_landing;
  if (landing == nullptr) {
    std::fprintf(stderr, "ptx2cpu: a kernel faulted outside of a launch (kind %u, PTX line %u)\n",
                 record.kind, record.ptx_line);
    std::abort();
  }
  landing->record = record;
  SetFloatControl(landing->float_control);
  siglongjmp(landing->jump, 1);
}

}  // namespace ptx2cpu::rt
