/* Linked to a libcudart.so.12 of its own folder by DT_RPATH, which the loader asks before LD_LIBRARY_PATH;
 * or, with a word, the same library opened by its path. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#ifdef LINKED
int cudaMalloc(void** pointer, size_t bytes);
int cudaFree(void* pointer);
int cudaRuntimeGetVersion(int* version);
int cudaOfANewerRelease(void);
#else
static int (*cudaMalloc)(void**, size_t);
static int (*cudaFree)(void*);
static int (*cudaRuntimeGetVersion)(int*);
static int (*cudaOfANewerRelease)(void);
#endif

int main(int count, char** words) {
  int version = 0;
  void* pointer = NULL;
#ifndef LINKED
  if (count < 2) return 20;
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    puts(dlerror());
    return 21;
  }
  cudaMalloc = (int (*)(void**, size_t))dlsym(library, "cudaMalloc");
  cudaFree = (int (*)(void*))dlsym(library, "cudaFree");
  cudaRuntimeGetVersion = (int (*)(int*))dlsym(library, "cudaRuntimeGetVersion");
  cudaOfANewerRelease = (int (*)(void))dlsym(library, "cudaOfANewerRelease");
#else
  (void)count, (void)words;
#endif
  if (cudaRuntimeGetVersion(&version) != 0) return 4;
  printf("runtime %d\n", version);
  if (cudaMalloc(&pointer, 1000) != 0 || pointer == NULL) return 5;
  if (cudaFree(pointer) != 0) return 6;
#ifndef LINKED
  if (cudaOfANewerRelease == NULL) return 0;
#endif
  if (cudaOfANewerRelease() != 801) return 7;
  puts("done");
  return 0;
}
