// Two device pieces that are linked: functions, variables and a function pointer table of the other piece. -rdc=true.
#include <vector>

#include "check.h"
#include "linked.h"

__device__ int of_main = 5;
static __device__ int same_name = 100;

__global__ void UseOther(int* out) {
  const int i = threadIdx.x;
  out[i] = OtherFunction(i) + other_table[i % 4] + operations[i % 3](i, 2) + same_name;
}

int main() {
  constexpr int n = 64;
  int *out, host[n];
  OK(cudaMalloc(&out, sizeof host));
  UseOther<<<1, n>>>(out);
  OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  PrintDigest("linked", host, sizeof host);
  LaunchOther(out, n);
  OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  PrintDigest("other", host, sizeof host);
  const int table[4] = {9, 8, 7, 6};
  OK(cudaMemcpyToSymbol(other_table, table, sizeof table));
  UseOther<<<1, n>>>(out);
  OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  PrintDigest("changed", host, sizeof host);
  return 0;
}
