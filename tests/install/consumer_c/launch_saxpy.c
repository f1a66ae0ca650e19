/* Launches a kernel that `ptx2cpu compile` made into an object file with a header. */
#include <stdio.h>

#include "ptx2cpu_kernels.h"

int main(void) {
  enum { kCount = 1000 };
  static float x[kCount], y[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = (float)i, y[i] = 1;
  const uint32_t grid[3] = {4, 1, 1}, block[3] = {256, 1, 1};
  if (saxpy_launch(grid, block, 0, 2.0f, x, y, kCount) != 0) return puts(ptx2cpu_message()), 1;
  for (int i = 0; i < kCount; ++i) {
    if (y[i] != 2 * (float)i + 1) return printf("element %d is %g\n", i, (double)y[i]), 1;
  }
  return 0;
}
