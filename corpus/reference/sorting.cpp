// References of the sorts and compactions.
#include <algorithm>
#include <tuple>

#include "reference.h"

namespace corpus {
namespace {

void BitonicShared(Call& call) {
  const uint32_t length = call.Value<uint32_t>(1);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto segment = call.Out<int32_t>(0).subspan(b * length, length);
    std::sort(segment.begin(), segment.end());
    if (b % 2 == 1) std::reverse(segment.begin(), segment.end());
  }
}

void BitonicStep(Call& call) {
  const auto data = call.Out<int32_t>(0);
  const uint32_t size = call.Value<uint32_t>(2), stride = call.Value<uint32_t>(3);
  for (uint32_t i = 0; i < call.Value<uint32_t>(1); ++i) {
    if (i & stride) continue;
    const bool upwards = i / size % 2 == 0;
    if (upwards == (data[i] > data[i + stride]) && data[i] != data[i + stride])
      std::swap(data[i], data[i + stride]);
  }
}

void RankSort(Call& call) {
  const uint32_t n = call.Value<uint32_t>(3);
  std::vector<uint32_t> values(call.In<uint32_t>(0).begin(), call.In<uint32_t>(0).end());
  for (uint32_t start = 0; start < n; start += call.block[0]) {
    std::sort(values.begin() + start, values.begin() + std::min(start + call.block[0], n));
  }
  for (uint32_t i = 0; i < n; ++i) {
    call.Out<uint32_t>(1)[i] = values[i];
    call.Out<uint8_t>(2)[i] = values[i] % 2;
  }
}

void RadixSort(Call& call) {
  const uint32_t n = call.Value<uint32_t>(2);
  const auto keys = call.Out<uint32_t>(0), payload = call.Out<uint32_t>(1);
  for (uint32_t start = 0; start < n; start += call.block[0]) {
    std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>
        entries;  // key, place, payload: equal keys keep their order
    for (uint32_t i = start; i < std::min(start + call.block[0], n); ++i)
      entries.emplace_back(keys[i], i, payload[i]);
    std::sort(entries.begin(), entries.end());
    for (uint32_t i = 0; i < entries.size(); ++i) {
      keys[start + i] = std::get<0>(entries[i]);
      payload[start + i] = std::get<2>(entries[i]);
    }
  }
}

void CompactBlock(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const int32_t value = call.In<int32_t>(0)[i];
    const uint32_t b = i / call.block[0];
    if (value > 0) call.Out<int32_t>(1)[b * call.block[0] + call.Out<uint32_t>(2)[b]++] = value;
  }
}

void CompactWarp(Call& call) {
  ForEachWarp(call, [&](uint32_t warp, uint32_t first, uint32_t lanes) {
    for (uint32_t i = first; i < std::min(first + lanes, call.Value<uint32_t>(3)); ++i) {
      const int32_t value = call.In<int32_t>(0)[i];
      if (value > 0) call.Out<int32_t>(1)[first + call.Out<uint32_t>(2)[warp]++] = value;
    }
  });
}

}  // namespace

void AddSortingReferences(References& references) {
  references["bitonic_sort_shared"] = BitonicShared;
  references["bitonic_step"] = BitonicStep;
  references["dynamic_shared_rank_sort"] = RankSort;
  references["radix_sort_block"] = RadixSort;
  references["compact_ballot"] = CompactBlock;
  references["compact_warp_early_exit"] = CompactWarp;
}

}  // namespace corpus
