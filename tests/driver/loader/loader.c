/* A client as language runtimes are: no CUDA header, no link against CUDA. Finds libcuda.so.1 with dlopen,
 * every function with cuGetProcAddress, asks the device some forty questions, loads PTX with options for logs
 * and launches in both ways. Prints "ok" when everything came out as it must. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*GetProc)(const char*, void**, int, uint64_t, int*);
static GetProc get_proc;

static void* Find(const char* name, int version) {
  void* function = NULL;
  int status = -1;
  if (get_proc(name, &function, version, 0, &status) != 0 || function == NULL || status != 0) {
    printf("no %s of version %d: status %d\n", name, version, status);
    exit(1);
  }
  return function;
}

static void Check(int result, const char* what) {
  if (result == 0) return;
  printf("%s: %d\n", what, result);
  exit(1);
}

#define CALL(name, version, types, ...) Check(((int(*) types)Find(#name, version))(__VA_ARGS__), #name)

struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
  void* attributes;
  unsigned count;
};

static const char kPtx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {\n"
    ".reg .u64 %rd<6>;\n.reg .u32 %r<6>;\n.reg .f32 %f<4>;\n.reg .pred %p;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [y];\nld.param.f32 %f1, [a];\nld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "setp.ge.u32 %p, %r5, %r1;\n@%p ret;\nmul.wide.u32 %rd3, %r5, 4;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 "
    "%rd5, %rd2, %rd3;\n"
    "ld.global.f32 %f2, [%rd4];\nld.global.f32 %f3, [%rd5];\nfma.rn.f32 %f3, %f1, %f2, %f3;\nst.global.f32 "
    "[%rd5], %f3;\nret;\n}\n";

enum { kCount = 1000 };

static void AskDevice(int device) {
  static const int kAttributes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12, 13, 14,
                                    16, 17, 18, 19, 20, 31, 33, 34, 36, 37, 38,  39, 40, 41,
                                    75, 76, 78, 81, 82, 83, 86, 95, 97, 99, 106, 115};
  char name[128];
  size_t memory = 0;
  size_t i;
  for (i = 0; i < sizeof kAttributes / sizeof *kAttributes; ++i) {
    int value = -1;
    CALL(cuDeviceGetAttribute, 2000, (int*, int, int), &value, kAttributes[i], device);
    if (value < 0) Check(kAttributes[i], "negative attribute");
  }
  CALL(cuDeviceGetName, 2000, (char*, int, int), name, sizeof name, device);
  CALL(cuDeviceTotalMem, 3020, (size_t*, int), &memory, device);
  if (strncmp(name, "ptx2cpu (", 9) != 0 || memory < (64u << 20)) Check(1, "name or memory");
}

static void Run(void* function, void* stream) {
  static float x[kCount], y[kCount];
  uint64_t device_x = 0, device_y = 0;
  float a = 3;
  unsigned n = kCount, i;
  void* parameters[] = {&device_x, &device_y, &a, &n};
  struct Config config = {{8, 1, 1}, {128, 1, 1}, 0, stream, NULL, 0};
  for (i = 0; i < n; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  CALL(cuMemAlloc, 3020, (uint64_t*, size_t), &device_x, sizeof x);
  CALL(cuMemAlloc, 3020, (uint64_t*, size_t), &device_y, sizeof y);
  CALL(cuMemcpyHtoDAsync, 3020, (uint64_t, const void*, size_t, void*), device_x, x, sizeof x, stream);
  CALL(cuMemcpyHtoDAsync, 3020, (uint64_t, const void*, size_t, void*), device_y, y, sizeof y, stream);
  CALL(cuLaunchKernel, 4000,
       (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**),
       function, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL);
  CALL(cuLaunchKernelEx, 11060, (const struct Config*, void*, void**, void**), &config, function, parameters,
       NULL);
  CALL(cuMemcpyDtoHAsync, 3020, (void*, uint64_t, size_t, void*), y, device_y, sizeof y, stream);
  CALL(cuStreamSynchronize, 2000, (void*), stream);
  for (i = 0; i < n; ++i) {
    if (y[i] != 1 + 6 * (float)i) Check((int)i + 1, "result");
  }
  CALL(cuMemFree, 3020, (uint64_t), device_x);
  CALL(cuMemFree, 3020, (uint64_t), device_y);
}

int main(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void *context = NULL, *current = NULL, *module = NULL, *function = NULL, *stream = NULL, *table = NULL;
  int count = 0, version = 0, value = 0;
  char log[1024] = "", errors[1024] = "";
  int names[] = {3, 4, 5, 6, 12, 0}; /* info log, its size, error log, its size, verbose, registers */
  void* values[] = {log, (void*)sizeof log, errors, (void*)sizeof errors, (void*)1, (void*)64};
  const unsigned char id[16] = {0x6b, 0xd5};
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  get_proc = (GetProc)dlsym(library, "cuGetProcAddress_v2");
  if (get_proc == NULL || dlsym(library, "cuLaunchKernel_ptsz") == NULL ||
      dlsym(library, "cuMemcpyHtoD_v2_ptds") == NULL) {
    printf("a symbol is missing\n");
    return 1;
  }
  CALL(cuInit, 2000, (unsigned), 0);
  CALL(cuDriverGetVersion, 2020, (int*), &version);
  CALL(cuDeviceGetCount, 2000, (int*), &count);
  if (count < 1 || version < 12000) Check(1, "count or version");
  AskDevice(0);
  if (((int (*)(const void**, const void*))Find("cuGetExportTable", 3000))((const void**)&table, id) == 0)
    Check(1, "a private table");
  CALL(cuDevicePrimaryCtxRetain, 7000, (void**, int), &context, 0);
  CALL(cuCtxPushCurrent, 4000, (void*), context);
  CALL(cuModuleLoadDataEx, 2010, (void**, const void*, unsigned, int*, void**), &module, kPtx, 6, names,
       values);
  if (strstr(log, "axpy") == NULL) Check(1, "info log");
  CALL(cuModuleGetFunction, 2000, (void**, void*, const char*), &function, module, "axpy");
  CALL(cuFuncGetAttribute, 2020, (int*, int, void*), &value, 0, function);
  CALL(cuFuncSetAttribute, 9000, (void*, int, int), function, 8, 65536);
  CALL(cuStreamCreate, 2000, (void**, unsigned), &stream, 1);
  Run(function, stream);
  Run(function, NULL);
  CALL(cuStreamDestroy, 4000, (void*), stream);
  CALL(cuModuleUnload, 2000, (void*), module);
  CALL(cuCtxPopCurrent, 4000, (void**), &current);
  if (current != context) Check(1, "popped context");
  CALL(cuDevicePrimaryCtxRelease, 11000, (int), 0);
  printf("ok\n");
  return 0;
}
