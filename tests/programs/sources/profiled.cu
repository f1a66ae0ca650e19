// What exec --profile measures: kernels of known bytes and operations, launches by the thousand, and four ways
// for a process to end. Arguments: how often to launch `touch`; how to end (return, exit, crash, raise).
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// 8 bytes read and 4 written, and one multiply-add a thread.
__global__ void scale_and_add(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Each thread reads places of its own: gathers. 64 rounds of 8 bytes read and one addition.
__global__ void follow(float* sums, const float* values, const int* next, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  int at = i % n;
  for (int round = 0; round < 64; ++round) {
    sum += values[at];
    at = next[at];
  }
  sums[i] = sum;
}

// Threads side by side along y read and write neighbours: its code has x and y exchanged.
__global__ void down(float* to, const float* from, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  to[x * n + y] = 2 * from[x * n + y];
}

__global__ void touch(int* count) { *count += 1; }

#define TRY(call)                                                                \
  do {                                                                           \
    const cudaError_t error = call;                                              \
    if (error != cudaSuccess) {                                                  \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));                 \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 10;
  const char* const end = argc > 2 ? argv[2] : "return";
  constexpr int kCount = 1 << 20, kFollowers = 1 << 16, kSide = 512;
  float *x, *y;
  int *next, *count;
  TRY(cudaMallocManaged(&x, kCount * sizeof(float)));
  TRY(cudaMallocManaged(&y, kCount * sizeof(float)));
  TRY(cudaMallocManaged(&next, kCount * sizeof(int)));
  TRY(cudaMallocManaged(&count, sizeof(int)));
  *count = 0;
  for (int i = 0; i < kCount; ++i) {
    x[i] = 1, y[i] = 2;
    next[i] = static_cast<int>((i * 2654435761u + 12345u) % kCount);
  }
  for (int i = 0; i < 8; ++i) scale_and_add<<<kCount / 256, 256>>>(y, x, 0.5f, kCount);
  TRY(cudaDeviceSynchronize());
  std::printf("y %g\n", y[kCount - 1]);
  for (int i = 0; i < 4; ++i) follow<<<kFollowers / 128, 128>>>(y, x, next, kCount);
  for (int i = 0; i < 6; ++i) down<<<dim3(kSide / 16, kSide / 8), dim3(16, 8)>>>(y + kSide * kSide, x, kSide);
  for (int i = 0; i < launches; ++i) touch<<<1, 1>>>(count);
  TRY(cudaDeviceSynchronize());
  std::printf("sum %g, count %d\n", y[0], *count);
  std::fflush(stdout);
  if (std::strcmp(end, "exit") == 0) _exit(3);
  if (std::strcmp(end, "crash") == 0) *reinterpret_cast<volatile int*>(16) = 1;
  if (std::strcmp(end, "raise") == 0) raise(SIGSEGV);
  return 0;
}
