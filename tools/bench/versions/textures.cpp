// Times of texture fetches, lane by lane and for all lanes of a warp: the functions that kernels call.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <ctime>
#include <random>

#include "runtime/abi/abi.h"
#include "tools/bench/versions/versions.h"

namespace ptx2cpu::bench {

namespace {

constexpr uint32_t kSize = 512, kDepth = 16, kLanes = 32, kWarps = 64;

struct FetchKind {
  const char* name;
  uint32_t shape, geometry, channel, channels;
  bool linear, normalized, centred;
};
constexpr FetchKind kKinds[] = {
    {"2D f32 point", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_F32, 1, false, false, false},
    {"2D f32 point normalised", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_F32, 1, false, true,
     false},
    {"2D u8 point", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_U8, 1, false, false, false},
    {"2D u8x4 point", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_U8, 4, false, false, false},
    {"2D f32 linear at centres", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_F32, 1, true, false,
     true},
    {"2D f32 linear", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_F32, 1, true, false, false},
    {"2D f32x4 linear", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_F32, 4, true, false, false},
    {"2D u8 linear", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_U8, 1, true, false, false},
    {"2D u8x4 linear normalised", PTX2CPU_SHAPE_2D, PTX2CPU_GEOMETRY_2D, PTX2CPU_CHANNEL_U8, 4, true, true,
     false},
    {"3D u8 linear", PTX2CPU_SHAPE_3D, PTX2CPU_GEOMETRY_3D, PTX2CPU_CHANNEL_U8, 1, true, true, false},
    {"memory f32", PTX2CPU_SHAPE_LINEAR, PTX2CPU_GEOMETRY_1D | PTX2CPU_FETCH_INTEGER, PTX2CPU_CHANNEL_F32, 1,
     false, false, false},
};

struct Texture {
  std::vector<float> texels;
  ptx2cpu_texture texture{};

  explicit Texture(const FetchKind& kind)
      : texels(size_t{kSize} * kSize * kind.channels * (kind.shape == PTX2CPU_SHAPE_3D ? kDepth : 1)) {
    std::mt19937 random(1);
    for (float& texel : texels) texel = std::uniform_real_distribution<float>(-9, 9)(random);
    constexpr uint32_t kBytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    const uint64_t row = uint64_t{kSize} * kBytes[kind.channel] * kind.channels;
    const uint32_t height = kind.shape == PTX2CPU_SHAPE_LINEAR ? 1 : kSize,
                   depth = kind.shape == PTX2CPU_SHAPE_3D ? kDepth : 1;
    texture.kind = PTX2CPU_KIND_TEXTURE_OBJECT;
    for (uint32_t& mode : texture.address) mode = PTX2CPU_ADDRESS_CLAMP;
    texture.linear_filter = kind.linear;
    texture.normalized = kind.normalized;
    texture.as_float = 1;
    texture.image = {
        kind.shape,
        kind.channel,
        kind.channels,
        1,
        1,
        {},
        {{reinterpret_cast<uint8_t*>(texels.data()), kSize, height, depth, 0, row, row * height}}};
  }
};

using Words = std::array<uint32_t, 16 * kLanes>;

// Neighbouring lanes read neighbouring texels, as they mostly do.
std::vector<Words> MakeWords(const FetchKind& kind) {
  std::vector<Words> all(kWarps);
  std::mt19937 random(2);
  for (Words& words : all) {
    for (uint32_t d = 0; d < 3; ++d) {
      const float extent = d == 2 ? kDepth : kSize, start = std::uniform_real_distribution<float>(
                                                        0, extent - 33.0f < 0 ? 1 : extent - 33)(random);
      const float unit = kind.normalized ? extent : 1.0f;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const auto step = static_cast<float>(d == 0 ? lane : 0);
        const float at =
            kind.centred ? static_cast<float>(static_cast<int>(start)) + step + 0.5f : start + step * 0.9f;
        const bool integer = (kind.geometry & PTX2CPU_FETCH_INTEGER) != 0;
        words[d * kLanes + lane] = integer ? static_cast<uint32_t>(at) : std::bit_cast<uint32_t>(at / unit);
      }
    }
  }
  return all;
}

double ThreadNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The time of one fetch.
template <typename Body>
double Time(const Body& body) {
  constexpr int kRounds = 9, kRepeats = 20;
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const double before = ThreadNanoseconds();
    for (int i = 0; i < kRepeats; ++i) body();
    times.push_back((ThreadNanoseconds() - before) / (kRepeats * kWarps * kLanes));
  }
  return Median(times);
}

}  // namespace

void PrintTextureTimes() {
  fmt::print("{:<28}{:>12}{:>12}{:>8}   (ns per fetch)\n", "fetch", "by lanes", "by warps", "ratio");
  for (const FetchKind& kind : kKinds) {
    const Texture texture(kind);
    const std::vector<Words> all = MakeWords(kind);
    alignas(64) uint32_t result[4 * kLanes];
    const double lanes = Time([&] {
      for (const Words& words : all) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          const uint32_t mine[3] = {words[lane], words[kLanes + lane], words[2 * kLanes + lane]};
          ptx2cpu_texture_fetch(&texture.texture, 0, kind.geometry, mine, result);
        }
      }
    });
    const double warps = Time([&] {
      for (const Words& words : all)
        ptx2cpu_texture_fetch_lanes(&texture.texture, 0, kind.geometry, ~0u, words.data(), result);
    });
    fmt::print("{:<28}{:>12.2f}{:>12.2f}{:>8.1f}\n", kind.name, lanes, warps, lanes / warps);
  }
}

}  // namespace ptx2cpu::bench
