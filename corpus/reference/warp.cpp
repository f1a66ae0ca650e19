// References of votes, ballots, tiles, matches and exchanges within a warp.
#include <algorithm>
#include <bit>

#include "reference.h"

namespace corpus {
namespace {

Reference VoteWarp(bool all) {
  return [all](Call& call) {
    const uint32_t n = call.Value<uint32_t>(3);
    ForEachWarp(call, [&](uint32_t warp, uint32_t first, uint32_t lanes) {
      bool vote = all;
      for (uint32_t i = first; i < std::min(first + lanes, n); ++i) {
        const bool above = call.In<int32_t>(0)[i] > call.Value<int32_t>(2);
        vote = all ? vote && above : vote || above;
      }
      call.Out<uint32_t>(1)[warp] = vote;
    });
  };
}

void VoteDivergent(Call& call) {
  const uint32_t n = call.Value<uint32_t>(2);
  const auto data = call.In<int32_t>(0);
  ForEachWarp(call, [&](uint32_t, uint32_t first, uint32_t lanes) {
    bool odd_above_50 = false, even_below_90 = true;
    uint32_t odd_thirds = 0;
    for (uint32_t lane = 0; lane < lanes && first + lane < n; ++lane) {
      const int32_t value = data[first + lane];
      if (value % 2 == 0)
        even_below_90 &= value < 90;
      else
        odd_above_50 |= value > 50;
      if (value % 2 != 0 && value % 3 == 0) odd_thirds |= 1u << lane;
    }
    for (uint32_t i = first; i < std::min(first + lanes, n); ++i) {
      const uint32_t odd = (odd_above_50 ? 1 : 2) | odd_thirds << 2;
      call.Out<uint32_t>(1)[i] = data[i] % 2 != 0 ? odd : even_below_90 ? 3 : 0;
    }
  });
}

void VoteBlock(Call& call) {
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    uint32_t count = 0;
    for (uint32_t i = b * call.block[0]; i < std::min((b + 1) * call.block[0], call.Value<uint32_t>(3));
         ++i) {
      count += call.In<int32_t>(0)[i] > call.Value<int32_t>(2);
    }
    call.Out<uint32_t>(1)[3 * b] = count;
    call.Out<uint32_t>(1)[3 * b + 1] = count == call.block[0];
    call.Out<uint32_t>(1)[3 * b + 2] = count > 0;
  }
}

void TileReduce(Call& call) {
  for (uint32_t tile = 0; tile < call.Threads() / 8; ++tile) {
    int values[8], sum = 0, odd = 0;
    for (uint32_t t = 0; t < 8; ++t) {
      const uint32_t i = 8 * tile + t;
      values[t] = i < call.Value<uint32_t>(2) ? call.In<int32_t>(0)[i] : 0;
      sum += values[t];
      odd |= (values[t] & 1) << t;
    }
    const int least = *std::min_element(values, values + 8), most = *std::max_element(values, values + 8);
    const int result[5] = {sum, most, odd, (most > 90 ? 2 : 0) + (least >= 0 ? 1 : 0), values[0]};
    std::copy(result, result + 5, call.Out<int32_t>(1).begin() + 5 * tile);
  }
}

void CoalescedCount(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const int32_t rest = call.In<int32_t>(0)[i] % 3;
    if (rest < 2) ++call.Out<uint32_t>(1)[rest];
  }
}

void MatchGroups(Call& call) {
  const auto keys = call.In<int32_t>(0);
  const auto groups = call.Out<uint32_t>(1);
  ForEachWarp(call, [&](uint32_t warp, uint32_t first, uint32_t lanes) {
    const uint32_t end = std::min(first + lanes, call.Value<uint32_t>(3));
    if (first >= end) return;
    bool uniform = true;
    for (uint32_t i = first; i < end; ++i) {
      uniform &= keys[i] == keys[first];
      groups[3 * i] = static_cast<uint32_t>(std::count(keys.begin() + first, keys.begin() + end, keys[i]));
      groups[3 * i + 1] = static_cast<uint32_t>(std::count(keys.begin() + first, keys.begin() + i, keys[i]));
      groups[3 * i + 2] =
          static_cast<uint32_t>(std::find(keys.begin() + first, keys.end(), keys[i]) - keys.begin()) - first;
    }
    call.Out<int32_t>(2)[warp] = uniform;
  });
}

