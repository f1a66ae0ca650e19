// Escape times of the Mandelbrot set: a loop whose trip count differs from lane to lane.
// Explicit roundings: one step off in the last bit would show as another count.

extern "C" __global__ void mandelbrot(unsigned short* counts, int width, int height, float left, float top,
                                      float step, int limit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float cx = __fmaf_rn((float)px, step, left), cy = __fmaf_rn((float)py, step, top);
  float x = 0.0f, y = 0.0f;
  int count = 0;
  for (; count < limit; ++count) {
    float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
    if (__fadd_rn(xx, yy) > 4.0f) break;
    y = __fmaf_rn(__fadd_rn(x, x), y, cy);
    x = __fadd_rn(__fsub_rn(xx, yy), cx);
  }
  counts[py * width + px] = (unsigned short)count;
}

// The same in double precision with a one-dimensional grid-stride loop and a second way out of the inner loop
// (a point that returns to where it was will never escape).
extern "C" __global__ void mandelbrot_f64(unsigned short* counts, int width, int height, double left, double top,
                                          double step, int limit) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += gridDim.x * blockDim.x) {
    double cx = __fma_rn((double)(i % width), step, left), cy = __fma_rn((double)(i / width), step, top);
    double x = 0.0, y = 0.0, old_x = 0.0, old_y = 0.0;
    int count = 0;
    while (count < limit) {
      double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
      if (__dadd_rn(xx, yy) > 4.0) break;
      y = __fma_rn(__dadd_rn(x, x), y, cy);
      x = __dadd_rn(__dsub_rn(xx, yy), cx);
      ++count;
      if (x == old_x && y == old_y) {
        count = limit;
        break;
      }
      if ((count & (count - 1)) == 0) {
        old_x = x;
        old_y = y;
      }
    }
    counts[i] = (unsigned short)count;
  }
}
