// Sums and prefix sums.
#include "tools/bench/suite/openmp.h"

#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

namespace {

float Sum(const float* in, uint32_t n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (uint32_t i = 0; i < n; ++i) sum += in[i];
  return sum;
}

}  // namespace

void SumGridStride(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* sum = data.Get<float*>(1);
  const auto n = data.Get<uint32_t>(2), launches = data.Get<uint32_t>(3);
  for (uint32_t launch = 0; launch < launches; ++launch) *sum += Sum(in, n);
}

void SumCached(const Data& data) { SumGridStride(data); }

namespace {

void PartialSums(const Data& data) {
  const auto* in = data.Get<const uint32_t*>(0);
  auto* sums = data.Get<uint32_t*>(1);
  const auto parts = data.Get<uint32_t>(2), length = data.Get<uint32_t>(3);
#pragma omp parallel for
  for (uint32_t part = 0; part < parts; ++part) {
    uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = part * length; i < (part + 1) * length; ++i) sum += in[i];
    sums[part] = sum;
  }
}

// A part of the array for each thread: its sum first, then its prefix sums.
void InclusiveScan(const uint32_t* in, uint32_t* out, uint32_t n) {
  std::vector<uint32_t> totals(1);
#pragma omp parallel
  {
    uint32_t threads = 1, thread = 0;
#ifdef _OPENMP
    threads = static_cast<uint32_t>(omp_get_num_threads()),
    thread = static_cast<uint32_t>(omp_get_thread_num());
#endif
    const auto first = static_cast<uint32_t>(uint64_t{n} * thread / threads),
               end = static_cast<uint32_t>(uint64_t{n} * (thread + 1) / threads);
    uint32_t before = 0;
    if (threads > 1) {
#pragma omp single
      totals.assign(threads, 0);
      uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
      for (uint32_t i = first; i < end; ++i) sum += in[i];
      totals[thread] = sum;
#pragma omp barrier
      for (uint32_t t = 0; t < thread; ++t) before += totals[t];
    }
    for (uint32_t i = first; i < end; ++i) out[i] = before += in[i];
  }
}

}  // namespace

void ReduceShared(const Data& data) { PartialSums(data); }
void ReduceShuffle(const Data& data) { PartialSums(data); }

void Scan(const Data& data) {
  InclusiveScan(data.Get<const uint32_t*>(0), data.Get<uint32_t*>(1), data.Get<uint32_t>(2));
}
void ScanLookBack(const Data& data) { Scan(data); }
void ScanRows(const Data& data) {
  const auto* in = data.Get<const uint32_t*>(0);
  auto* out = data.Get<uint32_t*>(1);
  const auto length = data.Get<uint32_t>(2), rows = data.Get<uint32_t>(3);
#pragma omp parallel for
  for (uint32_t row = 0; row < rows; ++row) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < length; ++i) out[row * length + i] = sum += in[row * length + i];
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
