// Faults become the errors that a program expects, and the process lives on.
#include <cstring>

#include "check.h"

__global__ void Write(int* at, int value) { at[threadIdx.x] = value; }
__global__ void Trap() { __trap(); }
__global__ void Misaligned(char* at) { *reinterpret_cast<volatile double*>(at + 1) = 1; }
__global__ void Nothing() {}

template <typename Provoke>
static void Case(const char* name, Provoke provoke) {
  provoke();
  std::printf("%s: synchronise: %s\n", name, cudaGetErrorName(cudaDeviceSynchronize()));
  std::printf("%s: sticky: %s\n", name, cudaGetErrorName(cudaGetLastError()));
  int* memory;
  std::printf("%s: malloc: %s\n", name, cudaGetErrorName(cudaMalloc(&memory, 4)));
  Nothing<<<1, 1>>>();
  std::printf("%s: launch: %s\n", name, cudaGetErrorName(cudaGetLastError()));
}

static void NotSticky() {
  Nothing<<<0, 1>>>();
  std::printf("grid 0: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
  std::printf("again: %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("cleared: %s\n", cudaGetErrorName(cudaGetLastError()));
  Nothing<<<1, 2048>>>();
  std::printf("block 2048: %s\n", cudaGetErrorName(cudaGetLastError()));
  Nothing<<<1, 1, 1 << 20>>>();
  std::printf("shared 1 MiB: %s\n", cudaGetErrorName(cudaGetLastError()));
  Nothing<<<1, 1>>>();
  std::printf("works: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  int host = 0, *device;
  SHOW(cudaMalloc(nullptr, 4));
  SHOW(cudaMalloc(&device, size_t{1} << 60));
  SHOW(cudaFree(&host));
  SHOW(cudaFree(nullptr));
  SHOW(cudaMemcpy(&host, &host, 4, static_cast<cudaMemcpyKind>(77)));
  SHOW(cudaSetDevice(1000));
  SHOW(cudaEventElapsedTime(nullptr, nullptr, nullptr));
  std::printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("%s / %s\n", cudaGetErrorString(cudaErrorInvalidValue), cudaGetErrorName(static_cast<cudaError_t>(12345)));
}

// A device that has faulted works again after a reset.
static void Reset() {
  int *memory, value = 0;
  Write<<<1, 32>>>(nullptr, 1);
  SHOW(cudaDeviceSynchronize());
  SHOW(cudaDeviceReset());
  SHOW(cudaMalloc(&memory, 4));
  Write<<<1, 1>>>(memory, 12);
  SHOW(cudaMemcpy(&value, memory, 4, cudaMemcpyDeviceToHost));
  std::printf("value %d\n", value);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  if (std::strcmp(what, "null") == 0) {
    Case("null", [] { Write<<<1, 32>>>(nullptr, 1); });
  } else if (std::strcmp(what, "trap") == 0) {
    Case("trap", [] { Trap<<<2, 32>>>(); });
  } else if (std::strcmp(what, "misaligned") == 0) {
    char* memory;
    OK(cudaMalloc(&memory, 64));
    Case("misaligned", [&] { Misaligned<<<1, 1>>>(memory); });
  } else if (std::strcmp(what, "reset") == 0) {
    Reset();
  } else {
    NotSticky();
  }
  return 0;
}
