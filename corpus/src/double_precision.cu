// Double precision.

// Square roots by Newton's iteration with correctly rounded division: a loop that runs until nothing changes.
extern "C" __global__ void f64_newton_sqrt(const double* in, double* out, int* rounds, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = in[i], root = x > 1.0 ? x : 1.0;
  int count = 0;
  for (; count < 64; ++count) {
    double next = __dmul_rn(0.5, __dadd_rn(root, __ddiv_rn(x, root)));
    if (next >= root) break;
    root = next;
  }
  out[i] = root;
  rounds[i] = count;
}

// Compensated (Kahan) sum of each thread's row next to the plain sum; single precision in, double out.
extern "C" __global__ void f64_compensated_sum(const float* in, double* compensated, double* plain, unsigned rows,
                                               unsigned columns) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0.0, lost = 0.0, straight = 0.0;
  for (unsigned c = 0; c < columns; ++c) {
    double term = __dmul_rn((double)in[row * columns + c], c % 2 ? 1e-9 : 1e9);
    straight = __dadd_rn(straight, term);
    double corrected = __dsub_rn(term, lost);
    double next = __dadd_rn(sum, corrected);
    lost = __dsub_rn(__dsub_rn(next, sum), corrected);
    sum = next;
  }
  compensated[row] = sum;
  plain[row] = straight;
}

// Conversions between double and the integers, with every direction of rounding and saturation beyond the range.
extern "C" __global__ void f64_convert(const double* in, long long* whole, int* narrow, float* single, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = in[i];
  whole[4 * i] = __double2ll_rn(x);
  whole[4 * i + 1] = __double2ll_rz(x);
  whole[4 * i + 2] = __double2ll_rd(x);
  whole[4 * i + 3] = (long long)__double2ull_ru(x);
  narrow[i] = __double2int_rz(x);
  single[2 * i] = __double2float_rn(x);
  single[2 * i + 1] = __double2float_rz(x);
}
