/* Runs blocks of the kernels of kernels.h without a C library: on any Linux, also under emulation. Prints the
 * results of `exotic` and of the resumable kernels so that machines can be compared; the exit code reports
 * which kernel was wrong. */
#include "runtime/abi/abi.h"
#include "tests/llvm/freestanding_steps.h"

extern const struct ptx2cpu_kernel ptx2cpu_kernel_vecadd, ptx2cpu_kernel_block_sum, ptx2cpu_kernel_exotic,
    ptx2cpu_kernel_lanes_red, ptx2cpu_kernel_warps_pipe;
extern uint32_t scale;

static long Call(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#else
  register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
#endif
}
#if defined(__x86_64__)
enum { kWrite = 1, kExit = 60 };
#else
enum { kWrite = 64, kExit = 93 };
#endif

static void Exit(int code) {
  Call(kExit, code, 0, 0);
  for (;;) {
  }
}

void* memcpy(void* to, const void* from, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; ++i) ((volatile char*)to)[i] = ((const char*)from)[i];
  return to;
}
void* memset(void* to, int value, unsigned long bytes) {
  for (unsigned long i = 0; i < bytes; ++i) ((volatile char*)to)[i] = (char)value;
  return to;
}

void ptx2cpu_fault(struct ptx2cpu_block* block, uint32_t kind, uint32_t thread, uint32_t ptx_line) {
  Exit(100 + (int)kind);
}

enum { kThreads = 96 };
static uint8_t shared[4096] __attribute__((aligned(128))), local[1 << 16] __attribute__((aligned(64)));
static uint8_t slots[1 << 18] __attribute__((aligned(64)));
static uint32_t live[32], tid[1024];

static void Run(const struct ptx2cpu_kernel* kernel, const void* params) {
  struct ptx2cpu_block block = {0};
  block.params = params;
  block.shared = shared;
  block.local = local;
  block.slots = slots;
  block.live = live;
  block.tid = tid;
  block.local_stride = kernel->local_bytes;
  block.nctaid[0] = block.nctaid[1] = block.nctaid[2] = 1;
  block.ntid[0] = kThreads;
  block.ntid[1] = block.ntid[2] = 1;
  block.thread_count = block.thread_padded = kThreads;
  block.warp_count = kThreads / 32;
  block.shared_bytes = kernel->static_shared_bytes;
  block.worker_count = 1;
  for (uint32_t i = 0; i < kThreads; ++i) tid[i] = i;
  for (uint32_t i = 0; i < block.warp_count; ++i) live[i] = ~0u;
  if (kernel->run_step != 0)
    RunSteps(kernel, &block);
  else
    kernel->run_block(&block);
}

static void Print(uint32_t value) {
  char line[9];
  for (int i = 0; i < 8; ++i) line[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  line[8] = '\n';
  Call(kWrite, 1, (long)line, 9);
}

static void Main(void) {
  static float a[kThreads], b[kThreads], sum[kThreads];
  static uint32_t numbers[kThreads], out[kThreads];
  struct {
    const void *a, *b, *out;
    uint32_t n;
  } add = {a, b, sum, kThreads - 1};
  for (uint32_t i = 0; i < kThreads; ++i) {
    a[i] = (float)i * 0.75f - 20.0f;
    b[i] = 3.0f * (float)i;
    numbers[i] = i * i + 1;
  }
  Run(&ptx2cpu_kernel_vecadd, &add);
  for (uint32_t i = 0; i < kThreads; ++i) {
    if (sum[i] != (i < add.n ? a[i] + b[i] : 0.0f)) Exit(1);
  }
  const void* two[2] = {numbers, out};
  uint32_t total = 0;
  for (uint32_t i = 0; i < kThreads; ++i) total += numbers[i];
  Run(&ptx2cpu_kernel_block_sum, two);
  if (out[0] != 3 * total) Exit(2);
  scale = 5;
  Run(&ptx2cpu_kernel_block_sum, two);
  if (out[0] != 5 * total) Exit(3);
  two[0] = a;
  Run(&ptx2cpu_kernel_exotic, two);
  for (uint32_t i = 0; i < kThreads; ++i) Print(out[i]);
  const struct ptx2cpu_kernel* resumable[2] = {&ptx2cpu_kernel_lanes_red, &ptx2cpu_kernel_warps_pipe};
  two[0] = out;
  for (int k = 0; k < 2; ++k) {
    for (uint32_t i = 0; i < kThreads; ++i) out[i] = numbers[i] * 2654435761u >> 20;
    Run(resumable[k], two);
    for (uint32_t i = 0; i < kThreads; ++i) Print(out[i]);
  }
  Exit(0);
}

#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#elif defined(__riscv)
__attribute__((naked))
#endif
void _start(void) {
#if defined(__riscv)
  __asm__ volatile(
      ".option push\n.option norelax\nlla gp, __global_pointer$\n.option pop\nandi sp, sp, -16\ncall "
      "RunMain");
#else
  Main();
#endif
}
#if defined(__riscv)
__attribute__((used)) void RunMain(void) { Main(); }
#endif
