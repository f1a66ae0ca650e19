// 64-bit and wider integer arithmetic.

// A mixture of operations, signed and unsigned: high products, quotients, remainders, shifts by a variable amount.
extern "C" __global__ void int64_mix(const unsigned long long* a, const long long* b, unsigned long long* out,
                                     unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = a[i];
  long long y = b[i] == 0 ? 1 : b[i];
  unsigned long long* result = out + 8 * i;
  result[0] = __umul64hi(x, (unsigned long long)y);
  result[1] = (unsigned long long)__mul64hi((long long)x, y);
  result[2] = x / (unsigned long long)((y < 0 ? ~y : y) | 1) + x % 1000003u;
  result[3] = (unsigned long long)((long long)(x >> 1) / y - (long long)(x >> 1) % y);
  result[4] = (x << (y & 63)) ^ (x >> (i & 63)) ^ (unsigned long long)(y >> (x & 63));
  result[5] = __popcll(x) + 100 * __clzll(y) + 10000 * __ffsll(y);
  result[6] = __brevll(x) + min((long long)x, y);
  result[7] = (unsigned long long)(int)x * (unsigned)y + max(x, (unsigned long long)y);
}

// 128-bit accumulation (carry chains): low and high word of the sum of x[j] * y[j] over a row.
extern "C" __global__ void int128_dot(const unsigned long long* x, const unsigned long long* y,
                                      unsigned long long* out, unsigned rows, unsigned columns) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  unsigned __int128 sum = 0;
  for (unsigned c = 0; c < columns; ++c) sum += (unsigned __int128)x[row * columns + c] * y[row * columns + c];
  out[2 * row] = (unsigned long long)sum;
  out[2 * row + 1] = (unsigned long long)(sum >> 64);
}

// base^exponent mod modulus, modulus below 2^32.
extern "C" __global__ void int64_modular_power(const unsigned* base, const unsigned* exponent, unsigned* out,
                                               unsigned long long modulus, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long result = 1, square = base[i] % modulus;
  for (unsigned e = exponent[i]; e != 0; e >>= 1) {
    if (e & 1) result = result * square % modulus;
    square = square * square % modulus;
  }
  out[i] = (unsigned)result;
}
