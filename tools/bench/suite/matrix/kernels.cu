// Products of matrices by tensor core instructions.
#include <cuda_pipeline_primitives.h>

// Rows of 64 bytes of k at a time, in shared memory; a row there has 16 bytes more, so that the eight rows of a matrix lie in
// different banks. Blocks of 128 x 128, eight warps of 64 x 32.
constexpr unsigned kSide = 128, kStep = 64, kPitch = kStep + 16, kThreads = 256;
constexpr unsigned kWarpRows = 64, kWarpColumns = 32, kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;

struct F16 {
  typedef float Sum;
  static __device__ void Multiply(float* c, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct Bf16 {
  typedef float Sum;
  static __device__ void Multiply(float* c, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct Tf32 {
  typedef float Sum;
  static __device__ void Multiply(float* c, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct S8 {
  typedef int Sum;
  static __device__ void Multiply(int* c, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

static __device__ void LoadMatrices(unsigned* registers, const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row))));
}

// C = A B^T: a row of A and one of B have `bytes` bytes of k. C is n x n.
template <typename Type>
static __device__ void Product(const char* a, const char* b, typename Type::Sum* c, unsigned n, unsigned bytes) {
  __shared__ __align__(16) char tile_a[2][kSide][kPitch], tile_b[2][kSide][kPitch];
  const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const unsigned row = warp / 4 * kWarpRows, column = warp % 4 * kWarpColumns;
  a += size_t(blockIdx.y) * kSide * bytes;
  b += size_t(blockIdx.x) * kSide * bytes;
  auto fetch = [&](unsigned k, unsigned stage) {
    for (unsigned at = thread; at < kSide * kStep / 16; at += kThreads) {
      const unsigned r = at / 4, q = at % 4 * 16;
      __pipeline_memcpy_async(&tile_a[stage][r][q], a + size_t(r) * bytes + k + q, 16);
      __pipeline_memcpy_async(&tile_b[stage][r][q], b + size_t(r) * bytes + k + q, 16);
    }
    __pipeline_commit();
  };
  typename Type::Sum sums[kRowTiles][kColumnTiles][4] = {};
  fetch(0, 0);
  for (unsigned k = 0, stage = 0; k < bytes; k += kStep, stage ^= 1) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (k + kStep < bytes) fetch(k + kStep, stage ^ 1);
#pragma unroll
    for (unsigned at = 0; at < kStep; at += 32) {
      unsigned of_a[kRowTiles][4], of_b[kColumnTiles / 2][4];
#pragma unroll
      for (unsigned i = 0; i < kRowTiles; ++i)
        LoadMatrices(of_a[i], &tile_a[stage][row + i * 16 + lane % 16][at + lane / 16 * 16]);
#pragma unroll
      for (unsigned j = 0; j < kColumnTiles / 2; ++j)
        LoadMatrices(of_b[j], &tile_b[stage][column + j * 16 + lane % 8 + lane / 16 * 8][at + lane / 8 % 2 * 16]);
#pragma unroll
      for (unsigned i = 0; i < kRowTiles; ++i) {
#pragma unroll
        for (unsigned j = 0; j < kColumnTiles; ++j) Type::Multiply(sums[i][j], of_a[i], &of_b[j / 2][j % 2 * 2]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (unsigned j = 0; j < kColumnTiles; ++j) {
      typename Type::Sum* to = c + size_t(blockIdx.y * kSide + row + i * 16 + lane / 4) * n + blockIdx.x * kSide +
                               column + j * 8 + lane % 4 * 2;
      to[0] = sums[i][j][0];
      to[1] = sums[i][j][1];
      to[8 * size_t(n)] = sums[i][j][2];
      to[8 * size_t(n) + 1] = sums[i][j][3];
    }
  }
}

#define PRODUCT(name, Type)                                                                                 \
  extern "C" __global__ void __launch_bounds__(kThreads) name(const char* a, const char* b, Type::Sum* c,   \
                                                              unsigned n, unsigned bytes) {                 \
    Product<Type>(a, b, c, n, bytes);                                                                       \
  }
PRODUCT(mma_f16, F16)
PRODUCT(mma_bf16, Bf16)
PRODUCT(mma_tf32, Tf32)
PRODUCT(mma_s8, S8)
