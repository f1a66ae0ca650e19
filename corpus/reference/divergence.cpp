// References of collectives whose lanes go different ways. A group is a mask of lanes of one warp.
#include <bit>

#include "reference.h"

namespace corpus {
namespace {

using Lanes = std::array<uint32_t, 32>;

bool Has(uint32_t mask, uint32_t lane) { return mask >> lane & 1; }
uint32_t First(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }
uint32_t Last(uint32_t mask) { return 31 - static_cast<uint32_t>(std::countl_zero(mask)); }
uint32_t Count(uint32_t mask) { return static_cast<uint32_t>(std::popcount(mask)); }

// The lanes of `members` for which `holds`.
template <typename Holds>
uint32_t Ballot(uint32_t members, Holds holds) {
  uint32_t mask = 0;
  for (uint32_t lane = 0; lane < 32; ++lane) mask |= Has(members, lane) && holds(lane) ? 1u << lane : 0;
  return mask;
}

template <typename Body>
void ForEachLane(uint32_t members, Body body) {
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (Has(members, lane)) body(lane);
}

// Groups of the lanes that have the same key.
template <typename Key, typename Body>
void ForEachGroup(uint32_t members, Key key, Body body) {
  for (uint32_t rest = members; rest != 0;) {
    const uint32_t group = Ballot(rest, [&](uint32_t lane) { return key(lane) == key(First(rest)); });
    body(group);
    rest &= ~group;
  }
}

// Runs `body` on each warp's words of argument 0; what it leaves goes to argument 1.
template <typename Body>
void OnWarps(Call& call, Body body) {
  ForEachWarp(call, [&](uint32_t, uint32_t first, uint32_t count) {
    Lanes words{};
    std::copy_n(call.In<uint32_t>(0).begin() + first, count, words.begin());
    body(words, count == 32 ? ~0u : (1u << count) - 1);
    std::copy_n(words.begin(), count, call.Out<uint32_t>(1).begin() + first);
  });
}

void CollectivesInArms(Call& call) {
  OnWarps(call, [](Lanes& value, uint32_t all) {
    Lanes result{};
    const uint32_t odd = Ballot(all, [&](uint32_t lane) { return value[lane] & 1; }), even = all & ~odd;
    const uint32_t large = Ballot(odd, [&](uint32_t lane) { return value[lane] >= 64; }),
                   small = odd & ~large;
    const bool any = Ballot(small, [&](uint32_t lane) { return value[lane] > 32; }) != 0;
    ForEachLane(large, [&](uint32_t lane) { result[lane] = value[First(large)] + Count(large); });
    ForEachGroup(
        small, [&](uint32_t lane) { return value[lane] % 4; },
        [&](uint32_t group) {
          ForEachLane(group, [&](uint32_t lane) { result[lane] = (any ? 256 : 0) | Count(group); });
        });
    const uint32_t more = Count(Ballot(odd, [&](uint32_t lane) { return result[lane] > 20; }));
    ForEachLane(odd, [&](uint32_t lane) { result[lane] = result[lane] * 2 + more; });
    const bool every = Ballot(even, [&](uint32_t lane) { return value[lane] < 90; }) == even;
    ForEachLane(even, [&](uint32_t lane) { result[lane] = (every ? 1 : 0) + value[First(even)]; });
    ForEachLane(all, [&](uint32_t lane) { value[lane] = result[lane ^ 1] + result[lane]; });
  });
}

void CollectiveAcrossArms(Call& call) {
  ForEachWarp(call, [&](uint32_t, uint32_t first, uint32_t) {
    const auto value = call.In<uint32_t>(0).subspan(first, 32);
    const auto in_first = [&](uint32_t lane) { return value[lane] % 3 == 0; };
    const uint32_t votes =
        Ballot(~0u, [&](uint32_t lane) { return in_first(lane) ? value[lane] > 50 : value[lane] < 20; });
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t from = lane ^ 1, got = in_first(from) ? value[from] * 2 : value[from] + 7;
      call.Out<uint32_t>(1)[2 * (first + lane)] = in_first(lane) ? got + 1000 : got * 3;
      call.Out<uint32_t>(1)[2 * (first + lane) + 1] = votes;
    }
  });
}

void CollectivesInTrips(Call& call) {
  OnWarps(call, [](Lanes& value, uint32_t all) {
    Lanes sum{};
    for (uint32_t t = 0; t < 13; ++t) {
      const uint32_t members = Ballot(all, [&](uint32_t lane) { return t < value[lane] % 13; });
      ForEachLane(members, [&](uint32_t lane) {
        const uint32_t above = lane == 31 ? 0 : members & ~0u << (lane + 1);
        sum[lane] = sum[lane] * 3 + value[First(above != 0 ? above : members)] + t + (Count(members) << t);
      });
    }
    for (uint32_t lane = 0; lane < 32; ++lane) value[lane] = sum[lane] + sum[31 - lane];
  });
}

uint32_t SwitchWay(uint32_t way, uint32_t members, uint32_t lane, const Lanes& value) {
  const uint32_t own = value[lane];
  switch (way) {
    case 0:
      return value[First(members)] + 1;
    case 1:
      return own ^ Ballot(members, [&](uint32_t l) { return value[l] & 2; });
    case 2:
      return own * 3 + Count(members);
    case 3:
      return own + (Has(members, 5) ? 17 : 0);
    case 4:
      return own - (members >> 16 << 16 == members ? 10 : 1);
    case 5:
      return std::rotl(own, 1) +
             Count(Ballot(members, [&](uint32_t l) { return value[l] / 16 == own / 16; }));
    case 6:
      return ~value[Last(members)];
    default:
      return own + 1;
  }
}

void CollectivesInSwitch(Call& call) {
  OnWarps(call, [&](Lanes& value, uint32_t all) {
    for (uint32_t s = 0; s < call.Value<uint32_t>(2); ++s) {
      const Lanes before = value;
      const auto way = [&](uint32_t lane) { return (before[lane] + s) % 8; };
      ForEachGroup(all, way, [&](uint32_t group) {
        ForEachLane(group, [&](uint32_t lane) { value[lane] = SwitchWay(way(lane), group, lane, before); });
      });
    }
  });
}

void CollectivesAfterExits(Call& call) {
  OnWarps(call, [](Lanes& value, uint32_t all) {
    uint32_t members = all;
    for (uint32_t r = 0; r < 6; ++r) {
      const uint32_t leaving = Ballot(members, [&](uint32_t lane) { return (value[lane] >> r) % 4 == 3; });
      ForEachLane(leaving, [&](uint32_t lane) { value[lane] += leaving; });
      members &= ~leaving;
      if (members == 0) return;
      const uint32_t first = value[First(members)];
      ForEachLane(members, [&](uint32_t lane) {
        value[lane] = (value[lane] + first + r) ^ (Has(members, 0) ? 0x40 : 0);
      });
    }
    ForEachLane(members, [&](uint32_t lane) { value[lane] *= 2; });
  });
}

void SumByHalves(Lanes& value, uint32_t members, uint32_t depth) {
  uint32_t sum = 0, lower = 0;
  ForEachLane(members, [&](uint32_t lane) { sum += value[lane]; });
  if (Count(members) == 1) {
    value[First(members)] = sum * depth;
    return;
  }
  ForEachLane(members, [&](uint32_t lane) {
    if (Count(lower) < Count(members) / 2) lower |= 1u << lane;
  });
  const uint32_t upper = members & ~lower;
  ForEachLane(lower, [&](uint32_t lane) { ++value[lane]; });
  ForEachLane(upper, [&](uint32_t lane) { value[lane] *= 2; });
  SumByHalves(value, lower, depth + 1);
  SumByHalves(value, upper, depth + 2);
  ForEachLane(lower, [&](uint32_t lane) { value[lane] += sum; });
  ForEachLane(upper, [&](uint32_t lane) { value[lane] ^= sum; });
}

void RecursiveCollectives(Call& call) {
  OnWarps(call, [](Lanes& value, uint32_t all) {
    const uint32_t odd = Ballot(all, [&](uint32_t lane) { return value[lane] & 1; }), even = all & ~odd;
    ForEachLane(even, [&](uint32_t lane) { value[lane] += 5; });
    if (odd != 0) SumByHalves(value, odd, 1);
    if (even != 0) SumByHalves(value, even, 3);
  });
}

uint32_t Exchange(uint32_t choice, uint32_t members, uint32_t lane, const Lanes& value) {
  switch (choice) {
    case 0:
      return value[First(members)];
    case 1:
      return value[lane] + Count(Ballot(members, [&](uint32_t l) { return value[l] % 2 == 0; }));
    case 2:
      return value[lane] * 3 +
             Count(Ballot(members, [&](uint32_t l) { return value[l] % 5 == value[lane] % 5; }));
    default:
      return value[First(members)] + value[Last(members)] * 2;
  }
}

void IndirectCollectives(Call& call) {
  OnWarps(call, [&](Lanes& value, uint32_t all) {
    for (uint32_t r = 0; r < call.Value<uint32_t>(2); ++r) {
      const Lanes before = value;
      const auto choice = [&](uint32_t lane) { return (before[lane] / 4 + r) % 4; };
      ForEachGroup(all, choice, [&](uint32_t group) {
        ForEachLane(group,
                    [&](uint32_t lane) { value[lane] = Exchange(choice(lane), group, lane, before) + r; });
      });
    }
  });
}

void Rotate(std::vector<uint32_t>& words, uint32_t depth) {
  const auto size = static_cast<uint32_t>(words.size());
  const std::vector<uint32_t> before = words;
  for (uint32_t t = 0; t < size; ++t) words[t] = before[t] * 3 + before[(t + depth) % size];
  if (depth == 0) return;
  Rotate(words, depth - 1);
  const std::vector<uint32_t> after = words;
  for (uint32_t t = 0; t < size; ++t) words[t] = after[t] ^ after[size - 1 - t];
}

void BarriersInCalls(Call& call) {
  const uint32_t threads = call.block[0];
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto from = call.In<uint32_t>(0).begin() + b * threads;
    std::vector<uint32_t> words(from, from + threads);
    Rotate(words, call.Value<uint32_t>(2) + b % 2);
    std::copy(words.begin(), words.end(), call.Out<uint32_t>(1).begin() + b * threads);
  }
}

