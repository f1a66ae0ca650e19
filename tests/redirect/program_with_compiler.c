/* Compiles with NVRTC, takes the machine code and runs it. The words are the compiler's options; when built
 * with OPENED, words up to "--" are libraries to be opened, and each compiles the same; every second one is
 * closed again. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_on_driver.h"

struct nvrtc_program;
typedef int create_function(struct nvrtc_program**, const char*, const char*, int, const char* const*,
                            const char* const*);
typedef int compile_function(struct nvrtc_program*, int, const char* const*);
typedef int size_function(struct nvrtc_program*, size_t*);
typedef int bytes_function(struct nvrtc_program*, char*);
typedef int destroy_function(struct nvrtc_program**);

struct compiler {
  create_function* create;
  compile_function* compile;
  size_function* size;
  bytes_function* bytes;
  destroy_function* destroy;
};

#ifndef OPENED
extern create_function nvrtcCreateProgram;
extern compile_function nvrtcCompileProgram;
extern size_function nvrtcGetCUBINSize;
extern bytes_function nvrtcGetCUBIN;
extern destroy_function nvrtcDestroyProgram;
/* One by address, the others by calls. */
static compile_function* by_address = &nvrtcCompileProgram;
static int Size(struct nvrtc_program* program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
static int Bytes(struct nvrtc_program* program, char* bytes) { return nvrtcGetCUBIN(program, bytes); }
#endif

static int Use(const struct compiler* compiler, int count, char** options) {
  struct nvrtc_program* program;
  size_t bytes = 77;
  if (compiler->create(&program, "__global__ void answer(int* to) { *to = 42; }", "answer.cu", 0, NULL,
                       NULL) != 0)
    return 10;
  if (compiler->compile(program, count, (const char* const*)options) != 0) return 11;
  if (compiler->size(program, &bytes) != 0) return 12;
  printf("%zu bytes\n", bytes);
  char* image = malloc(bytes + 1);
  image[bytes] = 'x';
  if (bytes != 0 && compiler->bytes(program, image) != 0) return 13;
  if (image[bytes] != 'x') return 14;
  const int code = bytes == 0 ? 0 : RunOnDriver(image);
  printf("result %d\n", code);
  free(image);
  return compiler->destroy(&program);
}

int main(int count, char** words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef OPENED
  int options = 1;
  while (options < count && strcmp(words[options], "--") != 0) ++options;
  for (int i = 1; i < options; ++i) {
    void* library = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return puts(dlerror()), 21;
    const struct compiler compiler = {(create_function*)dlsym(library, "nvrtcCreateProgram"),
                                      (compile_function*)dlsym(library, "nvrtcCompileProgram"),
                                      (size_function*)dlsym(library, "nvrtcGetCUBINSize"),
                                      (bytes_function*)dlsym(library, "nvrtcGetCUBIN"),
                                      (destroy_function*)dlsym(library, "nvrtcDestroyProgram")};
    const int code = Use(&compiler, count - options - 1, words + options + 1);
    if (code != 0) return code;
    if (i % 2 == 0) dlclose(library);
  }
  return 0;
#else
  const struct compiler compiler = {&nvrtcCreateProgram, by_address, &Size, &Bytes, &nvrtcDestroyProgram};
  return Use(&compiler, count - 1, words + 1);
#endif
}
