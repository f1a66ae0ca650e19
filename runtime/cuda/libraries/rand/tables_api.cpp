// Tables for device code: direction numbers of Sobol sequences, Poisson distributions.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "curand_api.h"
#include "runtime/cuda/libraries/core/device_memory.h"
#include "runtime/cuda/libraries/rand/poisson.h"
#include "runtime/cuda/libraries/rand/quasi.h"

// As cuRAND's device functions read it. What only the original's host functions use is missing: nulls.
struct ptx2cpu::cuda::curandDiscreteDistribution_st {
  struct Histogram {
    double *limits, *host_limits;
    unsigned int *others, *host_others;
    unsigned int on_host;
  };
  struct Shifted {
    Histogram *histogram, *host_histogram;
    unsigned int first, length, on_host;
  };
  curandDiscreteDistribution_st* on_host_self;
  Shifted *table, *host_table;
  double deviation, mean;
  curandMethod_t method;
  unsigned int on_host;
};

namespace ptx2cpu::curand {

namespace {

// cuRAND's table has 20,000 dimensions. The addresses of dimensions that are not known here fault: the known
// ones end at the end of a page.
constexpr size_t kDimensions = 20000;

template <typename Word>
Word* MakeDirections() {
  constexpr size_t kRow = 8 * sizeof(Word);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t known = libraries::kSobolDimensions * kRow * sizeof(Word);
  const size_t readable = (known + page - 1) / page * page;
  void* const memory = mmap(nullptr, readable + kDimensions * kRow * sizeof(Word), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (mprotect(memory, readable, PROT_READ | PROT_WRITE) != 0) return nullptr;
  auto* const first = reinterpret_cast<Word*>(static_cast<std::byte*>(memory) + readable - known);
  for (uint32_t n = 0; n < libraries::kSobolDimensions; ++n)
    libraries::FillDirections(n, first + size_t{n} * kRow);
  mprotect(memory, readable, PROT_READ);
  return first;
}
template <typename Word>
Word* Directions() {
  static const auto table = MakeDirections<Word>();  // programs keep the address
  return table;
}

template <typename Word, typename Vectors>
curandStatus_t GiveDirections(Vectors** vectors, curandDirectionVectorSet_t wanted,
                              curandDirectionVectorSet_t set) {
  static_assert(sizeof(Vectors) == 8 * sizeof(Word) * sizeof(Word));
  if (wanted == CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 ||
      wanted == CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6)
    std::fprintf(stderr,
                 "ptx2cpu: curandGetDirectionVectors: the vectors of scrambled sequences are not supported: "
                 "returns CURAND_STATUS_OUT_OF_RANGE\n");
  if (vectors == nullptr || wanted != set) return CURAND_STATUS_OUT_OF_RANGE;
  Word* const table = Directions<Word>();
  if (table == nullptr) return CURAND_STATUS_ALLOCATION_FAILED;
  *vectors = reinterpret_cast<Vectors*>(table);
  return CURAND_STATUS_SUCCESS;
}

// The structures and their arrays, one after the other.
using Distribution = curandDiscreteDistribution_st;
struct Parts {
  Distribution distribution;
  Distribution::Shifted table;
  Distribution::Histogram histogram;
};

}  // namespace

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t** vectors,
                                           curandDirectionVectorSet_t set) {
  return GiveDirections<uint32_t>(vectors, set, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
}
curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t** vectors,
                                           curandDirectionVectorSet_t set) {
  return GiveDirections<uint64_t>(vectors, set, CURAND_DIRECTION_VECTORS_64_JOEKUO6);
}

curandStatus_t curandCreatePoissonDistribution(double lambda,
                                               curandDiscreteDistribution_t* discrete_distribution) {
  if (discrete_distribution == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  if (!(lambda > 0 && lambda <= libraries::Poisson::kMaxMean)) return CURAND_STATUS_OUT_OF_RANGE;
  const libraries::Poisson poisson(lambda);
  libraries::Poisson::Table table{};
  if (poisson.has_table()) table = poisson.AsTable();
  const size_t cells = table.limits.size();
  void* memory = nullptr;
  if (libraries::Allocate(&memory, sizeof(Parts) + cells * (sizeof(double) + sizeof(unsigned int))) !=
      CUDA_SUCCESS)
    return CURAND_STATUS_ALLOCATION_FAILED;
  auto& parts = *static_cast<Parts*>(memory);
  auto* const limits = reinterpret_cast<double*>(&parts + 1);
  auto* const others = reinterpret_cast<unsigned int*>(limits + cells);
  std::ranges::copy(table.limits, limits);
  std::ranges::copy(table.others, others);
  parts.histogram = {limits, nullptr, others, nullptr, 0};
  const auto length = static_cast<unsigned int>(cells == 0 ? 0 : cells - 1);
  parts.table = {&parts.histogram, nullptr, table.first, length, 0};
  parts.distribution = {nullptr, &parts.table,
                        nullptr, std::sqrt(lambda),
                        lambda,  poisson.has_table() ? CURAND_M2 : CURAND_DISCRETE_GAUSS,
                        0};
  *discrete_distribution = &parts.distribution;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t discrete_distribution) {
  if (discrete_distribution == nullptr) return CURAND_STATUS_NOT_INITIALIZED;
  return libraries::Free(discrete_distribution) == CUDA_SUCCESS ? CURAND_STATUS_SUCCESS
                                                                : CURAND_STATUS_INTERNAL_ERROR;
}

}  // namespace ptx2cpu::curand
