// Fetches of whole warps give what the same fetches give one by one, in every code that this machine can run.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "runtime/abi/abi.h"
#include "runtime/texture/lanes/fetch.h"
#include "tests/quick.h"

namespace {

using ptx2cpu::texture::FetchOfLanes;
constexpr int kLanes = 32;

struct Code {
  const char* name;
  FetchOfLanes* fetch;
};

std::vector<Code> CodesHere() {
  std::vector<Code> codes = {{"plain", ptx2cpu::texture::plain::FetchLanes}};
#if defined(__x86_64__)
  const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has) codes.push_back({"avx512", ptx2cpu::texture::avx512::FetchLanes});
#endif
  return codes;
}

enum class Content { kModerate, kAnyBits };

// Rows, slices and levels have gaps between them; nothing follows the last texel.
struct Image {
  std::vector<uint8_t> bytes;
  ptx2cpu_texture texture{};

  Image(uint32_t shape, uint32_t channel, uint32_t channels, std::array<uint32_t, 3> size, Content content,
        std::mt19937& random) {
    constexpr uint32_t kBytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    const size_t texel = kBytes[channel] * channels, row = (size[0] + 1) * texel,
                 slice = row * size[1] + texel;
    const bool is_layered = shape >= PTX2CPU_SHAPE_1D_LAYERED;
    bytes.resize(slice * (size[2] - 1) + row * (size[1] - 1) + size[0] * texel);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    if (content == Content::kModerate) MakeModerate(channel, random);
    texture.kind = PTX2CPU_KIND_TEXTURE_OBJECT;
    ptx2cpu_image& image = texture.image;
    image.shape = shape;
    image.channel = channel;
    image.channels = channels;
    image.layers = is_layered ? size[2] : 1;
    image.levels = 1;
    image.level[0] = {bytes.data(), size[0], size[1], is_layered ? 1 : size[2], 0, row, slice};
  }

  void MakeModerate(uint32_t channel, std::mt19937& random) {
    std::uniform_real_distribution<float> moderate(-9, 9);
    if (channel == PTX2CPU_CHANNEL_F32) {
      for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        const float value = random() % 16 == 0 ? 0.0f : moderate(random);
        __builtin_memcpy(&bytes[i], &value, 4);
      }
    }
    if (channel == PTX2CPU_CHANNEL_F16) {
      for (size_t i = 0; i + 2 <= bytes.size(); i += 2) {
        const auto value = static_cast<uint16_t>((random() & 0x8000) | (0x3000 + random() % 0x2000));
        __builtin_memcpy(&bytes[i], &value, 2);
      }
    }
  }
};

float Coordinate(float span, std::mt19937& random) {
  switch (random() % 24) {
    case 0:
      return std::bit_cast<float>(static_cast<uint32_t>(random()));  // anything
    case 1:
      return std::ldexp(static_cast<float>(static_cast<int>(random() % 4096) - 2048),
                        static_cast<int>(random() % 40) - 20);
    case 2:
      return std::array{
          0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-40f, -1e-40f, -1e-30f}[random() % 10];
    case 3:
    case 4:
      return std::floor(std::uniform_real_distribution<float>(-span, 2 * span)(random)) + 0.5f;
    default:
      return std::uniform_real_distribution<float>(-span, 2 * span)(random);
  }
}

struct Question {
  uint32_t fetch, lanes;
  uint64_t sampler = 0;
  alignas(64) uint32_t words[16 * kLanes] = {};
};

