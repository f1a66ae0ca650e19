__kernel void matrix_vector(__global const float* matrix, __global const float* vector, __global float* out, int columns) {
  __local float sums[1024];
  __global const float* row = matrix + (size_t)get_group_id(0) * columns;
  int t = get_local_id(0);
  float sum = 0;
  for (int c = t; c < columns; c += get_local_size(0)) sum += row[c] * vector[c];
  sums[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
    if (t < half_size) sums[t] += sums[t + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = sums[0];
}

__kernel void distances(__global const float* a, __global const float* b, __global float* out, int count, int dimensions) {
  __local float rows[16][17], columns[16][17];
  int x = get_local_id(0), y = get_local_id(1), i = get_global_id(1), j = get_global_id(0);
  float sum = 0;
  for (int d = 0; d < dimensions; d += 16) {
    rows[y][x] = a[i * dimensions + d + x];
    columns[y][x] = b[(get_group_id(0) * 16 + y) * dimensions + d + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) {
      float difference = rows[y][k] - columns[x][k];
      sum += difference * difference;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i * count + j] = sqrt(sum);
}

__kernel void pooling(__global const float* in, __global float* out, int count, int height, int width, int out_height,
                      int out_width, int window, int step) {
  int i = get_global_id(0);
  if (i >= count) return;
  int column = i % out_width, row = i / out_width % out_height, image = i / out_width / out_height;
  int top = row * step, left = column * step, bottom = min(top + window, height), right = min(left + window, width);
  float most = -3.0e38f;
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) most = fmax(most, in[(image * height + y) * width + x]);
  out[i] = most;
}

__kernel void heat(__global const float* sources, __global const float* from, __global float* to, int width, int height,
                   int steps, float rate) {
  __local float tile[16][16], next[16][16];
  int tx = get_local_id(0), ty = get_local_id(1), inner = 16 - 2 * steps;
  int left = inner * (int)get_group_id(0) - steps, top = inner * (int)get_group_id(1) - steps, x = left + tx, y = top + ty;
  bool inside = x >= 0 && x < width && y >= 0 && y < height;
  float source = 0;
  if (inside) {
    tile[ty][tx] = from[y * width + x];
    source = sources[y * width + x];
  }
  int west = max(tx - 1, max(-left, 0)), east = min(tx + 1, min(15, width - 1 - left));
  int north = max(ty - 1, max(-top, 0)), south = min(ty + 1, min(15, height - 1 - top));
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 1; s <= steps; ++s) {
    bool is_right = inside && tx >= s && tx <= 15 - s && ty >= s && ty <= 15 - s;
    if (is_right) {
      float here = tile[ty][tx], around = tile[north][tx] + tile[south][tx] + tile[ty][west] + tile[ty][east];
      next[ty][tx] = here + rate * (around - 4.0f * here) + source;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_right) tile[ty][tx] = next[ty][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (inside && tx >= steps && tx <= 15 - steps && ty >= steps && ty <= 15 - steps) to[y * width + x] = tile[ty][tx];
}
