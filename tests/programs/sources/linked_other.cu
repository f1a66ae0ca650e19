// The second piece of linked_main.cu.
#include "linked.h"

__device__ int other_table[4] = {10, 20, 30, 40};
static __device__ int same_name = 1000;
__device__ int Add(int a, int b) { return a + b; }
__device__ int Multiply(int a, int b) { return a * b; }
__device__ int Subtract(int a, int b) { return a - b; }
__device__ Operation operations[3] = {Add, Multiply, Subtract};

__device__ int OtherFunction(int x) { return x * x + of_main + same_name; }
__global__ void Other(int* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = same_name + OtherFunction(n - i);
}
void LaunchOther(int* out, int n) { Other<<<1, n>>>(out, n); }
