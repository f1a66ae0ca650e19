// Trees in local memory, where CUDA has shuffles.

float tree_sum(__local float* tree, float mine) {
  uint tid = get_local_id(0);
  tree[tid] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
    if (tid < half_size) tree[tid] += tree[tid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return tree[0];
}

void add_float(volatile __global float* to, float value) {
  union { uint u; float f; } was, is;
  do {
    was.f = *to;
    is.f = was.f + value;
  } while (atomic_cmpxchg((volatile __global uint*)to, was.u, is.u) != was.u);
}

__kernel void sum_grid_stride(__global const float* in, __global float* sum, uint n) {
  __local float tree[256];
  float mine = 0;
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) mine += in[i];
  mine = tree_sum(tree, mine);
  if (get_local_id(0) == 0) add_float(sum, mine);
}

__kernel void reduce_shared(__global const uint* in, __global uint* sums) {
  __local uint tree[256];
  uint tid = get_local_id(0), i = get_group_id(0) * 512 + tid;
  tree[tid] = in[i] + in[i + 256];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (tid < half_size) tree[tid] += tree[tid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (tid == 0) sums[get_group_id(0)] = tree[0];
}

__kernel void reduce_shuffle(__global const uint* in, __global uint* sums) {
  __local uint tree[256];
  uint tid = get_local_id(0), i = get_group_id(0) * 1024 + tid;
  tree[tid] = in[i] + in[i + 256] + in[i + 512] + in[i + 768];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (tid < half_size) tree[tid] += tree[tid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (tid == 0) sums[get_group_id(0)] = tree[0];
}

uint block_scan(__local uint* sums, uint mine) {
  uint tid = get_local_id(0);
  sums[tid] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint offset = 1; offset < 256; offset *= 2) {
    uint before = tid >= offset ? sums[tid - offset] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[tid] += before;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return sums[tid];
}

__kernel void scan_blocks(__global const uint* in, __global uint* out, __global uint* totals) {
  __local uint sums[256];
  uint base = get_group_id(0) * 1024 + 4 * get_local_id(0);
  uint a = in[base], b = a + in[base + 1], c = b + in[base + 2], d = c + in[base + 3];
  uint before = block_scan(sums, d) - d;
  out[base] = before + a;
  out[base + 1] = before + b;
  out[base + 2] = before + c;
  out[base + 3] = before + d;
  if (get_local_id(0) == 255) totals[get_group_id(0)] = before + d;
}

__kernel void scan_totals(__global uint* totals, uint count) {
  __local uint sums[256];
  uint carry = 0;
  for (uint base = 0; base < count; base += 256) {
    uint i = base + get_local_id(0);
    uint sum = block_scan(sums, i < count ? totals[i] : 0) + carry;
    if (i < count) totals[i] = sum;
    carry += sums[255];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void scan_add(__global uint* out, __global const uint* totals) {
  uint group = get_group_id(0);
  if (group == 0) return;
  uint before = totals[group - 1];
  for (uint i = get_local_id(0); i < 1024; i += 256) out[group * 1024 + i] += before;
}
