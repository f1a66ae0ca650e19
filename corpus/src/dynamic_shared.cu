// Three arrays of different types carved out of one dynamic shared allocation (7 * blockDim.x bytes):
// each thread finds the rank of its key among the block's keys, then the block writes its keys in order.
extern "C" __global__ void dynamic_shared_rank_sort(const unsigned* values, unsigned* sorted, unsigned char* parity,
                                                    unsigned n) {
  extern __shared__ unsigned char pool[];
  unsigned* keys = reinterpret_cast<unsigned*>(pool);
  unsigned short* order = reinterpret_cast<unsigned short*>(keys + blockDim.x);
  unsigned char* odd = reinterpret_cast<unsigned char*>(order + blockDim.x);
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  unsigned live = min(blockDim.x, n - blockIdx.x * blockDim.x);
  if (tid < live) {
    keys[tid] = values[i];
    odd[tid] = values[i] & 1;
  }
  __syncthreads();
  if (tid < live) {
    unsigned rank = 0;
    for (unsigned j = 0; j < live; ++j) rank += keys[j] < keys[tid] || (keys[j] == keys[tid] && j < tid);
    order[rank] = (unsigned short)tid;
  }
  __syncthreads();
  if (tid < live) {
    sorted[i] = keys[order[tid]];
    parity[i] = odd[order[tid]];
  }
}
