// Calls that stay calls: values, structs and pointers to local variables cross the call interface.
struct Fraction {
  long long numerator;
  int denominator;
};

static __device__ __noinline__ unsigned Gcd(unsigned a, unsigned b) {
  while (b != 0) {
    unsigned rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Takes and returns structs by value, and calls on.
static __device__ __noinline__ Fraction Add(Fraction x, Fraction y) {
  Fraction sum;
  sum.numerator = x.numerator * y.denominator + y.numerator * x.denominator;
  sum.denominator = x.denominator * y.denominator;
  unsigned divisor = Gcd((unsigned)(sum.numerator < 0 ? -sum.numerator : sum.numerator), sum.denominator);
  sum.numerator /= (int)divisor;
  sum.denominator /= (int)divisor;
  return sum;
}

// Writes through pointers into the caller's local memory.
static __device__ __noinline__ void MinMax(const int* values, int count, int* low, int* high) {
  *low = *high = values[0];
  for (int i = 1; i < count; ++i) {
    *low = min(*low, values[i]);
    *high = max(*high, values[i]);
  }
}

// out[2i], out[2i+1] = a[i]/12 + b[i]/18 in lowest terms.
extern "C" __global__ void call_struct_by_value(const int* a, const int* b, int* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Fraction sum = Add(Fraction{a[i], 12}, Fraction{b[i], 18});
  out[2 * i] = (int)sum.numerator;
  out[2 * i + 1] = sum.denominator;
}

// Range of four neighbours, only in every thread whose value is odd: the call itself is divergent.
extern "C" __global__ void call_with_pointers(const int* in, int* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int window[4], low = 0, high = 0;
  for (int k = 0; k < 4; ++k) window[k] = in[(i + k) % n];
  if (window[0] & 1) MinMax(window, 4, &low, &high);
  out[i] = high - low;
}
