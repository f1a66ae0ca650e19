// Atomic operations whose final memory does not depend on the order of arrival.

// All kinds on 32-bit words, in shared memory first and in global memory at the end. words: 10 per launch, to be
// initialised as {0, min: big, max: small, and: ~0, or: 0, xor: 0, inc: 0, dec: 0, product: 1, exch: 0}.
extern "C" __global__ void atomic_kinds(const unsigned* in, unsigned* words, unsigned n) {
  __shared__ unsigned block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned x = in[i];
    atomicAdd(&block_sum, x);
    atomicMin((int*)&words[1], (int)x);
    atomicMax(&words[2], x);
    atomicAnd(&words[3], x | 0xff00u);
    atomicOr(&words[4], x & 0xf0f0f0f0u);
    atomicXor(&words[5], x);
    atomicInc(&words[6], 99);
    atomicDec(&words[7], 76);
    unsigned seen = atomicOr(&words[8], 0u), expected;
    do {  // an atomic product, built from compare-and-swap
      expected = seen;
      seen = atomicCAS(&words[8], expected, expected * (x | 1));
    } while (seen != expected);
    atomicExch(&words[9], 0xabcdu);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&words[0], block_sum);
}

// 64-bit words, and values returned by the operations: tickets are a permutation, so their sum and xor are fixed.
extern "C" __global__ void atomic_wide(const long long* in, unsigned long long* words, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&words[0], (unsigned long long)in[i]);
  atomicMax((long long*)&words[1], in[i]);
  atomicMin((long long*)&words[2], in[i]);
  atomicXor(&words[3], (unsigned long long)in[i]);
  unsigned long long ticket = atomicAdd(&words[4], 1ull);
  atomicAdd(&words[5], ticket * ticket);
  atomicXor(&words[6], ticket << 7);
}
