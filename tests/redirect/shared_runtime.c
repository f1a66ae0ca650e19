/* A libcudart.so.12 that is not ours, as programs find one by DT_RPATH or by its path. Each function reports
 * when it runs. */
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

static int Ran(const char* name) {
  printf("ran %s\n", name);
  fflush(stdout);
  exit(3);
}
EXPORTED int cudaMalloc(void** pointer, size_t bytes) {
  return Ran("cudaMalloc") + (pointer != NULL) + (int)bytes;
}
EXPORTED int cudaFree(void* pointer) { return Ran("cudaFree") + (pointer != NULL); }
EXPORTED int cudaRuntimeGetVersion(int* version) { return Ran("cudaRuntimeGetVersion") + *version; }
EXPORTED int cudaOfANewerRelease(void) { return Ran("cudaOfANewerRelease"); }
__attribute__((constructor)) static void Constructor(void) { Ran("a constructor"); }
__attribute__((destructor)) static void Destructor(void) { Ran("a destructor"); }