void WarpArgmax(Call& call) {
  const auto in = call.In<int32_t>(0);
  ForEachWarp(call, [&](uint32_t, uint32_t first, uint32_t lanes) {
    const uint32_t end = std::min(first + lanes, call.Value<uint32_t>(3));
    for (uint32_t i = first; i < end; ++i) {
      const auto best = std::max_element(in.begin() + first, in.begin() + end);
      call.Out<int32_t>(1)[i] = *best;
      call.Out<uint32_t>(2)[i] = static_cast<uint32_t>(best - in.begin());
    }
  });
}

void SegmentGather(Call& call) {
  const auto in = call.In<double>(0);
  ForEachWarp(call, [&](uint32_t, uint32_t first, uint32_t lanes) {
    const uint32_t end = std::min(first + lanes, call.Value<uint32_t>(3));
    for (uint32_t i = first; i < end; ++i) {
      const uint32_t lane = i - first, source = i - lane % 8 + call.In<uint32_t>(1)[i] % 8;
      const double gathered = source < end ? in[source] : in[i];
      const double below = lane % 8 == 0 ? in[i] : in[i - 1];
      const double half = 0.5 * below;
      call.Out<double>(2)[i] = gathered + half;
    }
  });
}

void WarpRedux(Call& call) {
  ForEachWarp(call, [&](uint32_t warp, uint32_t first, uint32_t lanes) {
    const uint32_t end = std::min(first + lanes, call.Value<uint32_t>(2));
    if (first >= end) return;
    uint32_t sum = 0, least = ~0u, any = 0;
    for (uint32_t i = first; i < end; ++i) {
      const uint32_t value = call.In<uint32_t>(0)[i];
      sum += value;
      least = std::min(least, value);
      any |= value;
    }
    call.Out<uint32_t>(1)[3 * warp] = sum;
    call.Out<uint32_t>(1)[3 * warp + 1] = least;
    call.Out<uint32_t>(1)[3 * warp + 2] = any;
  });
}

void Grid3d(Call& call) {
  size_t at = 0;
  for (uint32_t bz = 0; bz < call.grid[2]; ++bz)
    for (uint32_t by = 0; by < call.grid[1]; ++by)
      for (uint32_t bx = 0; bx < call.grid[0]; ++bx) {
        uint32_t thread = 0;
        for (uint32_t tz = 0; tz < call.block[2]; ++tz)
          for (uint32_t ty = 0; ty < call.block[1]; ++ty)
            for (uint32_t tx = 0; tx < call.block[0]; ++tx) {
              call.Out<uint32_t>(0)[at++] = bx | by << 8 | bz << 16 | thread++ % 32 << 24;
              call.Out<uint32_t>(0)[at++] = tx | ty << 11 | tz << 22;
            }
      }
}

}  // namespace

void AddWarpReferences(References& references) {
  references["vote_any"] = VoteWarp(false);
  references["vote_all"] = VoteWarp(true);
  references["vote_divergent"] = VoteDivergent;
  references["vote_block"] = VoteBlock;
  references["tile_reduce"] = TileReduce;
  references["coalesced_count"] = CoalescedCount;
  references["match_groups"] = MatchGroups;
  references["warp_argmax"] = WarpArgmax;
  references["warp_segment_gather"] = SegmentGather;
  references["warp_redux"] = WarpRedux;
  references["grid_3d_indices"] = Grid3d;
}

}  // namespace corpus
