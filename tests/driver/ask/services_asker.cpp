// Two devices and a second context on the first: each has its own limits, heap of malloc and printf.
// `services_asker heap | reset | foreign | print` prints what it saw (services_test.cpp).
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "driver_api.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

namespace {

// take(p): p[0] = malloc(p[0]), and 77 there. give_back(p): free(p[0]). where(p): p[0] = the device's number.
// say(who, n): prints "who n", "who n-1" ... "who 1".
constexpr char kPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b32 r) cudaGetDevice(.param .b64 p);
.global .align 1 .b8 text[7] = {37, 100, 32, 37, 100, 10, 0};
.visible .entry take(.param .u64 p) {
  .reg .b64 %d<3>; .reg .pred %q;
  ld.param.u64 %d0, [p]; ld.global.u64 %d1, [%d0];
  { .param .b64 n; .param .b64 r; st.param.b64 [n], %d1; call (r), malloc, (n); ld.param.b64 %d2, [r]; }
  st.global.u64 [%d0], %d2;
  setp.eq.u64 %q, %d2, 0;
  @!%q st.u64 [%d2], 77;
  ret;
}
.visible .entry give_back(.param .u64 p) {
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [p]; ld.global.u64 %d1, [%d0];
  { .param .b64 a; st.param.b64 [a], %d1; call free, (a); }
  ret;
}
.visible .entry where(.param .u64 p) {
  .reg .b64 %d<2>; .reg .b32 %r<1>;
  ld.param.u64 %d0, [p]; st.global.u64 [%d0], 0;
  { .param .b64 a; .param .b32 r; st.param.b64 [a], %d0; call (r), cudaGetDevice, (a); ld.param.b32 %r0, [r]; }
  ret;
}
.visible .entry say(.param .u32 who, .param .u32 n) {
  .local .align 8 .b8 buffer[8]; .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .pred %q;
  ld.param.u32 %r0, [who]; ld.param.u32 %r1, [n];
  mov.u64 %d0, buffer; cvta.local.u64 %d0, %d0; mov.u64 %d1, text; cvta.global.u64 %d1, %d1;
again:
  st.local.u32 [buffer], %r0; st.local.u32 [buffer+4], %r1;
  { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1; st.param.b64 [a], %d0; call (r), vprintf, (f, a); }
  sub.u32 %r1, %r1, 1; setp.ne.u32 %q, %r1, 0; @%q bra again;
  ret;
}
)";

// A context with the kernels in it.
struct Place {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  uint64_t word = 0;

  void Load() {
    cuCtxSetCurrent(context);
    if (const CUresult error = cuModuleLoadData(&module, kPtx))
      std::printf("load: %d\n", static_cast<int>(error));
  }
  CUresult Launch(const char* kernel, void** parameters) {
    CUfunction function;
    cuCtxSetCurrent(context);
    if (const CUresult error = cuModuleGetFunction(&function, module, kernel)) return error;
    if (const CUresult error = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr))
      return error;
    return cuCtxSynchronize();
  }
  // What the kernel leaves where `value` was.
  uint64_t Word(const char* kernel, uint64_t value) {
    word = value;
    uint64_t* address = &word;
    void* parameters[] = {&address};
    if (const CUresult error = Launch(kernel, parameters))
      std::printf("%s: %d\n", kernel, static_cast<int>(error));
    return word;
  }
  uint64_t Take(uint64_t bytes) { return Word("take", bytes); }
  void Say(uint32_t who, uint32_t n) {
    void* parameters[] = {&who, &n};
    if (const CUresult error = Launch("say", parameters)) std::printf("say: %d\n", static_cast<int>(error));
  }
  void SetLimit(CUlimit limit, size_t value) {
    cuCtxSetCurrent(context);
    if (const CUresult error = cuCtxSetLimit(limit, value))
      std::printf("limit: %d\n", static_cast<int>(error));
  }
  unsigned long long Limit(CUlimit limit) {
    size_t value = 0;
    cuCtxSetCurrent(context);
    if (const CUresult error = cuCtxGetLimit(&value, limit))
      std::printf("limit: %d\n", static_cast<int>(error));
    return value;
  }
};

