// Histograms of bytes.
#include "tools/bench/suite/openmp.h"

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void HistogramShared(const Data& data) {
  const auto* in = data.Get<const uint8_t*>(0);
  auto* bins = data.Get<uint32_t*>(1);
  const auto n = data.Get<uint32_t>(2);
  // Tables in turn, so that an increment does not wait for the one before of the same bin.
  constexpr uint32_t kTables = 4;
#pragma omp parallel
  {
    uint32_t counts[kTables][256] = {};
#pragma omp for
    for (uint32_t group = 0; group < n / kTables; ++group) {
      for (uint32_t t = 0; t < kTables; ++t) ++counts[t][in[group * kTables + t]];
    }
#pragma omp critical
    for (uint32_t bin = 0; bin < 256; ++bin) {
      for (uint32_t t = 0; t < kTables; ++t) bins[bin] += counts[t][bin];
    }
  }
  for (uint32_t i = n / kTables * kTables; i < n; ++i) ++bins[in[i]];
}

void HistogramGlobal(const Data& data) { HistogramShared(data); }

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
