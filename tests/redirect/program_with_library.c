/* Linked to a libcublas.so.13 of its own folder by DT_RPATH, which the loader asks before LD_LIBRARY_PATH. */
#include <stdio.h>

int cublasGetProperty(int type, int* value);
int cublasOfANewerRelease(void);
int _ZOfItsOwn(void);

int main(void) {
  int major = 0;
  if (cublasGetProperty(0, &major) != 0) return 4;
  printf("major %d\n", major);
  if (cublasOfANewerRelease() == 0) return 5;
  if (_ZOfItsOwn() != 5) return 6;
  puts("done");
  return 0;
}