Place first, second, beside;  // the primary contexts of devices 0 and 1; another context of device 0

void Begin() {
  cuInit(0);
  cuDevicePrimaryCtxRetain(&first.context, 0);
  cuDevicePrimaryCtxRetain(&second.context, 1);
  cuCtxCreate_v2(&beside.context, 0, 0);
  for (Place* place : {&first, &second, &beside}) place->Load();
}

const char* Got(uint64_t address) { return address != 0 ? "memory" : "null"; }

// Each context has its own limit and its own heap.
void Heap() {
  first.SetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size_t{1} << 20);  // becomes the least, 4 MiB
  beside.SetLimit(CU_LIMIT_STACK_SIZE, 4096);
  for (Place* place : {&first, &second, &beside}) {
    std::printf("device %d heap %llu stack %llu\n", static_cast<int>(place->Word("where", 9)),
                place->Limit(CU_LIMIT_MALLOC_HEAP_SIZE), place->Limit(CU_LIMIT_STACK_SIZE));
  }
  for (Place* place : {&first, &second, &beside})
    std::printf("5 MiB: %s, then 6 MiB: %s\n", Got(place->Take(5 << 20)), Got(place->Take(6 << 20)));
  first.SetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size_t{16} << 20);  // too late
}

// A reset frees the heap of its device and sets back its limits; the others keep theirs.
void Reset() {
  first.SetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size_t{4} << 20);
  second.SetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size_t{4} << 20);
  first.Take(3 << 20);
  const uint64_t kept = second.Take(3 << 20);
  std::printf("3 MiB more: %s %s\n", Got(first.Take(3 << 20)), Got(second.Take(3 << 20)));
  cuDevicePrimaryCtxReset_v2(0);
  cuDevicePrimaryCtxRetain(&first.context, 0);
  first.Load();
  std::printf("limits after the reset: %llu %llu\n", first.Limit(CU_LIMIT_MALLOC_HEAP_SIZE),
              second.Limit(CU_LIMIT_MALLOC_HEAP_SIZE));
  std::printf("7 MiB after the reset: %s\n", Got(first.Take(7 << 20)));
  std::printf("of the other device: %s, and what it has holds %llu\n", Got(second.Take(3 << 20)),
              static_cast<unsigned long long>(*reinterpret_cast<uint64_t*>(kept)));
}

void Stack() {
  for (size_t bytes : {size_t{1}, size_t{4096}, size_t{1} << 30}) {
    first.SetLimit(CU_LIMIT_STACK_SIZE, bytes);
    std::printf("stack %llu\n", first.Limit(CU_LIMIT_STACK_SIZE));
  }
}

// Memory of one heap is no memory of another.
void Foreign() {
  uint64_t address = first.Take(100);
  uint64_t* place = &address;
  void* parameters[] = {&place};
  std::printf("free on the other device: %d\n", static_cast<int>(second.Launch("give_back", parameters)));
  std::printf("free where it belongs: %d\n", static_cast<int>(first.Launch("give_back", parameters)));
}

// A context keeps the end of what is printed, as much as its own limit allows: of lines of eight bytes
// 65,536.
void PrintMuch() {
  second.SetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1);  // becomes the least, 512 KiB
  second.Say(2, 99'999);
  first.Say(1, 99'999);
  second.SetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, size_t{1} << 20);  // too late
}

// Kernels of two devices print one after the other.
void Print() {
  first.Say(1, 2);
  second.Say(2, 5);
  first.Say(3, 5);
  beside.Say(4, 1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  Begin();
  if (what == "heap") Heap();
  if (what == "reset") Reset();
  if (what == "foreign") Foreign();
  if (what == "print") Print();
  if (what == "much") PrintMuch();
  if (what == "stack") Stack();
  return 0;
}
