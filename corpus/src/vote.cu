// Votes of a warp and of a block. Lanes beyond n vote with a neutral predicate; lanes that do not exist have no vote.

// flags[w] = some lane of warp w is above the threshold.
extern "C" __global__ void vote_any(const int* data, unsigned* flags, int threshold, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned warp = blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32;
  int any = __any_sync(0xffffffffu, i < n && data[i] > threshold);
  if (threadIdx.x % 32 == 0) flags[warp] = any != 0;
}

// flags[w] = all lanes of warp w are above the threshold.
extern "C" __global__ void vote_all(const int* data, unsigned* flags, int threshold, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned warp = blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32;
  int all = __all_sync(0xffffffffu, i >= n || data[i] > threshold);
  if (threadIdx.x % 32 == 0) flags[warp] = all != 0;
}

// Votes by the lanes of one arm of a branch only: the mask comes from a ballot before the branch.
extern "C" __global__ void vote_divergent(const int* data, unsigned* votes, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? data[i] : 0;
  unsigned odd = __ballot_sync(0xffffffffu, value & 1);
  unsigned exist = __ballot_sync(0xffffffffu, 1);
  unsigned result;
  if (value & 1) {
    result = __any_sync(odd, value > 50) ? 1 : 2;
    result |= __ballot_sync(odd, value % 3 == 0) << 2;
  } else {
    result = __all_sync(exist & ~odd, value < 90) ? 3 : 0;
  }
  if (i < n) votes[i] = result;
}

// Block-wide votes: how many, whether all, whether any.
extern "C" __global__ void vote_block(const int* data, unsigned* result, int threshold, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int above = i < n && data[i] > threshold;
  int count = __syncthreads_count(above);
  int all = __syncthreads_and(above);
  int any = __syncthreads_or(above);
  if (threadIdx.x == 0) {
    result[3 * blockIdx.x] = count;
    result[3 * blockIdx.x + 1] = all != 0;
    result[3 * blockIdx.x + 2] = any != 0;
  }
}
