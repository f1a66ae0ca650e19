#include "runtime/worker/fault.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace ptx2cpu::rt {

namespace {

// Not ABI: generated code never sees it. A signal handler has no other way to find its activation.
thread_local LandingPoint* current_landing = nullptr;

struct PreviousHandlers {
  struct sigaction segv, bus, fpe, ill;
};
PreviousHandlers& Previous() {
  static PreviousHandlers handlers;
  return handlers;
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
// (vmovaps, vmovdqa, vmovntps and their kin). For these the machine says "general protection" without an
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

void CallPrevious(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = signal == SIGSEGV  ? Previous().segv
                                : signal == SIGBUS ? Previous().bus
                                : signal == SIGFPE ? Previous().fpe
                                                   : Previous().ill;
  if ((old.sa_flags & SA_SIGINFO) != 0 && old.sa_sigaction != nullptr)
    return old.sa_sigaction(signal, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
  ::signal(signal, SIG_DFL);  // the faulting instruction runs again and ends the process as it would have
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
  siglongjmp(landing->jump, 1);
}

void InstallHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = OnSignal;
    // SA_NODEFER: siglongjmp leaves the handler without restoring the signal mask.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &Previous().segv);
    sigaction(SIGBUS, &action, &Previous().bus);
    sigaction(SIGFPE, &action, &Previous().fpe);
    sigaction(SIGILL, &action, &Previous().ill);
  });
}

// An alternate signal stack that is taken down with its thread.
struct AlternateStack {
  static constexpr size_t kBytes = 64 * 1024;
  void* memory = nullptr;
  bool installed = false;
  ~AlternateStack() {
    if (!installed) return;
    stack_t off = {};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
    munmap(memory, kBytes);
  }
};

}  // namespace

void PrepareThreadForFaults() {
  static thread_local AlternateStack stack;
  if (stack.installed) return;
  stack_t current = {};
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) == 0)
    return;  // the thread has its own
  void* memory =
      mmap(nullptr, AlternateStack::kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;  // only the report of a stack overflow is lost
  stack_t wanted = {};
  wanted.ss_sp = memory;
  wanted.ss_size = AlternateStack::kBytes;
  if (sigaltstack(&wanted, nullptr) != 0) {
    munmap(memory, AlternateStack::kBytes);
    return;
  }
  stack.memory = memory;
  stack.installed = true;
}

LandingScope::LandingScope(LandingPoint& point) {
  InstallHandlers();
  PrepareThreadForFaults();
  point.outer = current_landing;
  current_landing = &point;
}

LandingScope::~LandingScope() {
  if (current_landing != nullptr) current_landing = current_landing->outer;
}

void UnblockFaultSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaddset(&signals, signal);
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
  siglongjmp(landing->jump, 1);
}

}  // namespace ptx2cpu::rt
