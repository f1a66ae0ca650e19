// Programs under bad conditions: no threads available, blocked signals, handlers of their own, small stacks,
// calls after main. `trouble_asker NAME` prints what it saw (trouble_test.cpp).
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "driver_api.h"
#include "runtime/cuda/driver/core/exports.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

// The number of threads that may still be started; negative: as many as the system allows. Threads with
// attributes are the compiler's, which end with their kernel.
static std::atomic<int> threads_left{-1};

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* data) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0 && attributes == nullptr) --threads_left;
  return real(thread, attributes, start, data);
}

namespace {

constexpr char kPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry bump(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [p]; atom.global.add.u32 %r, [%a], 1; ret;
}
.visible .entry stray_when_set(.param .u64 p) {
  .reg .b64 %a, %b; .reg .b32 %r; .reg .pred %q;
  mov.u64 %b, 64; ld.param.u64 %a, [p]; mov.u32 %r, 1; st.volatile.global.u32 [%a], %r;
again: ld.volatile.global.u32 %r, [%a+4]; setp.eq.u32 %q, %r, 0; @%q bra again;
  st.global.u32 [%b], %r; ret;
}
.visible .entry stray() { .reg .b64 %b; mov.u64 %b, 64; st.global.u32 [%b], 1; ret; }
.visible .entry peek(.param .u64 p) {
  .reg .b64 %a; .reg .b32 %r;
  ld.param.u64 %a, [p]; mov.u32 %r, %tid.x; mad.wide.u32 %a, %r, 4, %a;
  ld.volatile.global.u32 %r, [%a];
  ret;
}
)";

CUcontext context;
CUmodule module;

void Begin() {
  const bool good = cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                    cuCtxSetCurrent(context) == CUDA_SUCCESS;
  if (!good) std::printf("no context\n");
}

CUresult Load() { return cuModuleLoadData(&module, kPtx); }

CUresult Launch(const char* name, unsigned blocks, void** parameters) {
  CUfunction function;
  if (const CUresult error = cuModuleGetFunction(&function, module, name)) return error;
  static constexpr ptx2cpu::api::FunctionInfo kInfo{"cuLaunchKernel", ""};  // as the export calls it
  return ptx2cpu::api::Call(kInfo, [&] {
    return cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  });
}

void PrintSum() {
  CUdeviceptr word;
  unsigned sum = 0;
  cuMemAlloc_v2(&word, sizeof sum);
  cuMemsetD32_v2(word, 0, 1);
  void* parameters[] = {&word};
  const CUresult launch = Launch("bump", 1000, parameters), wait = cuCtxSynchronize();
  cuMemcpyDtoH_v2(&sum, word, sizeof sum);
  std::printf("launch %d wait %d sum %u\n", launch, wait, sum);
}

void NoThreads() {
  threads_left = 0;
  Begin();
  std::printf("load %d\n", Load());
  CUdeviceptr word = 0;
  std::printf("allocate %d\n", cuMemAlloc_v2(&word, 4));
  void* parameters[] = {&word};
  std::printf("launch %d\n", Launch("bump", 1000, parameters));
}

void FewThreads() {
  threads_left = 3;
  Begin();
  int processors = 0;
  cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
  std::printf("multiprocessors %d load %d\n", processors, Load());
  PrintSum();
}

// Each in a process of its own.
void LittleAddressSpace() {
  for (const unsigned megabytes : {100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200, 300, 1024}) {
    std::printf("%u MB: ", megabytes);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      rlimit limit{};
      getrlimit(RLIMIT_AS, &limit);
      limit.rlim_cur = rlim_t{megabytes} << 20;
      setrlimit(RLIMIT_AS, &limit);
      Begin();
      std::printf("load %d ", Load());
      PrintSum();
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) std::printf("ended\n");
  }
}

