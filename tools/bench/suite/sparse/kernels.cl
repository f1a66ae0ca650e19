// A work-group of 256 has 8 rows; 32 work-items share a row through local memory.
__kernel void spmv(__global const uint* offsets, __global const uint* columns, __global const float* values,
                   __global const float* x, __global float* y, uint rows) {
  __local float tree[256];
  uint tid = get_local_id(0), row = get_global_id(0) / 32, lane = tid % 32;
  float sum = 0;
  if (row < rows) {
    for (uint k = offsets[row] + lane; k < offsets[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  }
  tree[tid] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 16; half_size > 0; half_size /= 2) {
    if (lane < half_size) tree[tid] += tree[tid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0 && row < rows) y[row] = tree[tid];
}

__kernel void bfs(__global const uint* offsets, __global const uint* targets, __global uint* levels, uint nodes, uint now) {
  uint node = get_global_id(0);
  if (node >= nodes || levels[node] != now) return;
  for (uint k = offsets[node]; k < offsets[node + 1]; ++k) {
    uint target = targets[k];
    if (levels[target] == 0xffffffffu) levels[target] = now + 1;
  }
}
