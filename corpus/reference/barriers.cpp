// References of named barriers, of ends before barriers and of barriers in shared memory. A block is a vector
// of words here, and a round between two barriers one step over all of it.
#include "reference.h"

namespace corpus {
namespace {

using Words = std::vector<uint32_t>;

// Runs `body` on the words of each block of the input, argument `in`, and writes what it leaves to argument
// `out`.
template <typename Body>
void ForEachBlock(Call& call, size_t in, size_t out, Body body) {
  const uint32_t threads = call.block[0];
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto from = call.In<uint32_t>(in).begin() + b * threads;
    Words words(from, from + threads);
    body(words, threads);
    std::copy(words.begin(), words.end(), call.Out<uint32_t>(out).begin() + b * threads);
  }
}

void PairBarriers(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    for (uint32_t pair = 0; pair < threads / 64; ++pair) {
      for (uint32_t r = 0; r < call.Value<uint32_t>(2) + pair; ++r) {
        const Words before = words;
        for (uint32_t t = pair * 64; t < pair * 64 + 64; ++t) words[t] = before[t] * 5 + before[t ^ 32] + r;
      }
    }
  });
}

// Tiles of `width` words, one after the other; `change` is what the producer does to a word of tile t.
template <typename Change>
void Consume(Call& call, uint32_t width, Change change) {
  const uint32_t tiles = call.Value<uint32_t>(2);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto in = call.In<uint32_t>(0).subspan(size_t{b} * tiles * width);
    for (uint32_t me = 0; me < width; ++me) {
      uint32_t sum = 0;
      for (uint32_t t = 0; t < tiles; ++t) sum = sum * 31 + change(in[t * width + (me + t) % width], t);
      call.Out<uint32_t>(1)[b * width + me] = sum;
    }
  }
}

void ProduceConsume(Call& call) {
  Consume(call, call.block[0] / 2, [](uint32_t word, uint32_t t) { return word ^ t; });
}
void MbarrierRing(Call& call) {
  Consume(call, call.block[0] - 32, [](uint32_t word, uint32_t t) { return word + t; });
}

void BarrierReductions(Call& call) {
  const uint32_t threads = call.block[0], half = threads / 2;
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto in = call.In<int32_t>(0).subspan(b * threads, threads);
    uint32_t odd = 0, above[2] = {0, 0};
    for (uint32_t t = 0; t < threads; ++t) {
      const int32_t bound = t < half ? call.Value<int32_t>(2) : -call.Value<int32_t>(2);
      above[t / half] += in[t] > bound;
      odd += in[t] & 1;
    }
    for (uint32_t t = 0; t < threads; ++t) {
      const uint32_t count = above[t / half];
      call.Out<uint32_t>(1)[2 * (b * threads + t)] = count;
      call.Out<uint32_t>(1)[2 * (b * threads + t) + 1] =
          (count == half ? 1 : 0) | (count < half ? 2 : 0) | odd << 2;
    }
  }
}

void BarriersByWarp(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    for (uint32_t r = 0; r < 5; ++r) {
      const Words before = words;
      for (uint32_t t = 0; t < threads; ++t) {
        if (t / 32 % 2 == 1)
          words[t] = before[t] << 1 ^ before[(t + threads - 64) % threads];
        else if (r < 3)
          words[t] = before[t] + before[(t + 64) % threads] * 3;
      }
    }
    const Words last = words;
    for (uint32_t t = 0; t < threads; ++t) words[t] = last[t] + last[threads - 1 - t];
  });
}

void BarrierInBothArms(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    Words posted;
    for (const uint32_t word : words) posted.push_back(word & 1 ? word * 3 : word / 2);
    for (uint32_t t = 0; t < threads; ++t) {
      words[t] = words[t] & 1 ? posted[(t + 1) % threads] + 1 : posted[(t + 2) % threads] ^ 7;
    }
  });
}

void WarpsExit(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    for (uint32_t r = 0; r <= threads / 32; ++r) {
      const Words before = words;
      for (uint32_t t = 32 * r; t < threads; ++t) words[t] = before[t] * 3 + before[(t + 32) % threads];
    }
  });
}

void LanesExit(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t) {
    const Words in = words;
    for (uint32_t& word : words) word = 0;
    for (uint32_t r = 0; r < 7; ++r) {
      uint32_t count = 0;
      for (const uint32_t value : in) count += r <= value % 7 ? value >> r & 1 : 0;
      for (size_t t = 0; t < in.size(); ++t) {
        if (r <= in[t] % 7) words[t] = words[t] * 37 + count;
      }
    }
  });
}

void LanesExitNamed(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    const Words in = words;
    for (uint32_t part = 0; part < 2; ++part) {
      const uint32_t first = part * threads / 2, end = first + threads / 2;
      for (uint32_t t = first; t < end; ++t) words[t] = 0;
      for (uint32_t r = 0; r < 8; ++r) {
        const auto stays = [&](uint32_t t) { return t % 32 == 0 || r < in[t] % 8; };
        uint32_t left = 0;
        for (uint32_t t = first; t < end; ++t) left += stays(t);
        for (uint32_t t = first; t < end; ++t) {
          if (stays(t)) words[t] = words[t] * 5 + left;
        }
      }
    }
  });
}

void MbarrierSplit(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    for (uint32_t r = 0; r < call.Value<uint32_t>(2); ++r) {
      const Words before = words;
      for (uint32_t t = 0; t < threads; ++t) words[t] = (before[t] * 5 + r) ^ before[(t + 1) % threads];
    }
  });
}

void MbarrierBytes(Call& call) {
  ForEachBlock(call, 0, 1, [&](Words& words, uint32_t threads) {
    for (uint32_t r = 0; r < call.Value<uint32_t>(2); ++r) {
      const Words before = words;
      for (uint32_t t = 0; t < threads; ++t) words[t] = before[t] * 3 + before[threads - 1 - t];
    }
  });
}

void MbarrierAsyncCopy(Call& call) {
  const uint32_t threads = call.block[0], tiles = call.Value<uint32_t>(2);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    for (uint32_t t = 0; t < threads; ++t) {
      uint32_t sum = 0;
      for (uint32_t tile = 0; tile < tiles; ++tile) {
        const uint32_t* const four =
            &call.In<uint32_t>(0)[4 * ((b * tiles + tile) * threads + (t + tile + 1) % threads)];
        sum = sum * 31 + four[0] + four[1] * 3 + four[2] * 5 + four[3] * 7;
      }
      call.Out<uint32_t>(1)[b * threads + t] = sum;
    }
  }
}

}  // namespace

void AddBarrierReferences(References& references) {
  references["produce_consume"] = ProduceConsume;
  references["pair_barriers"] = PairBarriers;
  references["barrier_reductions"] = BarrierReductions;
  references["barriers_by_warp"] = BarriersByWarp;
  references["barrier_in_both_arms"] = BarrierInBothArms;
  references["warps_exit"] = WarpsExit;
  references["lanes_exit"] = LanesExit;
  references["lanes_exit_named"] = LanesExitNamed;
  references["mbarrier_ring"] = MbarrierRing;
  references["mbarrier_split"] = MbarrierSplit;
  references["mbarrier_bytes"] = MbarrierBytes;
  references["mbarrier_async_copy"] = MbarrierAsyncCopy;
}

}  // namespace corpus
