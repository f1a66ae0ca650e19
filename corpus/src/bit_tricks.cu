// Bit manipulation: counts, reversal, byte permutation, funnel shifts, fields, Gray code, Morton order.
static __device__ __forceinline__ unsigned Spread(unsigned x) {
  x = (x | (x << 8)) & 0x00ff00ffu;
  x = (x | (x << 4)) & 0x0f0f0f0fu;
  x = (x | (x << 2)) & 0x33333333u;
  return (x | (x << 1)) & 0x55555555u;
}

extern "C" __global__ void bit_tricks(const unsigned* in, unsigned* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = in[i], *result = out + 8 * i;
  result[0] = __popc(x) | __clz(x) << 8 | __ffs(x) << 16;
  result[1] = __brev(x);
  result[2] = __byte_perm(x, i, x >> 16);
  result[3] = __funnelshift_l(x, i, x & 63) ^ __funnelshift_r(i, x, x >> 27);
  result[4] = __funnelshift_lc(x, i, x & 63);
  result[5] = ((x >> 5) & 0x7ff) | (x ^ (x >> 1)) << 21;
  result[6] = Spread(x & 0xffff) | Spread(x >> 16) << 1;
  result[7] = __umulhi(x, 0x9e3779b9u) + (unsigned)__mulhi((int)x, 0x1234567) + __usad(x, i, 7);
}