void BranchTableCollectives(Call& call) {
  OnWarps(call, [&](Lanes& value, uint32_t all) {
    for (uint32_t r = 0; r < call.Value<uint32_t>(2); ++r) {
      const Lanes before = value;
      const auto way = [&](uint32_t lane) { return (before[lane] + r) % 5; };
      ForEachGroup(all, way, [&](uint32_t group) {
        const uint32_t chosen = way(First(group)), added = chosen >= 3 ? 11 : 0;
        const uint32_t odd = Ballot(group, [&](uint32_t lane) { return (before[lane] + added) & 1; });
        ForEachLane(group, [&](uint32_t lane) {
          const uint32_t own = before[lane];
          value[lane] = r + (chosen == 0   ? before[First(group)]
                             : chosen == 1 ? own * 3 + Count(group)
                                           : own + added + odd);
        });
      });
    }
  });
}

}  // namespace

void AddDivergenceReferences(References& references) {
  references["collectives_in_arms"] = CollectivesInArms;
  references["collective_across_arms"] = CollectiveAcrossArms;
  references["collectives_in_trips"] = CollectivesInTrips;
  references["collectives_in_switch"] = CollectivesInSwitch;
  references["collectives_after_exits"] = CollectivesAfterExits;
  references["recursive_collectives"] = RecursiveCollectives;
  references["indirect_collectives"] = IndirectCollectives;
  references["barriers_in_calls"] = BarriersInCalls;
  references["branch_table_collectives"] = BranchTableCollectives;
}

}  // namespace corpus
