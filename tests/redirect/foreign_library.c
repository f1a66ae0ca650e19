/* A libcublas.so.13 that is not ours, as programs find one beside them. Functions report when they run. */
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

static int Ran(const char* name) {
  printf("ran %s\n", name);
  fflush(stdout);
  exit(3);
}
EXPORTED int cublasGetProperty(int type, int* value) { return Ran("cublasGetProperty") + type + *value; }
EXPORTED int cublasOfANewerRelease(void) { return Ran("cublasOfANewerRelease"); }
/* Not of the interface: stays as it is. */
EXPORTED int _ZOfItsOwn(void) { return getenv("PATH") == NULL ? Ran("_ZOfItsOwn") : 5; }
__attribute__((constructor)) static void Constructor(void) { Ran("a constructor"); }
