// References of breadth-first search, shortest paths and edit distance.
#include <algorithm>

#include "reference.h"

namespace corpus {
namespace {

void BfsStep(Call& call) {
  const auto offsets = call.In<uint32_t>(0), targets = call.In<uint32_t>(1);
  for (uint32_t v = 0; v < call.Value<uint32_t>(7); ++v) {
    if (call.In<uint8_t>(2)[v] == 0) continue;
    for (uint32_t e = offsets[v]; e < offsets[v + 1]; ++e) {
      int32_t& level = call.Out<int32_t>(3)[targets[e]];
      if (level != -1) continue;
      level = call.Value<int32_t>(6) + 1;
      call.Out<uint8_t>(4)[targets[e]] = 1;
      ++call.Out<uint32_t>(5)[0];
    }
  }
}

void FloydWarshall(Call& call) {
  const uint32_t n = call.Value<uint32_t>(1), k = call.Value<uint32_t>(2);
  const auto distance = call.Out<uint32_t>(0);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = 0; j < n; ++j) {
      if (i == k || j == k) continue;
      distance[i * n + j] = std::min(distance[i * n + j], distance[i * n + k] + distance[k * n + j]);
    }
  }
}

void EditDistance(Call& call) {
  const int la = call.Value<int32_t>(3), lb = call.Value<int32_t>(4);
  for (uint32_t pair = 0; pair < call.grid[0]; ++pair) {
    const auto a = call.In<uint8_t>(0).subspan(pair * la, la), b = call.In<uint8_t>(1).subspan(pair * lb, lb);
    std::vector<int> row(lb + 1);
    for (int j = 0; j <= lb; ++j) row[j] = j;
    for (int i = 1; i <= la; ++i) {
      int corner = row[0];
      row[0] = i;
      for (int j = 1; j <= lb; ++j) {
        const int change = corner + (a[i - 1] != b[j - 1]);
        corner = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    call.Out<int32_t>(2)[pair] = row[lb];
  }
}

}  // namespace

void AddGraphReferences(References& references) {
  references["bfs_step"] = BfsStep;
  references["floyd_warshall_step"] = FloydWarshall;
  references["edit_distance_wavefront"] = EditDistance;
}

}  // namespace corpus
