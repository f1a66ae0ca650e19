// References of clusters.
#include "reference.h"

namespace corpus {
namespace {

void ClusterHistogram(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    ++call.Out<uint32_t>(1)[call.In<uint32_t>(0)[i] % call.Value<uint32_t>(3)];
  }
}

void ClusterRing(Call& call) {
  const uint32_t threads = call.block[0], blocks = call.cluster[0];
  std::vector<uint32_t> now(call.In<uint32_t>(0).begin(), call.In<uint32_t>(0).begin() + call.Threads());
  for (uint32_t r = 0; r < call.Value<uint32_t>(2); ++r) {
    const std::vector<uint32_t> before = now;
    for (uint32_t i = 0; i < now.size(); ++i) {
      const uint32_t block = i / threads, rank = block % blocks, next = block - rank + (rank + 1) % blocks;
      now[i] = before[i] * 3 + before[next * threads + threads - 1 - i % threads] + rank;
    }
  }
  std::copy(now.begin(), now.end(), call.Out<uint32_t>(1).begin());
}

void ClusterPlaces(Call& call) {
  const auto [cx, cy, cz] = call.cluster;
  size_t at = 0;
  for (uint32_t z = 0; z < call.grid[2]; ++z) {
    for (uint32_t y = 0; y < call.grid[1]; ++y) {
      for (uint32_t x = 0; x < call.grid[0]; ++x) {
        const uint32_t rank = x % cx + cx * (y % cy + cy * (z % cz));
        const uint32_t place[4] = {rank | cx * cy * cz << 16, x % cx | y % cy << 8 | z % cz << 16,
                                   cx | cy << 8 | cz << 16, x / cx | call.grid[0] / cx << 16};
        for (const uint32_t word : place) call.Out<uint32_t>(0)[at++] = word;
      }
    }
  }
}

}  // namespace

void AddClusterReferences(References& references) {
  references["cluster_histogram"] = ClusterHistogram;
  references["cluster_ring"] = ClusterRing;
  references["cluster_places"] = ClusterPlaces;
}

}  // namespace corpus
