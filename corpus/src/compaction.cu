// Stream compaction: keep the values above zero in their order.

// Within a block: ballot and population count give the rank in the warp, a serial prefix the warps' bases.
// Block b writes its values to out[b * blockDim.x ...] and their number to counts[b].
extern "C" __global__ void compact_ballot(const int* in, int* out, unsigned* counts, unsigned n) {
  __shared__ unsigned warp_base[33];
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32, warps = (blockDim.x + 31) / 32;
  unsigned i = blockIdx.x * blockDim.x + tid;
  int value = i < n ? in[i] : 0;
  unsigned kept = __ballot_sync(0xffffffffu, value > 0);
  if (lane == 0) warp_base[warp + 1] = __popc(kept);
  __syncthreads();
  if (tid == 0) {
    warp_base[0] = 0;
    for (unsigned w = 0; w < warps; ++w) warp_base[w + 1] += warp_base[w];
    counts[blockIdx.x] = warp_base[warps];
  }
  __syncthreads();
  unsigned rank = __popc(kept & ((1u << lane) - 1));
  if (value > 0) out[blockIdx.x * blockDim.x + warp_base[warp] + rank] = value;
}

// Within a warp, after surplus lanes have left: the remaining lanes agree on the mask of those that are left.
// Warp w writes to out[first element of the warp ...] and counts[w].
extern "C" __global__ void compact_warp_early_exit(const int* in, int* out, unsigned* counts, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned stay = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  int value = in[i];
  unsigned kept = __ballot_sync(stay, value > 0);
  if (value > 0) out[i - lane + __popc(kept & ((1u << lane) - 1))] = value;
  if (lane == 0) counts[blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32] = __popc(kept);
}
