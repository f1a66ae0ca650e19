// Least significant digit radix sort of 8-bit keys with their payload inside a block: per bit a stable split by a
// scan of ballots. Dynamic shared memory: 8 * blockDim.x bytes. Each block sorts blockDim.x pairs; a short last block
// sorts what is there.
extern "C" __global__ void radix_sort_block(unsigned* keys, unsigned* payload, unsigned n) {
  extern __shared__ unsigned pairs[];
  __shared__ unsigned warp_zeros[33];
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32, warps = (blockDim.x + 31) / 32;
  unsigned i = blockIdx.x * blockDim.x + tid;
  unsigned key = i < n ? keys[i] : 0xffffffffu, value = i < n ? payload[i] : 0;
  for (unsigned bit = 0; bit < 9; ++bit) {
    bool zero = (key >> bit & 1) == 0;
    unsigned ballot = __ballot_sync(0xffffffffu, zero);
    if (lane == 0) warp_zeros[warp + 1] = __popc(ballot);
    __syncthreads();
    if (tid == 0) {
      warp_zeros[0] = 0;
      for (unsigned w = 0; w < warps; ++w) warp_zeros[w + 1] += warp_zeros[w];
    }
    __syncthreads();
    unsigned before = warp_zeros[warp] + __popc(ballot & ((1u << lane) - 1));
    unsigned place = zero ? before : warp_zeros[warps] + tid - before;
    pairs[2 * place] = key;
    pairs[2 * place + 1] = value;
    __syncthreads();
    key = pairs[2 * tid];
    value = pairs[2 * tid + 1];
    __syncthreads();
  }
  if (i < n) {
    keys[i] = key;
    payload[i] = value;
  }
}
