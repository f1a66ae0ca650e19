// All shortest paths, step k: every pair (i, j) tries the way through k. The row and the column of k do not change
// in step k as long as the diagonal is zero. Distances are 32-bit words with a large value for "no way".
extern "C" __global__ void floyd_warshall_step(unsigned* distance, unsigned vertices, unsigned k) {
  unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= vertices || j >= vertices || i == k || j == k) return;
  unsigned through = distance[i * vertices + k] + distance[k * vertices + j];
  if (through < distance[i * vertices + j]) distance[i * vertices + j] = through;
}
