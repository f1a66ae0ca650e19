// 2D convolution of 8-bit pixels with a 5x5 kernel held in an initialised constant table.
// Borders repeat the edge pixel; the sum is scaled, rounded and clamped to 0..255.
__constant__ signed char kSharpen[5][5] = {
    {-1, -3, -4, -3, -1}, {-3, 0, 6, 0, -3}, {-4, 6, 40, 6, -4}, {-3, 0, 6, 0, -3}, {-1, -3, -4, -3, -1}};

extern "C" __global__ void convolve_2d(const unsigned char* in, unsigned char* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 8;
  for (int dy = 0; dy < 5; ++dy) {
    int sy = min(max(y + dy - 2, 0), height - 1);
    for (int dx = 0; dx < 5; ++dx) {
      int sx = min(max(x + dx - 2, 0), width - 1);
      sum += kSharpen[dy][dx] * in[sy * width + sx];
    }
  }
  out[y * width + x] = (unsigned char)min(max(sum >> 4, 0), 255);
}
