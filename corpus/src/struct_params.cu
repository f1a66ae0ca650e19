// A struct passed by value: members of several sizes with padding between them, read at fixed places and at an index
// known only at run time. 56 bytes: f32 matrix[2][3] at 0, s8 shift at 24, s16 bias at 26, f64 scale at 32,
// u32 lookup[4] at 40.
struct Transform {
  float matrix[2][3];
  signed char shift;
  short bias;
  double scale;
  unsigned lookup[4];
};

struct Point {
  float x, y;
};

extern "C" __global__ void struct_transform(Transform transform, const Point* in, Point* out, double* scaled,
                                            unsigned* words, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Point p = in[i], q;
  q.x = __fmaf_rn(transform.matrix[0][0], p.x, __fmaf_rn(transform.matrix[0][1], p.y, transform.matrix[0][2]));
  q.y = __fmaf_rn(transform.matrix[1][0], p.x, __fmaf_rn(transform.matrix[1][1], p.y, transform.matrix[1][2]));
  out[i] = q;
  scaled[i] = __dmul_rn(transform.scale, (double)transform.matrix[i % 2][i % 3]);
  words[i] = (transform.lookup[i % 4] << transform.shift) + transform.bias;
}