void HugeArray() {
  Begin();
  static constexpr char kHuge[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .b8 huge[SIZE];\n"
      ".visible .entry touch() { .reg .b32 %r; mov.u32 %r, 5; st.global.u32 [huge+4096], %r; ret; }\n";
  for (const char* size : {"1099511627776", "1073741824"}) {
    std::string text = kHuge;
    text.replace(text.find("SIZE"), 4, size);
    CUresult result = cuModuleLoadData(&module, text.c_str());
    if (result == CUDA_SUCCESS) result = Launch("touch", 1, nullptr);
    if (result == CUDA_SUCCESS) result = cuCtxSynchronize();
    CUdeviceptr huge = 0;
    size_t bytes = 0;
    unsigned word = 0;
    cuModuleGetGlobal_v2(&huge, &bytes, module, "huge");
    if (huge != 0) cuMemcpyDtoH_v2(&word, huge + 4096, sizeof word);
    std::printf("%s: %s\n", size, result != CUDA_SUCCESS || word == 5 ? "an answer" : "a wrong answer");
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%s\n", usage.ru_maxrss < 500 * 1024 ? "little memory" : "much memory");
}

sigjmp_buf after_own_fault;
std::atomic<int> handled{0};
void OnOwnFault(int, siginfo_t*, void*) {
  ++handled;
  siglongjmp(after_own_fault, 1);
}

void InstallOwnHandlers() {
  struct sigaction action{};
  action.sa_sigaction = OnOwnFault;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, nullptr);
}

void FaultOfOurOwn() {
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (sigsetjmp(after_own_fault, 1) == 0) *static_cast<volatile int*>(page) = 1;
}

void PrintFault() {
  const CUresult launch = Launch("stray", 1, nullptr), wait = cuCtxSynchronize();
  std::printf("launch %d wait %d handled %d\n", launch, wait, handled.load());
}

// 64 words from before a small block (from its beginning where bounds are checked), from after it, and over
// the end of a large one.
void OutOfBounds() {
  dup2(STDOUT_FILENO, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  Begin();
  std::printf("load %d\n", Load());
  CUdeviceptr small = 0, large = 0;
  cuMemAlloc_v2(&small, 400);
  cuMemAlloc_v2(&large, 4 << 20);
  const CUdeviceptr first = std::getenv("PTX2CPU_CHECK_BOUNDS") == nullptr ? small - 4 : small;
  for (CUdeviceptr at : {first, small + 412, large + (4 << 20) - 160}) {
    void* parameters[] = {&at};
    const CUresult launch = Launch("peek", 1, parameters);
    std::printf("launch %d wait %d\n", launch, cuCtxSynchronize());
  }
}

void BlockedSignals() {
  sigset_t all, now;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  Begin();
  std::printf("load %d\n", Load());
  PrintSum();
  PrintFault();
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  std::printf("still blocked %d\n", sigismember(&now, SIGSEGV));
}

void OwnHandlers() {
  Begin();
  std::printf("load %d\n", Load());
  PrintSum();
  InstallOwnHandlers();
  PrintFault();
  FaultOfOurOwn();
  FaultOfOurOwn();
  std::printf("handled %d\n", handled.load());
}

// Under `ptx2cpu exec`: at any time.
void OwnHandlersDuringKernel() {
  Begin();
  std::printf("load %d\n", Load());
  void* memory = nullptr;
  cuMemHostAlloc(&memory, 8, 0);
  auto* flags = static_cast<std::atomic<uint32_t>*>(memory);  // runs, shall fault
  flags[0] = flags[1] = 0;
  void* parameters[] = {&memory};
  const CUresult launch = Launch("stray_when_set", 1, parameters);
  while (flags[0] == 0) usleep(100);
  InstallOwnHandlers();
  struct sigaction seen;
  sigaction(SIGSEGV, nullptr, &seen);
  flags[1] = 1;
  const CUresult wait = cuCtxSynchronize();
  std::printf("launch %d wait %d handled %d own %d\n", launch, wait, handled.load(),
              seen.sa_sigaction == OnOwnFault);
  FaultOfOurOwn();
  std::printf("handled %d\n", handled.load());
  signal(SIGSEGV, SIG_DFL);
  std::fflush(stdout);
  FaultOfOurOwn();
}

// Handlers that pass on signals which are not theirs to the handler before, which is ours, again and again.
struct sigaction before_ours[8];
std::atomic<int> passed{0};
template <int kNumber>
void PassOn(int signal, siginfo_t* info, void* frame) {
  ++passed;
  const struct sigaction& old = before_ours[kNumber];
  if ((old.sa_flags & SA_SIGINFO) != 0) return old.sa_sigaction(signal, info, frame);
  std::printf("passed on %d times\n", passed.load());
  std::fflush(stdout);
  _exit(0);
}
template <int kNumber>
void InstallPassing() {
  struct sigaction action{};
  action.sa_sigaction = PassOn<kNumber>;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before_ours[kNumber]);
}

void ChainedHandlers() {
  InstallPassing<0>();
  Begin();
  Load();
  PrintSum();
  InstallPassing<1>();
  PrintSum();
  InstallPassing<2>();
  PrintSum();
  FaultOfOurOwn();
}

void* OnSmallStack(void*) {
  cuCtxSetCurrent(context);
  std::printf("load %d\n", Load());
  PrintSum();
  return nullptr;
}

void SmallStack() {
  Begin();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, OnSmallStack, nullptr) == 0) pthread_join(thread, nullptr);
}