void CheckLanes(const Code& code, const ptx2cpu_texture& texture, const Question& q) {
  alignas(64) uint32_t result[4 * kLanes];
  code.fetch(texture, q.fetch, q.lanes, q.words, result);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((q.lanes >> lane & 1) == 0) continue;
    uint32_t words[16], expected[4];
    for (int i = 0; i < 16; ++i) words[i] = q.words[i * kLanes + lane];
    ptx2cpu_texture_fetch(&texture, 0, q.fetch, words, expected);
    for (int c = 0; c < 4; ++c) {
      if (result[c * kLanes + lane] == expected[c]) continue;
      const auto as_float = [](uint32_t bits) { return std::bit_cast<float>(bits); };
      FAIL(code.name << ": fetch " << q.fetch << " lane " << lane << " channel " << c << ": " << std::hex
                     << result[c * kLanes + lane] << " instead of " << expected[c] << std::dec
                     << "; coordinates " << as_float(words[0]) << " " << as_float(words[1]) << " "
                     << as_float(words[2]) << "; shape " << texture.image.shape << " channel type "
                     << texture.image.channel << " x " << texture.image.channels << " linear "
                     << texture.linear_filter << " normalized " << texture.normalized << " as float "
                     << texture.as_float << " modes " << texture.address[0] << texture.address[1]
                     << texture.address[2]);
    }
  }
}

void SetAnyModes(ptx2cpu_texture& t, std::mt19937& random) {
  t.linear_filter = random() % 2;
  t.normalized = random() % 2;
  t.as_float = random() % 2;
  t.seamless = random() % 2;
  t.srgb = random() % 8 == 0 && t.as_float != 0 && t.image.channel == PTX2CPU_CHANNEL_U8;
  for (uint32_t& mode : t.address) mode = random() % 4;
  for (float& border : t.border)
    border = random() % 8 == 0 ? INFINITY : std::uniform_real_distribution<float>(-2, 2)(random);
}

uint32_t AnyFetch(uint32_t geometry, std::mt19937& random) {
  const bool plane = geometry == PTX2CPU_GEOMETRY_2D || geometry == PTX2CPU_GEOMETRY_A2D ||
                     geometry >= PTX2CPU_GEOMETRY_CUBE;
  switch (random() % 8) {
    case 0:
      return geometry | (geometry < PTX2CPU_GEOMETRY_CUBE ? PTX2CPU_FETCH_INTEGER : 0);
    case 1:
      return geometry | PTX2CPU_FETCH_LEVEL;
    case 2:
      return geometry | (geometry < PTX2CPU_GEOMETRY_CUBE ? PTX2CPU_FETCH_OFFSET : 0);
    case 3:
      return geometry | (plane ? PTX2CPU_FETCH_GATHER | (random() % 4) << PTX2CPU_FETCH_CHANNEL_SHIFT : 0);
    default:
      return geometry;
  }
}

void SetWords(Question& q, const ptx2cpu_texture& t, std::mt19937& random) {
  const uint32_t geometry = q.fetch & PTX2CPU_FETCH_GEOMETRY;
  const bool layer = geometry == PTX2CPU_GEOMETRY_A1D || geometry == PTX2CPU_GEOMETRY_A2D ||
                     geometry == PTX2CPU_GEOMETRY_ACUBE;
  const bool integer = (q.fetch & PTX2CPU_FETCH_INTEGER) != 0;
  const auto width = static_cast<float>(t.image.level[0].width);
  const bool centred = random() % 4 == 0;
  for (int i = 0; i < 16; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      float x = Coordinate(t.normalized != 0 ? 1.0f : width, random);
      if (centred)
        x = (std::floor(static_cast<float>(lane) * 0.7f) + 0.5f) / (t.normalized != 0 ? width : 1.0f);
      uint32_t& word = q.words[i * kLanes + lane];
      word = std::bit_cast<uint32_t>(x);
      if (layer && i == 0) word = random() % 8 == 0 ? random() : random() % 6;
      if (integer && !(layer && i == 0)) word = static_cast<uint32_t>(random() % 16) - 3;
      if (integer && random() % 32 == 0) word = random();
      if ((q.fetch & PTX2CPU_FETCH_OFFSET) != 0 && !integer && i > 0 && random() % 2 == 0 && x > 1e6f)
        word = 1;
    }
  }
  q.lanes = random() % 3 == 0   ? ~0u
            : random() % 3 == 0 ? 1u << random() % 32
                                : static_cast<uint32_t>(random());
  if (q.lanes == 0) q.lanes = 7;
}

}  // namespace

