// runtime/texture on its own; the vectors tests/ptx/tex_* show that it computes an H200's bits.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "runtime/abi/abi.h"

namespace {

// An image of f32 texels whose rows have a gap.
struct Image {
  std::vector<float> texels;
  ptx2cpu_texture texture{};
  Image(uint32_t shape, uint32_t width, uint32_t height, uint32_t slices, uint32_t channels) {
    const size_t row = width * channels + 3;
    texels.resize(row * height * slices);
    std::mt19937 random(1);
    for (float& texel : texels) texel = std::uniform_real_distribution<float>(-9, 9)(random);
    texture.kind = PTX2CPU_KIND_TEXTURE_OBJECT;
    texture.as_float = 1;
    ptx2cpu_image& image = texture.image;
    image.shape = shape;
    image.channel = PTX2CPU_CHANNEL_F32;
    image.channels = channels;
    image.layers = shape == PTX2CPU_SHAPE_3D ? 1 : slices;
    image.levels = 1;
    image.level[0] = {reinterpret_cast<uint8_t*>(texels.data()),
                      width,
                      height,
                      shape == PTX2CPU_SHAPE_3D ? slices : 1,
                      0,
                      row * 4,
                      row * 4 * height};
  }
};

using Words = std::array<uint32_t, 16>;

std::array<float, 4> Fetch(const ptx2cpu_texture& texture, uint32_t fetch, const Words& words,
                           uint64_t sampler = 0) {
  std::array<uint32_t, 4> bits{};
  ptx2cpu_texture_fetch(&texture, sampler, fetch, words.data(), bits.data());
  return std::bit_cast<std::array<float, 4>>(bits);
}

Words Coordinates(float x, float y = 0, float z = 0) {
  return {std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y), std::bit_cast<uint32_t>(z)};
}

}  // namespace

TEST_CASE("the short way of plain fetches gives what the long one gives") {
  std::mt19937 random(2);
  for (uint32_t channels : {1, 2, 4}) {
    for (uint32_t settings = 0; settings < 128; ++settings) {
      const bool bytes = settings >> 6 != 0;
      Image line(PTX2CPU_SHAPE_1D, 7, 1, 1, channels), plane(PTX2CPU_SHAPE_2D, 7, 5, 1, channels);
      for (ptx2cpu_texture* t : {&line.texture, &plane.texture}) {
        t->linear_filter = settings & 1;
        t->image.channel = bytes ? PTX2CPU_CHANNEL_U8 : PTX2CPU_CHANNEL_F32;
        t->normalized = settings >> 1 & 1;
        t->address[0] = settings >> 2 & 3;
        t->address[1] = settings >> 4 & 3;
        for (int i = 0; i < 4; ++i) t->border[i] = 2.0f + static_cast<float>(i);
      }
      const float span = (settings & 2) != 0 ? 1.0f : 8.0f;
      for (int i = 0; i < 200; ++i) {
        std::uniform_real_distribution<float> coordinate(-2 * span, 3 * span);
        const Words words = Coordinates(coordinate(random), coordinate(random));
        // Offsets of zero change nothing, but are not plain; they follow the coordinates.
        Words behind = {words[0]};
        CHECK(Fetch(line.texture, PTX2CPU_GEOMETRY_1D, words) ==
              Fetch(line.texture, PTX2CPU_GEOMETRY_1D | PTX2CPU_FETCH_OFFSET, behind));
        CHECK(Fetch(plane.texture, PTX2CPU_GEOMETRY_2D, words) ==
              Fetch(plane.texture, PTX2CPU_GEOMETRY_2D | PTX2CPU_FETCH_OFFSET, words));
      }
    }
  }
}

