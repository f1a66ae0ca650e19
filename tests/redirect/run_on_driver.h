/* Loads an image with the CUDA driver and runs its kernel `answer`, which writes a number. */
#pragma once

#include <dlfcn.h>
#include <stdio.h>

/* 0: it ran; else where it ended, or the driver's result of loading. */
static int RunOnDriver(const char* image) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) return 1;
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*create)(void**, unsigned, int) = (int (*)(void**, unsigned, int))dlsym(driver, "cuCtxCreate_v2");
  int (*load)(void**, const void*) = (int (*)(void**, const void*))dlsym(driver, "cuModuleLoadData");
  int (*function)(void**, void*, const char*) =
      (int (*)(void**, void*, const char*))dlsym(driver, "cuModuleGetFunction");
  int (*allocate)(unsigned long long*, size_t) =
      (int (*)(unsigned long long*, size_t))dlsym(driver, "cuMemAlloc_v2");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = (int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, void*, void**, void**))dlsym(driver, "cuLaunchKernel");
  int (*copy)(void*, unsigned long long, size_t) =
      (int (*)(void*, unsigned long long, size_t))dlsym(driver, "cuMemcpyDtoH_v2");
  void *context, *module, *kernel;
  unsigned long long to;
  int answer = 0;
  if (init(0) != 0 || create(&context, 0, 0) != 0) return 2;
  const int loaded = load(&module, image);
  if (loaded != 0) return loaded;
  if (function(&kernel, module, "answer") != 0 || allocate(&to, sizeof answer) != 0) return 3;
  void* arguments[] = {&to};
  if (launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL) != 0 ||
      copy(&answer, to, sizeof answer) != 0)
    return 4;
  printf("answer %d\n", answer);
  return 0;
}
