// Bitonic sort of signed words.

// Each block sorts one segment of `length` (a power of two) in dynamic shared memory (4 * length bytes), upwards in
// even blocks and downwards in odd ones. Any block size: threads stride over the comparators.
extern "C" __global__ void bitonic_sort_shared(int* data, unsigned length) {
  extern __shared__ int keys[];
  int* segment = data + blockIdx.x * length;
  for (unsigned i = threadIdx.x; i < length; i += blockDim.x) keys[i] = segment[i];
  __syncthreads();
  bool downwards = blockIdx.x & 1;
  for (unsigned size = 2; size <= length; size *= 2) {
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      for (unsigned i = threadIdx.x; i < length; i += blockDim.x) {
        unsigned partner = i ^ stride;
        if (partner > i) {
          int low = keys[i], high = keys[partner];
          bool swap = ((i & size) != 0) ^ downwards ? low < high : low > high;
          if (swap) {
            keys[i] = high;
            keys[partner] = low;
          }
        }
      }
      __syncthreads();
    }
  }
  for (unsigned i = threadIdx.x; i < length; i += blockDim.x) segment[i] = keys[i];
}

// One compare-and-exchange step of the network over global memory; the host would loop over (size, stride).
extern "C" __global__ void bitonic_step(int* data, unsigned n, unsigned size, unsigned stride) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned partner = i ^ stride;
  if (i >= n || partner <= i) return;
  int low = data[i], high = data[partner];
  if ((i & size) == 0 ? low > high : low < high) {
    data[i] = high;
    data[partner] = low;
  }
}
