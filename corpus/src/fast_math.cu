// Hardware approximations of single-precision functions: results are compared with a tolerance.
extern "C" __global__ void fast_math(const float* in, float* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];  // in [0.25, 3]
  float* result = out + 8 * i;
  result[0] = __sinf(x);
  result[1] = __cosf(x);
  result[2] = __expf(x);
  result[3] = __logf(x);
  result[4] = __fdividef(1.5f, x);
  result[5] = rsqrtf(x);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result[6]) : "f"(x));
  asm("tanh.approx.f32 %0, %1;" : "=f"(result[7]) : "f"(x));
}

// The same family with correct rounding: division, reciprocal and square root in all directions, bit-exact.
extern "C" __global__ void exact_math(const float* a, const float* b, float* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  float* result = out + 12 * i;
  result[0] = __fdiv_rn(x, y);
  result[1] = __fdiv_rz(x, y);
  result[2] = __fdiv_ru(x, y);
  result[3] = __frcp_rd(y);
  result[4] = __fsqrt_rn(x);
  result[5] = __fsqrt_rd(x);
  result[6] = __fadd_ru(x, y);
  result[7] = __fmul_rz(x, y);
  result[8] = __fmaf_rd(x, y, -x);
  result[9] = floorf(x) + ceilf(y);
  result[10] = truncf(x) - rintf(y);
  result[11] = fminf(x, y) + fmaxf(-x, y) * copysignf(1.0f, -y);
}