// The program's alternate stack is too small for a frame with vector registers, or is taken away.
void OwnAlternateStack() {
  Begin();
  std::printf("load %d\n", Load());
  PrintSum();
  stack_t own{};
  own.ss_flags = SS_DISABLE;
  sigaltstack(&own, nullptr);
  PrintSum();
  static char small[4096];
  own.ss_sp = small, own.ss_size = sizeof small, own.ss_flags = 0;
  sigaltstack(&own, nullptr);
  PrintFault();
}

void CallLate(const char* when) {
  CUcontext current = nullptr;
  CUdevice device = -1;
  CUdeviceptr memory = 0;
  const CUresult get = cuCtxGetCurrent(&current), ask = cuCtxGetDevice(&device),
                 allocate = cuMemAlloc_v2(&memory, 100000), set = cuMemsetD8_v2(memory, 1, 100000),
                 stream = cuStreamSynchronize(CU_STREAM_PER_THREAD), free = cuMemFree_v2(memory);
  std::printf("%s: %d %d %d %d %d %d %s\n", when, get, ask, allocate, set, stream, free,
              current == context && device == 0 ? "same" : "other");
}

struct CallsAtEnd {
  const char* when;
  ~CallsAtEnd() { CallLate(when); }
};
CallsAtEnd at_static_end{"static destructor"};

void Late() {
  std::atexit([] { CallLate("exit handler"); });
  static thread_local CallsAtEnd at_thread_end{"thread-local destructor"};
  static_cast<void>(at_thread_end.when);
  Begin();
  std::printf("load %d\n", Load());
  PrintSum();
  cuStreamSynchronize(CU_STREAM_PER_THREAD);
}

struct Row {
  std::string_view name;
  void (*run)();
};
constexpr Row kRows[] = {{"no_threads", NoThreads},
                         {"few_threads", FewThreads},
                         {"little_address_space", LittleAddressSpace},
                         {"huge_array", HugeArray},
                         {"out_of_bounds", OutOfBounds},
                         {"blocked_signals", BlockedSignals},
                         {"own_handlers", OwnHandlers},
                         {"own_handlers_during_kernel", OwnHandlersDuringKernel},
                         {"chained_handlers", ChainedHandlers},
                         {"small_stack", SmallStack},
                         {"own_alternate_stack", OwnAlternateStack},
                         {"late", Late}};

}  // namespace

int main(int argc, char** argv) {
  for (const Row& row : kRows) {
    if (argc != 2 || row.name != argv[1]) continue;
    row.run();
    std::fflush(stdout);
    if (row.run == Late) std::exit(0);
    _exit(0);
  }
  return 2;
}
