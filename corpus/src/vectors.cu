// Vector types: loads and stores of 4, 8 and 16 bytes at once.

// Grey value of RGBA pixels by integer weights; alpha is kept.
extern "C" __global__ void rgba_to_grey(const uchar4* in, uchar2* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 pixel = in[i];
  unsigned grey = (77 * pixel.x + 150 * pixel.y + 29 * pixel.z + 128) >> 8;
  out[i] = make_uchar2((unsigned char)grey, pixel.w);
}

// Cross products of vectors stored as float4; length squared in w. Double2 scale of the first two in another array.
extern "C" __global__ void cross_product(const float4* a, const float4* b, float4* out, double2* wide, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = a[i], q = b[i], r;
  r.x = __fmaf_rn(p.y, q.z, -__fmul_rn(p.z, q.y));
  r.y = __fmaf_rn(p.z, q.x, -__fmul_rn(p.x, q.z));
  r.z = __fmaf_rn(p.x, q.y, -__fmul_rn(p.y, q.x));
  r.w = __fmaf_rn(r.z, r.z, __fmaf_rn(r.y, r.y, __fmul_rn(r.x, r.x)));
  out[i] = r;
  wide[i] = make_double2(__dmul_rn((double)r.x, 3.0), __dadd_rn((double)r.y, (double)r.w));
}
