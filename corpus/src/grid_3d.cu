// Three-dimensional grids and blocks: every thread writes its place. out: 2 words per thread in launch order.
extern "C" __global__ void grid_3d_indices(unsigned* out) {
  unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  unsigned* mine = out + 2 * (block * (blockDim.x * blockDim.y * blockDim.z) + thread);
  mine[0] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16 | lane << 24;
  mine[1] = threadIdx.x | threadIdx.y << 11 | threadIdx.z << 22;
}
