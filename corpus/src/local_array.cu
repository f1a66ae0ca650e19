// Arrays of a thread's own with an index known only at run time: they live in local memory.

// Median of a 3x3 neighbourhood by insertion sort; outside repeats the edge.
extern "C" __global__ void local_array_median(const unsigned short* in, unsigned short* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned short sorted[9];
  int count = 0;
#pragma unroll 1
  for (int k = 0; k < 9; ++k) {
    int sx = min(max(x + k % 3 - 1, 0), width - 1), sy = min(max(y + k / 3 - 1, 0), height - 1);
    unsigned short value = in[sy * width + sx];
    int at = count++;
    for (; at > 0 && sorted[at - 1] > value; --at) sorted[at] = sorted[at - 1];
    sorted[at] = value;
  }
  out[y * width + x] = sorted[4];
}

// Which decimal digit is most frequent in a number (the smallest such digit), by a table of ten counters.
extern "C" __global__ void local_array_digits(const unsigned long long* in, int* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int counts[10] = {};
  unsigned long long rest = in[i];
  do {
    ++counts[rest % 10];
    rest /= 10;
  } while (rest != 0);
  int best = 0;
  for (int d = 1; d < 10; ++d)
    if (counts[d] > counts[best]) best = d;
  out[i] = best * 100 + counts[best];
}
