/* A program as nvcc links it with the static runtime, seen from outside: the runtime's functions are its own, a constructor
 * belongs to the runtime, device code is in .nv_fatbin. Each of these functions says so and fails when it runs: a
 * redirected program must not run one. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((section(".nv_fatbin"), used)) static const char device_code[16] = {0};
__attribute__((used)) const char runtime_text[] = "CUDA driver version is insufficient for CUDA runtime version";

#define OF_THE_RUNTIME __attribute__((noinline, noclone, used)) static

OF_THE_RUNTIME int Ran(const char* name) {
  printf("ran %s\n", name);
  fflush(stdout);
  exit(3);
}
OF_THE_RUNTIME int cudaMalloc(void** pointer, size_t bytes) { return Ran("cudaMalloc") + (pointer != NULL) + (int)bytes; }
OF_THE_RUNTIME int cudaFree(void* pointer) { return Ran("cudaFree") + (pointer != NULL); }
OF_THE_RUNTIME int cudaRuntimeGetVersion(int* version) { return Ran("cudaRuntimeGetVersion") + *version; }
OF_THE_RUNTIME int cudaGetLastError(void) { return Ran("cudaGetLastError"); }
#ifdef RUNTIME_12
OF_THE_RUNTIME int cudaGetDeviceProperties_v2(void* properties, int device) { return Ran("cudaGetDeviceProperties_v2") + device + (properties != NULL); }
OF_THE_RUNTIME int cudaThreadSynchronize(void) { return Ran("cudaThreadSynchronize"); }
#endif
OF_THE_RUNTIME void** __cudaRegisterFatBinary(void* wrapper) { return (void**)(size_t)(Ran("__cudaRegisterFatBinary") + (wrapper != NULL)); }
OF_THE_RUNTIME void libcudart_static_0123456789(void) { Ran("an inner function"); }
__attribute__((constructor)) OF_THE_RUNTIME void libcudart_static_abcdef(void) { Ran("a constructor"); }

/* The program's own, in spite of its name. */
__attribute__((noinline)) static int cudaCheck(int error) { return error; }

int main(int count, char** words) {
  int version = 0;
  void* pointer = NULL;
  (void)words;
  if (count > 1) libcudart_static_0123456789();
  if (cudaCheck(cudaRuntimeGetVersion(&version)) != 0) return 4;
  printf("runtime %d\n", version);
  if (cudaMalloc(&pointer, (size_t)-1 / 2) == 0) return 5;
  if (cudaGetLastError() != 2) return 6;
  if (cudaMalloc(&pointer, 1000) != 0 || pointer == NULL) return 7;
  if (cudaFree(pointer) != 0) return 8;
  puts("done");
  return 0;
}