TEST_CASE("texture fetches of a warp are those of its lanes, for every shape, format and mode") {
  std::mt19937 random(7);
  Question q;
  for (const Code& code : CodesHere()) {
    for (int round = 0; round < ptx2cpu::test::QuickPart(20000); ++round) {
      const uint32_t shape = random() % 9, channel = random() % 8, channels = 1u << random() % 3;
      std::array<uint32_t, 3> size = {1 + static_cast<uint32_t>(random()) % 12,
                                      1 + static_cast<uint32_t>(random()) % 9, 1};
      if (shape == PTX2CPU_SHAPE_LINEAR || shape == PTX2CPU_SHAPE_1D || shape == PTX2CPU_SHAPE_1D_LAYERED)
        size[1] = 1;
      if (shape == PTX2CPU_SHAPE_3D || shape == PTX2CPU_SHAPE_1D_LAYERED || shape == PTX2CPU_SHAPE_2D_LAYERED)
        size[2] = 1 + random() % 5;
      if (shape >= PTX2CPU_SHAPE_CUBE) size = {size[0], size[0], shape == PTX2CPU_SHAPE_CUBE ? 6u : 12u};
      Image image(shape, channel, channels, size, random() % 3 == 0 ? Content::kAnyBits : Content::kModerate,
                  random);
      SetAnyModes(image.texture, random);
      q.fetch = AnyFetch(random() % 7, random);
      SetWords(q, image.texture, random);
      CheckLanes(code, image.texture, q);
    }
  }
}

TEST_CASE("texture fetches of a warp in long lines") {
  std::mt19937 random(8);
  Question q;
  for (const Code& code : CodesHere()) {
    for (uint32_t width : {8192u, 8193u, 131072u, 1u << 20, (1u << 20) + 1}) {
      Image image(PTX2CPU_SHAPE_1D, PTX2CPU_CHANNEL_U16, 1, {width, 1, 1}, Content::kAnyBits, random);
      for (int round = 0; round < 300; ++round) {
        SetAnyModes(image.texture, random);
        q.fetch = PTX2CPU_GEOMETRY_1D;
        SetWords(q, image.texture, random);
        CheckLanes(code, image.texture, q);
      }
    }
  }
}

TEST_CASE("lanes of a warp with textures of their own, and a sampler") {
  std::mt19937 random(9);
  Image a(PTX2CPU_SHAPE_2D, PTX2CPU_CHANNEL_F32, 1, {7, 5, 1}, Content::kModerate, random);
  Image b(PTX2CPU_SHAPE_2D, PTX2CPU_CHANNEL_U8, 4, {4, 4, 1}, Content::kAnyBits, random);
  b.texture.as_float = 1;
  const uint64_t sampler = PTX2CPU_SAMPLER_PRESENT | PTX2CPU_SAMPLER_LINEAR | PTX2CPU_ADDRESS_CLAMP << 4 |
                           PTX2CPU_ADDRESS_BORDER << 8;
  Question q;
  q.fetch = PTX2CPU_GEOMETRY_2D;
  for (int round = 0; round < 100; ++round) {
    SetWords(q, a.texture, random);
    std::array<uint64_t, kLanes> textures{};
    for (uint64_t& texture : textures) {
      const ptx2cpu_texture* one = random() % 5 == 0 ? nullptr : random() % 2 == 0 ? &a.texture : &b.texture;
      texture = reinterpret_cast<uint64_t>(one);
    }
    const uint64_t used = round % 2 == 0 ? sampler : 0;
    alignas(64) uint32_t result[4 * kLanes];
    std::ranges::fill(result, 77u);
    ptx2cpu_texture_fetch_each(textures.data(), used, q.fetch, q.lanes, q.words, result);
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t expected[4] = {77, 77, 77, 77}, words[2] = {q.words[lane], q.words[kLanes + lane]};
      if ((q.lanes >> lane & 1) != 0)
        ptx2cpu_texture_fetch(reinterpret_cast<const ptx2cpu_texture*>(textures[static_cast<size_t>(lane)]),
                              used, q.fetch, words, expected);
      for (int c = 0; c < 4; ++c) CHECK(result[c * kLanes + lane] == expected[c]);
    }
  }
}
