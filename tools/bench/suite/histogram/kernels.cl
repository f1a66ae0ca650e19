__kernel void histogram_shared(__global const uchar* in, __global uint* bins, uint n) {
  __local uint counts[256];
  counts[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&counts[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[get_local_id(0)], counts[get_local_id(0)]);
}

__kernel void histogram_global(__global const uchar* in, __global uint* bins, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[in[i]]);
}
