// Gravitational accelerations, all pairs, bodies staged through dynamic shared memory (16 * blockDim.x bytes).
// Every operation is correctly rounded and in a fixed order. A body is x, y, z, mass: one 16-byte load.
extern "C" __global__ void nbody_accelerations(const float4* bodies, float4* accelerations, float softening,
                                               unsigned n) {
  extern __shared__ float4 tile[];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 self = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (unsigned base = 0; base < n; base += blockDim.x) {
    if (base + threadIdx.x < n) tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
    unsigned count = min(blockDim.x, n - base);
    for (unsigned j = 0; j < count; ++j) {
      float dx = __fsub_rn(tile[j].x, self.x);
      float dy = __fsub_rn(tile[j].y, self.y);
      float dz = __fsub_rn(tile[j].z, self.z);
      float square = __fmaf_rn(dz, dz, __fmaf_rn(dy, dy, __fmaf_rn(dx, dx, softening)));
      float weight = __fdiv_rn(tile[j].w, __fmul_rn(square, __fsqrt_rn(square)));
      ax = __fmaf_rn(weight, dx, ax);
      ay = __fmaf_rn(weight, dy, ay);
      az = __fmaf_rn(weight, dz, az);
    }
    __syncthreads();
  }
  if (i < n) accelerations[i] = make_float4(ax, ay, az, __fmaf_rn(ax, ax, __fmaf_rn(ay, ay, __fmul_rn(az, az))));
}