TEST_CASE("a sampler's bits replace the texture's settings") {
  Image image(PTX2CPU_SHAPE_2D, 7, 5, 1, 1);
  ptx2cpu_texture other = image.texture;
  other.linear_filter = 1;
  other.address[0] = PTX2CPU_ADDRESS_BORDER;
  other.address[1] = PTX2CPU_ADDRESS_CLAMP;
  other.address[2] = PTX2CPU_ADDRESS_CLAMP;
  image.texture.normalized = 1;
  const uint64_t sampler = PTX2CPU_SAMPLER_PRESENT | PTX2CPU_SAMPLER_LINEAR | PTX2CPU_SAMPLER_UNNORMALIZED |
                           PTX2CPU_ADDRESS_BORDER << 4 | PTX2CPU_ADDRESS_CLAMP << 8 |
                           PTX2CPU_ADDRESS_CLAMP << 12;
  for (float x = -2; x < 9; x += 0.37f) {
    const Words words = Coordinates(x, x / 2);
    CHECK(Fetch(image.texture, PTX2CPU_GEOMETRY_2D, words, sampler) ==
          Fetch(other, PTX2CPU_GEOMETRY_2D, words));
  }
}

TEST_CASE("an unbound texture and an unbound surface") {
  std::array<uint32_t, 4> bits = {1, 2, 3, 4};
  const Words words{};
  ptx2cpu_texture_fetch(nullptr, 0, PTX2CPU_GEOMETRY_2D, words.data(), bits.data());
  CHECK(bits == std::array<uint32_t, 4>{});
  CHECK(ptx2cpu_image_query(0, PTX2CPU_QUERY_WIDTH, 0) == 0);
  CHECK(ptx2cpu_surface_address(nullptr, 0, 0, 0, PTX2CPU_GEOMETRY_2D | 4 << PTX2CPU_ACCESS_BYTES_SHIFT) ==
        0);
}

TEST_CASE("an instruction of another geometry than the texture stays inside its memory") {
  for (uint32_t shape = PTX2CPU_SHAPE_LINEAR; shape <= PTX2CPU_SHAPE_CUBE_LAYERED; ++shape) {
    Image image(shape, 4, 1, shape >= PTX2CPU_SHAPE_CUBE ? 6 : 1, 1);  // ASan sees what goes beyond
    for (uint32_t geometry = PTX2CPU_GEOMETRY_1D; geometry <= PTX2CPU_GEOMETRY_ACUBE; ++geometry) {
      for (uint32_t mode :
           {0u, PTX2CPU_FETCH_INTEGER, PTX2CPU_FETCH_GATHER, PTX2CPU_FETCH_LEVEL, PTX2CPU_FETCH_GRADIENT}) {
        const bool gathers = geometry == PTX2CPU_GEOMETRY_2D || geometry == PTX2CPU_GEOMETRY_A2D ||
                             geometry >= PTX2CPU_GEOMETRY_CUBE;
        if (mode == PTX2CPU_FETCH_GATHER && !gathers) continue;
        for (uint32_t linear : {0, 1}) {
          image.texture.linear_filter = linear;
          image.texture.seamless = linear;
          const float value = Fetch(image.texture, geometry | mode, Coordinates(3.5f, -2.5f, 1.25f))[0];
          CHECK(value == value);
        }
      }
    }
  }
}

TEST_CASE("addresses in a surface") {
  Image image(PTX2CPU_SHAPE_2D_LAYERED, 4, 3, 2, 1);
  ptx2cpu_surface surface{};
  surface.kind = PTX2CPU_KIND_SURFACE_OBJECT;
  surface.image = image.texture.image;
  const auto base = reinterpret_cast<uint64_t>(image.texels.data());
  const uint32_t access = PTX2CPU_GEOMETRY_A2D | 4 << PTX2CPU_ACCESS_BYTES_SHIFT;
  CHECK(ptx2cpu_surface_address(&surface, 8, 2, 1, access) == base + 8 + 2 * 28 + 3 * 28);
  CHECK(ptx2cpu_surface_address(&surface, 16, 0, 0, access) == 0);
  CHECK(ptx2cpu_surface_address(&surface, 0, 3, 0, access) == 0);
  CHECK(ptx2cpu_surface_address(&surface, 0, 0, 2, access) == 0);
  CHECK(ptx2cpu_surface_address(&surface, 2, 0, 0, access) == 1);
  CHECK(ptx2cpu_surface_address(&surface, 400, 9, 9, access | PTX2CPU_ACCESS_CLAMP) ==
        base + 12 + 2 * 28 + 3 * 28);
  const uint32_t texels = PTX2CPU_GEOMETRY_A2D | PTX2CPU_ACCESS_TEXELS;
  CHECK(ptx2cpu_surface_address(&surface, 3, 0, 0, texels) == base + 12);
}
