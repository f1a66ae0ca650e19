// Separate compilation, first half: a device function that another object calls.
__device__ float EvaluatePolynomial(const float* coefficients, int degree, float x) {
  float sum = coefficients[degree];
  for (int k = degree - 1; k >= 0; --k) sum = __fmaf_rn(sum, x, coefficients[k]);
  return sum;
}
