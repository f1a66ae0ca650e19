#define TILE 16

__kernel void lu_diagonal(__global float* matrix, uint n, uint k) {
  __local float tile[TILE][TILE + 1];
  int tid = get_local_id(0);
  for (int i = 0; i < TILE; ++i) tile[i][tid] = matrix[(k + i) * n + k + tid];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < TILE - 1; ++i) {
    if (tid > i) {
      tile[tid][i] /= tile[i][i];
      for (int j = i + 1; j < TILE; ++j) tile[tid][j] -= tile[tid][i] * tile[i][j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < TILE; ++i) matrix[(k + i) * n + k + tid] = tile[i][tid];
}

__kernel void lu_perimeter(__global float* matrix, uint n, uint k) {
  __local float diagonal[TILE][TILE], right[TILE][TILE], below[TILE][TILE];
  int tid = get_local_id(0), column = tid % TILE;
  uint other = k + (get_group_id(0) + 1) * TILE;
  for (int i = tid / TILE; i < TILE; i += 2) {
    diagonal[i][column] = matrix[(k + i) * n + k + column];
    right[i][column] = matrix[(k + i) * n + other + column];
    below[i][column] = matrix[(other + i) * n + k + column];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tid < TILE) {
    for (int i = 1; i < TILE; ++i) {
      for (int j = 0; j < i; ++j) right[i][column] -= diagonal[i][j] * right[j][column];
    }
  } else {
    for (int i = 0; i < TILE; ++i) {
      for (int j = 0; j < i; ++j) below[column][i] -= below[column][j] * diagonal[j][i];
      below[column][i] /= diagonal[i][i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = tid / TILE; i < TILE; i += 2) {
    matrix[(k + i) * n + other + column] = right[i][column];
    matrix[(other + i) * n + k + column] = below[i][column];
  }
}

__kernel void lu_inner(__global float* matrix, uint n, uint k) {
  __local float left[TILE][TILE], up[TILE][TILE];
  uint x = get_local_id(0), y = get_local_id(1);
  uint row = k + (get_group_id(1) + 1) * TILE + y, column = k + (get_group_id(0) + 1) * TILE + x;
  left[y][x] = matrix[row * n + k + x];
  up[y][x] = matrix[(k + y) * n + column];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int j = 0; j < TILE; ++j) sum += left[y][j] * up[j][x];
  matrix[row * n + column] -= sum;
}

__kernel void wavefront(__global int* scores, __global const int* similarity, uint n, uint diagonal, uint first,
                        int penalty) {
  __local int tile[TILE + 1][TILE + 1], alike[TILE][TILE];
  int tid = get_local_id(0);
  uint pitch = n + 1, tile_row = first + get_group_id(0), tile_column = diagonal - tile_row;
  uint row = tile_row * TILE, column = tile_column * TILE;
  if (tid == 0) tile[0][0] = scores[row * pitch + column];
  tile[0][tid + 1] = scores[row * pitch + column + tid + 1];
  tile[tid + 1][0] = scores[(row + tid + 1) * pitch + column];
  for (int i = 0; i < TILE; ++i) alike[i][tid] = similarity[(row + i) * n + column + tid];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 0; d < 2 * TILE - 1; ++d) {
    int i = tid, j = d - tid;
    if (j >= 0 && j < TILE) {
      int score = tile[i][j] + alike[i][j];
      tile[i + 1][j + 1] = max(score, max(tile[i][j + 1], tile[i + 1][j]) - penalty);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < TILE; ++i) scores[(row + i + 1) * pitch + column + tid + 1] = tile[i + 1][tid + 1];
}
