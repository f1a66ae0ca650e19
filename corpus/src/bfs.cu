// One level of breadth-first search over a graph in compressed rows. A vertex is claimed by compare-and-swap, so it
// enters the next frontier once; which edge claims it does not show in the result.
extern "C" __global__ void bfs_step(const unsigned* offsets, const unsigned* targets, const unsigned char* frontier,
                                    int* level, unsigned char* next, unsigned* claimed, int depth,
                                    unsigned vertices) {
  unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= vertices || !frontier[v]) return;
  for (unsigned e = offsets[v]; e < offsets[v + 1]; ++e) {
    unsigned w = targets[e];
    if (atomicCAS(&level[w], -1, depth + 1) == -1) {
      next[w] = 1;
      atomicAdd(claimed, 1u);
    }
  }
}
