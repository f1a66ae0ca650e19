// A host program that adds the same numbers with every reduction of reduction.cu, for a shared-runtime executable.
#include <cstdio>
#include <vector>

#include "../reduction.cu"

int main() {
  typedef void (*Reduction)(const unsigned*, unsigned*, unsigned);
  struct Variant {
    const char* name;
    Reduction kernel;
    unsigned per_thread;
  };
  const Variant variants[] = {{"interleaved, modulo", reduce_interleaved_modulo, 1},
                              {"interleaved, index", reduce_interleaved_index, 1},
                              {"sequential", reduce_sequential, 1},
                              {"first add while loading", reduce_first_add, 2},
                              {"last warp unrolled", reduce_last_warp, 2},
                              {"completely unrolled", reduce_unrolled, 1},
                              {"grid stride", reduce_grid_stride, 1},
                              {"shuffle", reduce_shuffle, 1}};
  const unsigned n = 100000, threads = 256;
  std::vector<unsigned> in(n);
  unsigned expected = 0;
  for (unsigned i = 0; i < n; ++i) expected += in[i] = i * 2654435761u;
  unsigned *device_in = nullptr, *device_sums = nullptr;
  const unsigned max_blocks = (n + threads - 1) / threads;
  if (cudaMalloc(&device_in, n * sizeof(unsigned)) != cudaSuccess ||
      cudaMalloc(&device_sums, max_blocks * sizeof(unsigned)) != cudaSuccess) {
    std::printf("no memory\n");
    return 1;
  }
  cudaMemcpy(device_in, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  int wrong = 0;
  for (const Variant& variant : variants) {
    const unsigned blocks = (n + threads * variant.per_thread - 1) / (threads * variant.per_thread);
    variant.kernel<<<blocks, threads, threads * sizeof(unsigned)>>>(device_in, device_sums, n);
    std::vector<unsigned> sums(blocks);
    const cudaError_t status =
        cudaMemcpy(sums.data(), device_sums, blocks * sizeof(unsigned), cudaMemcpyDeviceToHost);
    unsigned total = 0;
    for (const unsigned sum : sums) total += sum;
    const bool right = status == cudaSuccess && total == expected;
    std::printf("%-24s %08x %s\n", variant.name, total, right ? "right" : "wrong");
    wrong += !right;
  }
  cudaFree(device_in);
  cudaFree(device_sums);
  return wrong == 0 ? 0 : 1;
}
