// Area of a quarter circle by integer random points: each thread has its own generator; hits are counted by a
// shuffle sum and one atomic per warp.
static __device__ __forceinline__ unsigned NextRandom(unsigned& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

extern "C" __global__ void monte_carlo_circle(unsigned* hits, unsigned seed, unsigned points, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned lanes = min(32u, blockDim.x - threadIdx.x / 32 * 32);
  unsigned count = 0;
  if (i < n) {
    unsigned state = seed + i * 0x9e3779b9u;
    if (state == 0) state = 1;
    for (unsigned p = 0; p < points; ++p) {
      unsigned long long x = NextRandom(state) >> 1, y = NextRandom(state) >> 1;
      count += x * x + y * y < 1ull << 62;
    }
  }
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    unsigned other = __shfl_down_sync(0xffffffffu, count, offset);
    if (lane + offset < lanes) count += other;
  }
  if (lane == 0 && count != 0) atomicAdd(hits, count);
}
