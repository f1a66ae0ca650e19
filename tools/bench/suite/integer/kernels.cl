#define F(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define G(x, y, z) (((x) & (z)) | ((y) & ~(z)))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(function, a, b, c, d, word, by, constant) \
  a += function(b, c, d) + words[word] + constant;     \
  a = rotate(a, (uint)by) + b;

__kernel void md5(__global const uint* left, __global const uint* table, __global uint* found, uint words_in_table,
                  uint wanted, uint mask, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint first = left[2 * i], second = left[2 * i + 1];
  for (uint t = 0; t < words_in_table; ++t) {
    uint words[16] = {first | table[t], second, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0};
    uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#include "integer/md5_steps.def"
    if (((a + 0x67452301) & mask) == (wanted & mask)) {
      atomic_add(&found[0], 1u);
      atomic_xor(&found[1], (i * words_in_table + t) ^ (b + c + d));
    }
  }
}

__kernel void bitonic_shared(__global uint* words, uint first_stage, uint last_stage) {
  __local uint tile[1024];
  uint tid = get_local_id(0), base = get_group_id(0) * 1024;
  tile[tid] = words[base + tid];
  tile[tid + 512] = words[base + tid + 512];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint stage = first_stage; stage <= last_stage; stage *= 2) {
    for (uint distance = min(stage / 2, 512u); distance > 0; distance /= 2) {
      uint low = 2 * tid - (tid & (distance - 1));
      uint a = tile[low], b = tile[low + distance];
      bool swap = (a > b) == (((base + low) & stage) == 0);
      tile[low] = swap ? b : a;
      tile[low + distance] = swap ? a : b;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  words[base + tid] = tile[tid];
  words[base + tid + 512] = tile[tid + 512];
}

__kernel void bitonic_global(__global uint* words, uint stage, uint distance) {
  uint i = get_global_id(0), low = 2 * i - (i & (distance - 1));
  uint a = words[low], b = words[low + distance];
  bool swap = (a > b) == ((low & stage) == 0);
  words[low] = swap ? b : a;
  words[low + distance] = swap ? a : b;
}
