// Data that stay on the device between two regions, and a reduction.
#include <openacc.h>
#include <stdio.h>

enum { kCount = 4096 };
static float x[kCount], y[kCount];

int main(void) {
  int on_host = 1;
  double sum = 0;
  for (int i = 0; i < kCount; ++i) x[i] = i % 17, y[i] = 1;
#pragma acc parallel copyout(on_host)
  on_host = acc_on_device(acc_device_host);
#pragma acc data copyin(x) copy(y)
  {
#pragma acc parallel loop present(x, y)
    for (int i = 0; i < kCount; ++i) y[i] += 2 * x[i];
#pragma acc parallel loop reduction(+ : sum) present(y)
    for (int i = 0; i < kCount; ++i) sum += y[i];
  }
  printf("host %d sum %.0f last %.0f\n", on_host, sum, y[kCount - 1]);
}
