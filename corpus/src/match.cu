// Lanes that hold the same key find each other: per element the number of equals in its warp, its place among them,
// and the lowest lane of the group; per warp whether all keys are equal.
extern "C" __global__ void match_groups(const int* keys, unsigned* groups, int* uniform, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned live = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  unsigned equal = __match_any_sync(live, keys[i]);
  groups[3 * i] = __popc(equal);
  groups[3 * i + 1] = __popc(equal & ((1u << lane) - 1));
  groups[3 * i + 2] = __ffs(equal) - 1;
  int all_equal = 0;
  __match_all_sync(live, (unsigned long long)(unsigned)keys[i] << 31, &all_equal);
  if (lane == 0) uniform[blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32] = all_equal != 0;
}
