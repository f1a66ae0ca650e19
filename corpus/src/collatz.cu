// Steps of the Collatz sequence down to 1: a while loop of unknown length with three exits (done, overflow, limit).
extern "C" __global__ void collatz_steps(const unsigned* in, int* steps, int limit, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = in[i];
  int count = 0;
  while (x > 1) {
    if (x & 1) {
      if (x > 0x55555554u) {
        count = -1;
        break;
      }
      x = 3 * x + 1;
    } else {
      x >>= 1;
    }
    if (++count == limit) {
      count = -2;
      break;
    }
  }
  steps[i] = count;
}
