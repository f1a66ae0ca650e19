// printf from the device.
#include <cstdio>

// One thread prints: the lines come in order. Arguments of all sizes.
extern "C" __global__ void printf_single(const int* in, const double* x, unsigned n) {
  if (blockIdx.x != 0 || threadIdx.x != blockDim.x - 1) return;
  printf("n=%u threads=%u\n", n, blockDim.x * gridDim.x);
  for (unsigned i = 0; i < n; ++i)
    printf("%3u: %+6d %#010x %c %12.5f %.3e %s\n", i, in[i], in[i], 'a' + (int)(i % 26), x[i], x[i],
           in[i] < 0 ? "below" : "not below");
  printf("long %lld %llu %llx, 100%%\n", -5000000000LL, 18446744073709551615ULL, 0x123456789abcdefULL);
}

// Many threads print one line each; the order of the lines is not defined.
extern "C" __global__ void printf_threads(const int* in, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] % 4 == 0) printf("element %u of %u is %d\n", i, n, in[i]);
}
