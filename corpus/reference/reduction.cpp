// References of the reductions, scans and histograms.
#include <numeric>

#include "reference.h"

namespace corpus {
namespace {

// Each block sums `per_thread` times its size of consecutive elements.
Reference BlockSums(uint32_t per_thread) {
  return [per_thread](Call& call) {
    const auto in = call.In<uint32_t>(0);
    for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
      call.Out<uint32_t>(1)[i / (per_thread * call.block[0])] += in[i];
    }
  };
}

// Element i belongs to the thread i modulo the number of threads.
void GridStrideSums(Call& call) {
  const auto in = call.In<uint32_t>(0);
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    call.Out<uint32_t>(1)[i % call.Threads() / call.block[0]] += in[i];
  }
}

void LastBlock(Call& call) {
  const auto in = call.In<uint32_t>(0);
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    call.Out<uint32_t>(1)[i / call.block[0]] += in[i];
    call.Out<uint32_t>(2)[0] += in[i];
  }
}

template <typename T>
void Scan(Call& call) {
  const auto in = call.In<T>(0);
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    T& total = call.Out<T>(2)[i / call.block[0]];
    total += in[i];
    call.Out<T>(1)[i] = total;
  }
}

void Histogram(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) ++call.Out<uint32_t>(1)[call.In<uint8_t>(0)[i]];
}

}  // namespace

void AddReductionReferences(References& references) {
  for (const char* name :
       {"reduce_interleaved_modulo", "reduce_interleaved_index", "reduce_sequential", "reduce_unrolled"})
    references[name] = BlockSums(1);
  for (const char* name : {"reduce_first_add", "reduce_last_warp"}) references[name] = BlockSums(2);
  for (const char* name : {"reduce_grid_stride", "reduce_shuffle"}) references[name] = GridStrideSums;
  references["reduce_last_block"] = LastBlock;
  references["scan_shuffle"] = Scan<uint32_t>;
  references["scan_double_buffer"] = Scan<uint64_t>;
  references["histogram_global"] = Histogram;
  references["histogram_shared"] = Histogram;
}

}  // namespace corpus
