// Reductions over teams and threads; a region reports where it runs.
#include <omp.h>
#include <stdio.h>

enum { kCount = 1000 };

int main(void) {
  double x[kCount], y[kCount], sum = 0;
  int on_host = 1, largest = -1;
  for (int i = 0; i < kCount; ++i) x[i] = i, y[i] = kCount - i;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : x, y)
  for (int i = 0; i < kCount; ++i) sum += x[i] * y[i];
#pragma omp target teams distribute parallel for reduction(max : largest) map(to : x)
  for (int i = 0; i < kCount; ++i) {
    if ((int)x[i] * 7 % kCount > largest) largest = (int)x[i] * 7 % kCount;
  }
  printf("host %d sum %.0f largest %d\n", on_host, sum, largest);
}
