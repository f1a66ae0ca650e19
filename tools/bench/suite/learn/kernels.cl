__kernel void kmeans(__global const float* features, __global const float* centres, __global uint* nearest,
                     __global float* distances, uint n, uint dimensions, uint clusters) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint best = 0;
  float least = 3.0e38f;
  for (uint c = 0; c < clusters; ++c) {
    float sum = 0;
    for (uint f = 0; f < dimensions; ++f) {
      float difference = features[f * n + i] - centres[c * dimensions + f];
      sum += difference * difference;
    }
    if (sum < least) {
      least = sum;
      best = c;
    }
  }
  nearest[i] = best;
  distances[i] = least;
}

float tree_sum(__local float* tree, float mine) {
  uint tid = get_local_id(0);
  tree[tid] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (tid < half_size) tree[tid] += tree[tid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float sum = tree[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

__kernel void softmax(__global const float* in, __global float* out, uint columns) {
  __local float tree[256];
  __global const float* row = in + (size_t)get_group_id(0) * columns;
  __global float* to = out + (size_t)get_group_id(0) * columns;
  uint tid = get_local_id(0);
  float most = -3.0e38f;
  for (uint i = tid; i < columns; i += 256) most = fmax(most, row[i]);
  tree[tid] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (tid < half_size) tree[tid] = fmax(tree[tid], tree[tid + half_size]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  most = tree[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (uint i = tid; i < columns; i += 256) {
    float value = exp(row[i] - most);
    to[i] = value;
    sum += value;
  }
  float scale = 1.0f / tree_sum(tree, sum);
  for (uint i = tid; i < columns; i += 256) to[i] *= scale;
}

__kernel void layer_norm(__global const float* in, __global const float* scale, __global const float* shift,
                         __global float* out, uint columns) {
  __local float tree[256];
  __global const float* row = in + (size_t)get_group_id(0) * columns;
  __global float* to = out + (size_t)get_group_id(0) * columns;
  uint tid = get_local_id(0);
  float sum = 0;
  for (uint i = tid; i < columns; i += 256) sum += row[i];
  float mean = tree_sum(tree, sum) / columns;
  float squares = 0;
  for (uint i = tid; i < columns; i += 256) squares += (row[i] - mean) * (row[i] - mean);
  float inverse = rsqrt(tree_sum(tree, squares) / columns + 1e-5f);
  for (uint i = tid; i < columns; i += 256) to[i] = (row[i] - mean) * inverse * scale[i] + shift[i];
}

__kernel void attention(__global const float* queries, __global const float* keys, __global const float* values,
                        __global float* out, uint length) {
  __local float tile_k[32][32], tile_v[32][32];
  size_t head = (size_t)get_group_id(1) * length * 32;
  uint tid = get_local_id(0), query = get_group_id(0) * 64 + tid;
  float q[32], sums[32], most = -3.0e38f, total = 0;
  for (int d = 0; d < 32; ++d) {
    q[d] = queries[head + query * 32 + d] * 0.17677669f;
    sums[d] = 0;
  }
  for (uint base = 0; base < length; base += 32) {
    for (uint i = tid; i < 32 * 32; i += 64) {
      tile_k[i / 32][i % 32] = keys[head + base * 32 + i];
      tile_v[i / 32][i % 32] = values[head + base * 32 + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 32; ++j) {
      float score = 0;
      for (int d = 0; d < 32; ++d) score += q[d] * tile_k[j][d];
      float now = fmax(most, score), correction = exp(most - now), weight = exp(score - now);
      total = total * correction + weight;
      for (int d = 0; d < 32; ++d) sums[d] = sums[d] * correction + weight * tile_v[j][d];
      most = now;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float inverse = 1.0f / total;
  for (int d = 0; d < 32; ++d) out[head + query * 32 + d] = sums[d] * inverse;
}
