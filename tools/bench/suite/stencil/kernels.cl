__kernel void stencil_5(__global const float* in, __global float* out, int n, float centre, float side) {
  __local float tile[18][66];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x = get_global_id(0), y = get_global_id(1), tx = lx + 1, ty = ly + 1;
  int row = min(y, n - 1) * n, column = min(x, n - 1);
  tile[ty][tx] = in[row + column];
  if (lx == 0) tile[ty][0] = in[row + max(x - 1, 0)];
  if (lx == 63) tile[ty][65] = in[row + min(x + 1, n - 1)];
  if (ly == 0) tile[0][tx] = in[max(y - 1, 0) * n + column];
  if (ly == 15) tile[17][tx] = in[min(y + 1, n - 1) * n + column];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x < n && y < n) {
    out[y * n + x] =
        centre * tile[ty][tx] + side * (tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1]);
  }
}

__kernel void stencil_7(__global const float* in, __global float* out, int n, float centre, float side) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  int plane = n * n, here = y * n + x;
  int left = x > 0 ? here - 1 : here, right = x + 1 < n ? here + 1 : here;
  int up = y > 0 ? here - n : here, down = y + 1 < n ? here + n : here;
  float behind = in[here], now = in[here];
  for (int z = 0; z < n; ++z) {
    float next = z + 1 < n ? in[here + plane] : now;
    out[here] = centre * now + side * (behind + next + in[left] + in[right] + in[up] + in[down]);
    behind = now;
    now = next;
    here += plane;
    left += plane;
    right += plane;
    up += plane;
    down += plane;
  }
}

__kernel void convolution(__global const float* in, __global const float* filter, __global float* out, int n) {
  __local float tile[20][20], weights[25];
  int lx = get_local_id(0), ly = get_local_id(1);
  int x0 = get_group_id(0) * 16 - 2, y0 = get_group_id(1) * 16 - 2, tid = ly * 16 + lx;
  if (tid < 25) weights[tid] = filter[tid];
  for (int i = tid; i < 400; i += 256) {
    int x = x0 + i % 20, y = y0 + i / 20;
    tile[i / 20][i % 20] = x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 5; ++i) sum += weights[j * 5 + i] * tile[ly + j][lx + i];
  }
  int x = x0 + 2 + lx, y = y0 + 2 + ly;
  if (x < n && y < n) out[y * n + x] = sum;
}
