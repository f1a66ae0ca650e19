// Conway's game of life on a torus: a two-dimensional tile with its halo in dynamic shared memory
// ((blockDim.x + 2) * (blockDim.y + 2) bytes).
extern "C" __global__ void life_step(const unsigned char* in, unsigned char* out, int width, int height) {
  extern __shared__ unsigned char cells[];
  int pitch = blockDim.x + 2;
  int left = blockIdx.x * blockDim.x - 1, top = blockIdx.y * blockDim.y - 1;
  for (int ty = threadIdx.y; ty < (int)blockDim.y + 2; ty += blockDim.y)
    for (int tx = threadIdx.x; tx < pitch; tx += blockDim.x)
      cells[ty * pitch + tx] = in[(top + ty + height) % height * width + (left + tx + width) % width];
  __syncthreads();
  int x = left + 1 + threadIdx.x, y = top + 1 + threadIdx.y;
  if (x >= width || y >= height) return;
  const unsigned char* corner = cells + threadIdx.y * pitch + threadIdx.x;
  int around = corner[0] + corner[1] + corner[2] + corner[pitch] + corner[pitch + 2] + corner[2 * pitch] +
               corner[2 * pitch + 1] + corner[2 * pitch + 2];
  out[y * width + x] = around == 3 || (around == 2 && corner[pitch + 1]);
}
