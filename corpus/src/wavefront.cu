// Edit distance by dynamic programming: the cells of an anti-diagonal do not depend on each other, a barrier
// separates the diagonals. One pair of strings per block; three rolling diagonals in dynamic shared memory
// (12 * (length_a + 1) bytes). Any block size.
extern "C" __global__ void edit_distance_wavefront(const unsigned char* a, const unsigned char* b, int* distances,
                                                   int length_a, int length_b) {
  extern __shared__ int diagonals[];
  const unsigned char* text_a = a + blockIdx.x * length_a;
  const unsigned char* text_b = b + blockIdx.x * length_b;
  int pitch = length_a + 1;
  for (int d = 0; d <= length_a + length_b; ++d) {
    int* now = diagonals + d % 3 * pitch;
    const int* last = diagonals + (d + 2) % 3 * pitch;
    const int* before = diagonals + (d + 1) % 3 * pitch;
    int first = max(0, d - length_b), end = min(d, length_a);
    for (int i = first + threadIdx.x; i <= end; i += blockDim.x) {
      int j = d - i;
      int cost;
      if (i == 0) {
        cost = j;
      } else if (j == 0) {
        cost = i;
      } else {
        cost = before[i - 1] + (text_a[i - 1] != text_b[j - 1]);
        cost = min(cost, min(last[i - 1], last[i]) + 1);
      }
      now[i] = cost;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) distances[blockIdx.x] = diagonals[(length_a + length_b) % 3 * pitch + length_a];
}
