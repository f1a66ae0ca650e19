// Integer arithmetic.

#define F(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define G(x, y, z) (((x) & (z)) | ((y) & ~(z)))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(function, a, b, c, d, word, by, constant)     \
  a += function(b, c, d) + words[word] + constant;         \
  a = ((a << by) | (a >> (32 - by))) + b;

// MD5 of 8 characters: the first four are those of the thread joined with each of a table, as password searches do.
// Counts digests whose first word has the low bits of `wanted`, and mixes the numbers of their candidates.
extern "C" __global__ void md5(const unsigned* left, const unsigned* table, unsigned* found, unsigned words_in_table,
                               unsigned wanted, unsigned mask, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned first = left[2 * i], second = left[2 * i + 1];
  for (unsigned t = 0; t < words_in_table; ++t) {
    unsigned words[16] = {first | table[t], second, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0};
    unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#include "md5_steps.def"
    if (((a + 0x67452301) & mask) == (wanted & mask)) {
      atomicAdd(&found[0], 1u);
      atomicXor(&found[1], (i * words_in_table + t) ^ (b + c + d));
    }
  }
}

// Bitonic sorting network (Batcher 1968) on a power of two of words. Blocks of 512 threads have 1024 words in shared memory:
// all stages up to 1024, or those of a longer one whose distance is at most 512.
static __device__ void Exchange(unsigned& low, unsigned& high, bool ascending) {
  if ((low > high) == ascending) {
    unsigned swap = low;
    low = high;
    high = swap;
  }
}

extern "C" __global__ void bitonic_shared(unsigned* words, unsigned first_stage, unsigned last_stage) {
  __shared__ unsigned tile[1024];
  unsigned tid = threadIdx.x, base = blockIdx.x * 1024;
  tile[tid] = words[base + tid];
  tile[tid + 512] = words[base + tid + 512];
  __syncthreads();
  for (unsigned stage = first_stage; stage <= last_stage; stage *= 2) {
    for (unsigned distance = min(stage / 2, 512u); distance > 0; distance /= 2) {
      unsigned low = 2 * tid - (tid & (distance - 1));
      Exchange(tile[low], tile[low + distance], ((base + low) & stage) == 0);
      __syncthreads();
    }
  }
  words[base + tid] = tile[tid];
  words[base + tid + 512] = tile[tid + 512];
}

extern "C" __global__ void bitonic_global(unsigned* words, unsigned stage, unsigned distance) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned low = 2 * i - (i & (distance - 1));
  Exchange(words[low], words[low + distance], (low & stage) == 0);
}
