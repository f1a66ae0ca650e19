// Separate compilation, second half: the kernel's callee is an unresolved external of this object.
extern __device__ float EvaluatePolynomial(const float* coefficients, int degree, float x);

extern "C" __global__ void separate_polynomial(const float* coefficients, int degree, const float* x, float* y,
                                               unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = EvaluatePolynomial(coefficients, degree, x[i]);
}
