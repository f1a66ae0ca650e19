/* A program as nvcc links it with the static runtime, seen from outside: the runtime's functions are its own,
 * a constructor belongs to the runtime, device code is in .nv_fatbin. Each of these functions prints its name
 * and fails when it runs: a redirected program must not run one. With LIBRARY it is a library that a program
 * opens, and that calls the runtime in a constructor of its own, as code of nvcc does to register device
 * code. With HOST_ONLY there is no device code. */
#include <stdio.h>
#include <stdlib.h>

#ifndef HOST_ONLY
__attribute__((section(".nv_fatbin"), used)) static const char device_code[16] = {0};
#endif
__attribute__((used)) const char runtime_text[] =
    "CUDA driver version is insufficient for CUDA runtime version";

#ifdef __clang__
#define OF_THE_RUNTIME __attribute__((noinline, used)) static
#else
#define OF_THE_RUNTIME __attribute__((noinline, noclone, used)) static
#endif

OF_THE_RUNTIME int Ran(const char* name) {
  printf("ran %s\n", name);
  fflush(stdout);
  exit(3);
}
OF_THE_RUNTIME int cudaMalloc(void** pointer, size_t bytes) {
  return Ran("cudaMalloc") + (pointer != NULL) + (int)bytes;
}
OF_THE_RUNTIME int cudaFree(void* pointer) { return Ran("cudaFree") + (pointer != NULL); }
OF_THE_RUNTIME int cudaRuntimeGetVersion(int* version) { return Ran("cudaRuntimeGetVersion") + *version; }
OF_THE_RUNTIME int cudaGetLastError(void) { return Ran("cudaGetLastError"); }
#ifdef RUNTIME_12
OF_THE_RUNTIME int cudaGetDeviceProperties_v2(void* properties, int device) {
  return Ran("cudaGetDeviceProperties_v2") + device + (properties != NULL);
}
OF_THE_RUNTIME int cudaThreadSynchronize(void) { return Ran("cudaThreadSynchronize"); }
#endif
OF_THE_RUNTIME void** __cudaRegisterFatBinary(void* wrapper) {
  return (void**)(size_t)(Ran("__cudaRegisterFatBinary") + (wrapper != NULL));
}
OF_THE_RUNTIME void libcudart_static_0123456789(void) { Ran("an inner function"); }
__attribute__((constructor)) OF_THE_RUNTIME void libcudart_static_abcdef(void) { Ran("a constructor"); }

/* The program's own, in spite of its name. */
__attribute__((noinline)) static int cudaCheck(int error) { return error; }

static int Work(void) {
  int version = 0;
  void* pointer = NULL;
  if (cudaCheck(cudaRuntimeGetVersion(&version)) != 0) return 4;
  printf("runtime %d\n", version);
  if (cudaMalloc(&pointer, (size_t)-1 / 2) == 0) return 5;
  if (cudaGetLastError() != 2) return 6;
  if (cudaMalloc(&pointer, 1000) != 0 || pointer == NULL) return 7;
  if (cudaFree(pointer) != 0) return 8;
  puts("done");
  return 0;
}

#ifdef LIBRARY
static int early = -1;
__attribute__((constructor)) static void OwnConstructor(void) {
  int version = 0;
  early = cudaRuntimeGetVersion(&version);
}
__attribute__((visibility("default"))) int run(void) { return early != 0 ? 9 : Work(); }
#else
int main(int count, char** words) {
  (void)words;
  if (count > 1) libcudart_static_0123456789();
  return Work();
}
#endif
