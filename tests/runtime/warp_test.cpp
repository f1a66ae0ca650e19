// Every native variant of the warp collectives against a scalar model written from the PTX pseudo code.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/abi/abi.h"

extern "C" {
#define WARP(result, name, parameters, meaning) \
  result name##_avx512 parameters;              \
  result name##_avx2 parameters;
#include "runtime/warp/collectives.def"
#undef WARP
}

namespace {

struct Collectives {
#define WARP(result, name, parameters, meaning) result(*name) parameters;
#include "runtime/warp/collectives.def"
#undef WARP
};
constexpr Collectives kAvx512 = {
#define WARP(result, name, parameters, meaning) name##_avx512,
#include "runtime/warp/collectives.def"
#undef WARP
};
constexpr Collectives kAvx2 = {
#define WARP(result, name, parameters, meaning) name##_avx2,
#include "runtime/warp/collectives.def"
#undef WARP
};

struct Variant {
  const char* name;
  const Collectives* functions;
};
std::vector<Variant> Variants() {
  std::vector<Variant> result;
  if (__builtin_cpu_supports("avx2")) result.push_back({"avx2", &kAvx2});
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    result.push_back({"avx512", &kAvx512});
  return result;
}

struct alignas(64) Inputs {
  uint32_t value[32], lane[32], clamp[32], members[32];
  uint64_t wide[32];
  float number[32];
  uint8_t predicate[32];
  uint32_t active, mask;
};

Inputs Draw(std::mt19937& random) {
  Inputs in;
  const uint32_t spread = random() % 3 == 0 ? 3 : ~0u;  // few distinct values: matches happen
  const uint32_t clamps[] = {0x1f, 0x0, 0x101f, 0x1800, 0x181f, 0x1c1f, 0x1e1f};
  const uint32_t clamp = clamps[random() % 7];
  in.active = random() % 2 ? ~0u : random() | 1;
  in.mask = in.active & (random() % 2 ? ~0u : random());
  for (int i = 0; i < 32; ++i) {
    in.value[i] = random() & spread;
    in.wide[i] = (uint64_t{random() & spread} << 32) | (random() & spread);
    in.lane[i] = random() % 40;
    in.clamp[i] = clamp;
    in.members[i] = random() % 4 == 0 ? random() : 0xffffu << (i & 16);
    in.predicate[i] = random() & 1;
    const float special[] = {0.0f, -0.0f, NAN, INFINITY, -INFINITY, 1.5f, -2.5f};
    in.number[i] =
        random() % 2 ? special[random() % 7] : static_cast<float>(static_cast<int>(random()) % 1000);
  }
  return in;
}

void CheckShuffle(const char* mode, const Inputs& in,
                  decltype(Collectives::ptx2cpu_warp_shuffle_idx) function) {
  alignas(64) uint32_t out[32];
  alignas(64) uint8_t ok[32];
  function(out, ok, in.value, in.lane, in.clamp);
  for (int lane = 0; lane < 32; ++lane) {
    const int b = in.lane[lane] & 31, c = in.clamp[lane] & 31, segment = in.clamp[lane] >> 8 & 31;
    const int most = (lane & segment) | (c & ~segment), least = lane & segment;
    int j = mode[0] == 'u'   ? lane - b
            : mode[0] == 'd' ? lane + b
            : mode[0] == 'b' ? lane ^ b
                             : least | (b & ~segment);
    const bool valid = mode[0] == 'u' ? j >= most : j <= most;
    if (!valid) j = lane;
    INFO(mode << " lane " << lane);
    REQUIRE(ok[lane] == (valid ? 1 : 0));
    REQUIRE(out[lane] == in.value[j & 31]);
  }
}

uint32_t ReduceModel(const Inputs& in, char op) {
  bool first = true;
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) {
    if (!(in.mask >> i & 1)) continue;
    const uint32_t v = in.value[i];
    const int32_t sv = static_cast<int32_t>(v), sr = static_cast<int32_t>(r);
    r = first       ? v
        : op == '+' ? r + v
        : op == 'a' ? std::min(r, v)
        : op == 'b' ? std::max(r, v)
        : op == 'c' ? static_cast<uint32_t>(std::min(sr, sv))
        : op == 'd' ? static_cast<uint32_t>(std::max(sr, sv))
        : op == '&' ? r & v
        : op == '|' ? r | v
                    : r ^ v;
    first = false;
  }
  return r;
}

}  // namespace

