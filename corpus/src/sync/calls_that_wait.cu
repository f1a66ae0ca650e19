// Collectives and barriers inside functions that are not inlined: called from both arms, by recursion, by pointer.

constexpr unsigned kAll = 0xffffffffu;

// Splits the members in two halves until one lane is left; each level adds the sum of its members.
static __device__ __noinline__ unsigned SumByHalves(unsigned value, unsigned members, unsigned depth) {
  unsigned lane = threadIdx.x % 32, sum = 0;
  for (unsigned rest = members; rest != 0; rest &= rest - 1) {
    sum += __shfl_sync(members, value, __ffs((int)rest) - 1);
  }
  unsigned count = (unsigned)__popc(members);
  if (count == 1) return sum * depth;
  unsigned lower = 0, rest = members;
  for (unsigned k = 0; k < count / 2; ++k, rest &= rest - 1) lower |= rest & (0u - rest);
  if (lower >> lane & 1) return SumByHalves(value + 1, lower, depth + 1) + sum;
  return SumByHalves(value * 2, members & ~lower, depth + 2) ^ sum;
}

// Block sizes are multiples of 32.
extern "C" __global__ void recursive_collectives(const unsigned* in, unsigned* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned odd = __ballot_sync(kAll, in[i] & 1);
  unsigned result;
  if (in[i] & 1)
    result = SumByHalves(in[i], odd, 1);
  else
    result = SumByHalves(in[i] + 5, ~odd, 3);
  out[i] = result;
}

using Exchange = unsigned (*)(unsigned value, unsigned members);

static __device__ __noinline__ unsigned FirstOf(unsigned value, unsigned members) {
  return __shfl_sync(members, value, __ffs((int)members) - 1);
}
static __device__ __noinline__ unsigned CountEven(unsigned value, unsigned members) {
  return value + (unsigned)__popc(__ballot_sync(members, value % 2 == 0));
}
static __device__ __noinline__ unsigned Alike(unsigned value, unsigned members) {
  return value * 3 + (unsigned)__popc(__match_any_sync(members, value % 5));
}
static __device__ __noinline__ unsigned LastTwice(unsigned value, unsigned members) {
  return FirstOf(value, members) + __shfl_sync(members, value, 31 - __clz((int)members)) * 2;
}

__device__ Exchange exchanges[4] = {FirstOf, CountEven, Alike, LastTwice};

// Each group of lanes calls the function of its choice. Block sizes are multiples of 32.
extern "C" __global__ void indirect_collectives(const unsigned* in, unsigned* out, unsigned rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
  for (unsigned r = 0; r < rounds; ++r) {
    unsigned choice = (value / 4 + r) % 4;
    unsigned members = __match_any_sync(kAll, choice);
    value = exchanges[choice](value, members) + r;
    __syncwarp();
  }
  out[i] = value;
}

// A function with barriers that calls itself, the depth equal for the block.
static __device__ __noinline__ unsigned Rotate(unsigned* words, unsigned value, unsigned depth) {
  words[threadIdx.x] = value;
  __syncthreads();
  value = value * 3 + words[(threadIdx.x + depth) % blockDim.x];
  __syncthreads();
  if (depth == 0) return value;
  value = Rotate(words, value, depth - 1);
  words[threadIdx.x] = value;
  __syncthreads();
  value ^= words[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  return value;
}

// Any block size. Dynamic shared memory: 4 * blockDim.x bytes.
extern "C" __global__ void barriers_in_calls(const unsigned* in, unsigned* out, unsigned depth) {
  extern __shared__ unsigned words[];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = Rotate(words, in[i], depth + blockIdx.x % 2);
}
