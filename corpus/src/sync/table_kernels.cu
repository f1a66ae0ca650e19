// The plain kernels of COX Table 1 that appear nowhere else in the corpus (corpus/COX.md says which is which).

// Start of a conjugate gradient iteration: everything known before the first step.
extern "C" __global__ void init_vectors(const double* right, double* residual, double* x, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    residual[i] = right[i];
    x[i] = 0.0;
  }
}

// Scalars of an iteration that must stay on the device: a quotient and a negated copy. One thread does the work.
extern "C" __global__ void scalar_quotient(const double* over, const double* under, double* quotient) {
  if (blockIdx.x == 0 && threadIdx.x == 0) quotient[0] = over[0] / under[0];
}
extern "C" __global__ void scalar_negate(const double* in, double* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) out[0] = -in[0];
}

// Copies sixteen bytes at a time from one device's memory to another's; both lie in one address space. The rest of
// up to three words is copied singly.
extern "C" __global__ void copy_between(const unsigned* from, unsigned* to, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned q = i; q < n / 4; q += gridDim.x * blockDim.x) ((uint4*)to)[q] = ((const uint4*)from)[q];
  if (i < n % 4) to[n / 4 * 4 + i] = from[n / 4 * 4 + i];
}

// Waits until a word in memory is one or more. The first block raises it after its own work, the others wait: a block
// may rely on the ones before it. Afterwards each thread reports what the first block left for it.
extern "C" __global__ void spin_until_raised(unsigned* flag, unsigned* mail, unsigned* out, unsigned rounds) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == 0) {
    unsigned value = threadIdx.x + 1;
    for (unsigned r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
    *(volatile unsigned*)&mail[threadIdx.x] = value;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *(volatile unsigned*)flag = 1;
  }
  while (*(volatile unsigned*)flag < 1) {
  }
  __threadfence();
  out[i] = *(volatile unsigned*)&mail[threadIdx.x] + blockIdx.x;
}

// Scales what is there, with a bound on the index.
extern "C" __global__ void scale_in_place(float* data, float factor, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor;
}

// Product of matrices of n * n, one thread per element and no shared memory.
extern "C" __global__ void matmul_plain(const float* a, const float* b, float* c, unsigned n) {
  unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (unsigned k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}
