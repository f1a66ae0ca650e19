#define PRODUCT(name, type)                                                                            \
  __kernel void name(__global const type* a, __global const type* b, __global type* c, uint n) {        \
    __local type tile_a[16][16], tile_b[16][16];                                                        \
    uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);   \
    type sum = 0;                                                                                       \
    for (uint k = 0; k < n; k += 16) {                                                                  \
      tile_a[y][x] = a[row * n + k + x];                                                                \
      tile_b[y][x] = b[(k + y) * n + column];                                                           \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
      for (uint j = 0; j < 16; ++j) sum += tile_a[y][j] * tile_b[j][x];                                 \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
    }                                                                                                   \
    c[row * n + column] = sum;                                                                          \
  }

PRODUCT(sgemm, float)
PRODUCT(dgemm, double)
