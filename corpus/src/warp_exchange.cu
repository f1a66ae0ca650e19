// Exchange between the lanes of a warp.

// Butterfly: every lane gets the largest value of its warp and its place (the lowest such index). Indices of
// lanes that are missing or beyond n are never taken.
extern "C" __global__ void warp_argmax(const int* in, int* best_value, unsigned* best_index, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned exist = __ballot_sync(0xffffffffu, 1);
  int value = i < n ? in[i] : -2147483647 - 1;
  unsigned index = i < n ? i : 0xffffffffu;
#pragma unroll
  for (unsigned step = 16; step > 0; step /= 2) {
    int other_value = __shfl_xor_sync(0xffffffffu, value, step);
    unsigned other_index = __shfl_xor_sync(0xffffffffu, index, step);
    bool there = exist >> (lane ^ step) & 1;
    if (there && (other_value > value || (other_value == value && other_index < index))) {
      value = other_value;
      index = other_index;
    }
  }
  // In a partial warp lane 0 alone is sure to have met every lane.
  value = __shfl_sync(0xffffffffu, value, 0);
  index = __shfl_sync(0xffffffffu, index, 0);
  if (i < n) {
    best_value[i] = value;
    best_index[i] = index;
  }
}

// Gather within segments of 8 lanes (the width operand), of 64-bit values; a lane that asks for a missing lane keeps
// its own value.
extern "C" __global__ void warp_segment_gather(const double* in, const unsigned* from, double* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned live = __ballot_sync(0xffffffffu, i < n);
  double value = i < n ? in[i] : 0.0;
  unsigned source = i < n ? from[i] % 8 : 0;
  double gathered = __shfl_sync(0xffffffffu, value, source, 8);
  double below = __shfl_up_sync(0xffffffffu, value, 1, 8);
  if (!(live >> ((lane & ~7u) + source) & 1)) gathered = value;
  if (i < n) out[i] = __dadd_rn(gathered, __dmul_rn(0.5, below));
}

// Sum, minimum and bitwise or over a warp, by the reduction instruction where the target has it, by shuffles else.
extern "C" __global__ void warp_redux(const unsigned* in, unsigned* results, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  unsigned live = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  unsigned sum = in[i], least = in[i], any = in[i];
#if __CUDA_ARCH__ >= 800
  sum = __reduce_add_sync(live, sum);
  least = __reduce_min_sync(live, least);
  any = __reduce_or_sync(live, any);
#else
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    unsigned other_sum = __shfl_down_sync(live, sum, offset);
    unsigned other_least = __shfl_down_sync(live, least, offset);
    unsigned other_any = __shfl_down_sync(live, any, offset);
    if (lane + offset < 32 && (live >> (lane + offset) & 1)) {
      sum += other_sum;
      least = min(least, other_least);
      any |= other_any;
    }
  }
#endif
  if (lane == 0) {
    unsigned* result = results + 3 * (blockIdx.x * ((blockDim.x + 31) / 32) + threadIdx.x / 32);
    result[0] = sum;
    result[1] = least;
    result[2] = any;
  }
}
