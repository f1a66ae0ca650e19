// Calls whose target or depth is known only at run time.

// Recursion in two places of one function (parts of an integer not larger than `largest`).
static __device__ __noinline__ unsigned Partitions(int rest, int largest) {
  if (rest == 0) return 1;
  if (rest < 0 || largest == 0) return 0;
  return Partitions(rest - largest, largest) + Partitions(rest, largest - 1);
}

extern "C" __global__ void call_recursive(const int* in, unsigned* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = Partitions(in[i], in[i]);
}

static __device__ __noinline__ int Twice(int x, int y) { return 2 * x + y; }
static __device__ __noinline__ int Mix(int x, int y) { return (x ^ y) * 9; }
static __device__ __noinline__ int Least(int x, int y) { return x < y ? x : y; }

typedef int (*Binary)(int, int);
__device__ const Binary kOperations[3] = {Twice, Mix, Least};

// The function is picked from a table by each thread's data.
extern "C" __global__ void call_function_pointer(const int* in, int* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i];
  for (int k = 0; k < 4; ++k) value = kOperations[(unsigned)(value + k) % 3](value, (int)i);
  out[i] = value;
}
