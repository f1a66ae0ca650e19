// Clusters: blocks that run together, meet at a barrier of their own and read each other's shared memory.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// A histogram spread over the shared memory of a cluster: each block holds a part of the bins, and counts for the
// others' bins by atomics on distributed shared memory. Any cluster that divides the grid, any block size.
// Dynamic shared memory: 4 * bins / (blocks of a cluster) bytes, rounded up; adds to `counts`.
extern "C" __global__ void cluster_histogram(const unsigned* in, unsigned* counts, unsigned n, unsigned bins) {
  extern __shared__ unsigned own_bins[];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank(), share = (bins + blocks - 1) / blocks;
  for (unsigned b = threadIdx.x; b < share; b += blockDim.x) own_bins[b] = 0;
  cluster.sync();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned bin = in[i] % bins;
    atomicAdd(cluster.map_shared_rank(own_bins, bin / share) + bin % share, 1u);
  }
  cluster.sync();
  for (unsigned b = threadIdx.x; b < share && rank * share + b < bins; b += blockDim.x) {
    atomicAdd(&counts[rank * share + b], own_bins[b]);
  }
}

// A ring in the words of PTX: in every round each block reads what its neighbour of the cluster wrote, between the two
// halves of a barrier. Two buffers, so one barrier a round is enough. At most 256 threads.
extern "C" __global__ void cluster_ring(const unsigned* in, unsigned* out, unsigned rounds) {
  __shared__ unsigned words[2][256];
  unsigned tid = threadIdx.x, rank, blocks, i = blockIdx.x * blockDim.x + tid, value = in[i];
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  for (unsigned r = 0; r < rounds; ++r) {
    words[r % 2][tid] = value;
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    unsigned local = (unsigned)__cvta_generic_to_shared(&words[r % 2][blockDim.x - 1 - tid]), remote, got;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(local), "r"((rank + 1) % blocks));
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(remote) : "memory");
    value = value * 3 + got + rank;
  }
  out[i] = value;
  // No thread ends while another may still read from it.
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// What a block knows of its place: rank, dimensions, the cluster's place in the grid. One thread writes per block.
extern "C" __global__ void cluster_places(unsigned* out) {
  cg::cluster_group cluster = cg::this_cluster();
  dim3 index = cluster.block_index(), shape = cluster.dim_blocks();
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), cx, nx;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(cx));
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(nx));
  cluster.sync();
  if (threadIdx.x == 0) {
    unsigned* place = out + 4 * block;
    place[0] = cluster.block_rank() | cluster.num_blocks() << 16;
    place[1] = index.x | index.y << 8 | index.z << 16;
    place[2] = shape.x | shape.y << 8 | shape.z << 16;
    place[3] = cx | nx << 16;
  }
}
