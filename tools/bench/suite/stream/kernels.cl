__kernel void vecadd(__global const float* a, __global const float* b, __global float* c, uint n) {
  uint i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}

__kernel void saxpy(float factor, __global const float* x, __global float* y, uint n) {
  uint i = get_global_id(0);
  if (i < n) y[i] = factor * x[i] + y[i];
}

__kernel void transpose(__global const float* in, __global float* out, uint n) {
  __local float tile[32][33];
  uint tx = get_local_id(0), ty = get_local_id(1);
  uint x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
  for (uint j = 0; j < 32; j += 8) tile[ty + j][tx] = in[(y + j) * n + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 32 + tx;
  y = get_group_id(0) * 32 + ty;
  for (uint j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[tx][ty + j];
}
