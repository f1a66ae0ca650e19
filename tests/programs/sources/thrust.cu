// Thrust and CUB from the toolkit's headers.
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include "check.h"

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
  constexpr int n = 100000;
  thrust::host_vector<int> host(n);
  unsigned state = 1;
  for (int& value : host) value = static_cast<int>((state = state * 1664525u + 1013904223u) >> 12);
  thrust::device_vector<int> data = host, keys = host, values(n);
  std::printf("sum %d\n", thrust::reduce(data.begin(), data.end()));
  thrust::sort(data.begin(), data.end());
  host = data;
  PrintDigest("sorted", host.data(), n * sizeof(int));
  thrust::sequence(values.begin(), values.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  host = values;
  PrintDigest("by key", host.data(), n * sizeof(int));
  thrust::inclusive_scan(data.begin(), data.end(), values.begin());
  host = values;
  PrintDigest("scan", host.data(), n * sizeof(int));
  thrust::transform(data.begin(), data.end(), values.begin(), Square());
  std::printf("inner %d\n", thrust::inner_product(values.begin(), values.end(), data.begin(), 0));
  const auto end = thrust::unique(data.begin(), data.end());
  std::printf("unique %d\n", static_cast<int>(end - data.begin()));
  return 0;
}