TEST_CASE("warp collectives agree with the scalar model") {
  for (const Variant& variant : Variants()) {
    INFO(variant.name);
    const Collectives& f = *variant.functions;
    std::mt19937 random(7);
    for (int round = 0; round < 3000; ++round) {
      const Inputs in = Draw(random);
      CheckShuffle("idx", in, f.ptx2cpu_warp_shuffle_idx);
      CheckShuffle("up", in, f.ptx2cpu_warp_shuffle_up);
      CheckShuffle("down", in, f.ptx2cpu_warp_shuffle_down);
      CheckShuffle("bfly", in, f.ptx2cpu_warp_shuffle_bfly);

      uint32_t votes = 0;
      for (int i = 0; i < 32; ++i) votes |= uint32_t{in.predicate[i]} << i;
      REQUIRE(f.ptx2cpu_warp_ballot(in.predicate, in.mask, in.active) == (votes & in.mask & in.active));
      alignas(64) uint32_t out[32], out64[32];
      alignas(64) uint8_t all[32], all64[32];
      f.ptx2cpu_warp_ballot_each(out, in.predicate, in.members, in.active);
      for (int i = 0; i < 32; ++i) REQUIRE(out[i] == (votes & in.members[i] & in.active));

      f.ptx2cpu_warp_match_any_b32(out, in.value, in.members, in.active);
      f.ptx2cpu_warp_match_any_b64(out64, in.wide, in.members, in.active);
      for (int i = 0; i < 32; ++i) {
        uint32_t same = 0, same64 = 0;
        for (int j = 0; j < 32; ++j) {
          same |= static_cast<uint32_t>(in.value[i] == in.value[j]) << j;
          same64 |= static_cast<uint32_t>(in.wide[i] == in.wide[j]) << j;
        }
        REQUIRE(out[i] == (same & in.members[i] & in.active));
        REQUIRE(out64[i] == (same64 & in.members[i] & in.active));
      }
      f.ptx2cpu_warp_match_all_b32(out, all, in.value, in.members, in.active);
      f.ptx2cpu_warp_match_all_b64(out64, all64, in.wide, in.members, in.active);
      for (int i = 0; i < 32; ++i) {
        const uint32_t group = in.members[i] & in.active;
        bool equal = true, equal64 = true;
        for (int j = 0; j < 32; ++j) {
          if (group >> j & 1) equal &= in.value[j] == in.value[i], equal64 &= in.wide[j] == in.wide[i];
        }
        REQUIRE(out[i] == (equal ? group : 0));
        REQUIRE(all[i] == (equal ? 1 : 0));
        REQUIRE(out64[i] == (equal64 ? group : 0));
        REQUIRE(all64[i] == (equal64 ? 1 : 0));
      }
      if (in.mask == 0) continue;
      REQUIRE(f.ptx2cpu_warp_reduce_add(in.value, in.mask) == ReduceModel(in, '+'));
      REQUIRE(f.ptx2cpu_warp_reduce_min_u(in.value, in.mask) == ReduceModel(in, 'a'));
      REQUIRE(f.ptx2cpu_warp_reduce_max_u(in.value, in.mask) == ReduceModel(in, 'b'));
      REQUIRE(f.ptx2cpu_warp_reduce_min_s(in.value, in.mask) == ReduceModel(in, 'c'));
      REQUIRE(f.ptx2cpu_warp_reduce_max_s(in.value, in.mask) == ReduceModel(in, 'd'));
      REQUIRE(f.ptx2cpu_warp_reduce_and(in.value, in.mask) == ReduceModel(in, '&'));
      REQUIRE(f.ptx2cpu_warp_reduce_or(in.value, in.mask) == ReduceModel(in, '|'));
      REQUIRE(f.ptx2cpu_warp_reduce_xor(in.value, in.mask) == ReduceModel(in, '^'));
    }
  }
}

TEST_CASE("float reductions order zeros and treat NaN as PTX defines") {
  for (const Variant& variant : Variants()) {
    INFO(variant.name);
    const auto& f = *variant.functions;
    alignas(64) float v[32] = {};
    v[0] = 0.0f, v[1] = -0.0f, v[2] = NAN, v[3] = -3.0f;
    CHECK(std::signbit(f.ptx2cpu_warp_reduce_fmin(v, 0b11, 0, 0)));
    CHECK_FALSE(std::signbit(f.ptx2cpu_warp_reduce_fmax(v, 0b11, 0, 0)));
    CHECK(f.ptx2cpu_warp_reduce_fmin(v, 0b1111, 0, 0) == -3.0f);
    CHECK(f.ptx2cpu_warp_reduce_fmax(v, 0b1111, 1, 0) == 3.0f);
    const float nan = f.ptx2cpu_warp_reduce_fmax(v, 0b1111, 0, 1);
    uint32_t bits;
    std::memcpy(&bits, &nan, 4);
    CHECK(bits == 0x7fffffffu);
    CHECK(std::isnan(f.ptx2cpu_warp_reduce_fmin(v, 0b100, 0, 0)));
  }
}
