// The structures that texture and surface handles point to.
#include <catch2/catch.hpp>
#include <cstring>

#include "memory_context.h"
#include "runtime/abi/texture.h"

namespace driver_memory_test {

namespace {

CUDA_ARRAY3D_DESCRIPTOR Shape(size_t width, size_t height, size_t depth, unsigned flags,
                              CUarray_format format, unsigned channels) {
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = width, d.Height = height, d.Depth = depth, d.Flags = flags, d.Format = format,
  d.NumChannels = channels;
  return d;
}

const ptx2cpu_texture& Behind(CUtexObject handle) {
  return *reinterpret_cast<const ptx2cpu_texture*>(handle);
}

}  // namespace

TEST_CASE("textures: arrays of every shape", "[memory]") {
  UseContext();
  struct Case {
    CUDA_ARRAY3D_DESCRIPTOR shape;
    uint32_t is, channel, layers, height, depth;
  };
  const Case cases[] = {
      {Shape(8, 0, 0, 0, CU_AD_FORMAT_FLOAT, 1), PTX2CPU_SHAPE_1D, PTX2CPU_CHANNEL_F32, 1, 1, 1},
      {Shape(8, 4, 0, 0, CU_AD_FORMAT_SIGNED_INT8, 2), PTX2CPU_SHAPE_2D, PTX2CPU_CHANNEL_S8, 1, 4, 1},
      {Shape(8, 4, 3, 0, CU_AD_FORMAT_HALF, 4), PTX2CPU_SHAPE_3D, PTX2CPU_CHANNEL_F16, 1, 4, 3},
      {Shape(8, 0, 5, CUDA_ARRAY3D_LAYERED, CU_AD_FORMAT_UNSIGNED_INT16, 1), PTX2CPU_SHAPE_1D_LAYERED,
       PTX2CPU_CHANNEL_U16, 5, 1, 1},
      {Shape(8, 4, 5, CUDA_ARRAY3D_LAYERED, CU_AD_FORMAT_SIGNED_INT32, 1), PTX2CPU_SHAPE_2D_LAYERED,
       PTX2CPU_CHANNEL_S32, 5, 4, 1},
      {Shape(8, 8, 6, CUDA_ARRAY3D_CUBEMAP, CU_AD_FORMAT_UNSIGNED_INT32, 1), PTX2CPU_SHAPE_CUBE,
       PTX2CPU_CHANNEL_U32, 6, 8, 1},
      {Shape(8, 8, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, CU_AD_FORMAT_UNSIGNED_INT8, 1),
       PTX2CPU_SHAPE_CUBE_LAYERED, PTX2CPU_CHANNEL_U8, 12, 8, 1},
      {Shape(8, 4, 0, 0, CU_AD_FORMAT_SNORM_INT16X2, 2), PTX2CPU_SHAPE_2D, PTX2CPU_CHANNEL_S16, 1, 4, 1},
  };
  for (const Case& c : cases) {
    CUarray array = nullptr;
    REQUIRE(cuArray3DCreate_v2(&array, &c.shape) == CUDA_SUCCESS);
    CUDA_RESOURCE_DESC r = {};
    CUDA_TEXTURE_DESC t = {};
    r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = array;
    t.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER, t.filterMode = CU_TR_FILTER_MODE_LINEAR,
    t.borderColor[2] = 0.5f;
    t.flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES;
    t.minMipmapLevelClamp = 1, t.maxMipmapLevelClamp = 2;
    CUtexObject texture = 0;
    REQUIRE(cuTexObjectCreate(&texture, &r, &t, nullptr) == CUDA_SUCCESS);
    const ptx2cpu_texture& seen = Behind(texture);
    CHECK(seen.kind == PTX2CPU_KIND_TEXTURE_OBJECT);
    CHECK(seen.image.shape == c.is);
    CHECK(seen.image.channel == c.channel);
    CHECK(seen.image.channels == c.shape.NumChannels);
    CHECK(seen.image.layers == c.layers);
    CHECK(seen.image.levels == 1);
    CHECK(seen.image.level[0].width == c.shape.Width);
    CHECK(seen.image.level[0].height == c.height);
    CHECK(seen.image.level[0].depth == c.depth);
    CHECK(seen.image.level[0].slice == seen.image.level[0].pitch * c.height);
    CHECK(seen.address[0] == PTX2CPU_ADDRESS_WRAP);
    CHECK(seen.address[1] == PTX2CPU_ADDRESS_BORDER);
    CHECK(seen.linear_filter == 1);
    CHECK(seen.normalized == 1);
    CHECK(seen.as_float ==
          (c.shape.Format == CU_AD_FORMAT_SNORM_INT16X2 ? 1u : 0u));  // the format itself is normalised
    CHECK(seen.border[2] == 0.5f);
    CHECK(seen.max_lod == 0.0f);  // one level
    // The image is where copies put it.
    if (c.is == PTX2CPU_SHAPE_3D) {
      std::vector<unsigned char> bytes(8 * 4 * 3 * 8);
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
      CUDA_MEMCPY3D copy = {};
      copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = bytes.data(),
      copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
      copy.WidthInBytes = 64, copy.Height = 4, copy.Depth = 3;
      REQUIRE(cuMemcpy3D_v2(&copy) == CUDA_SUCCESS);
      const ptx2cpu_image_level& level = seen.image.level[0];
      CHECK(std::memcmp(level.base + 2 * level.slice + 3 * level.pitch + 5 * 8, &bytes[(2 * 4 + 3) * 64 + 40],
                        8) == 0);
    }
    CHECK(cuTexObjectDestroy(texture) == CUDA_SUCCESS);
    CHECK(cuTexObjectDestroy(texture) == CUDA_ERROR_INVALID_VALUE);
    CUsurfObject surface = 0;
    REQUIRE(cuSurfObjectCreate(&surface, &r) == CUDA_SUCCESS);
    CHECK(reinterpret_cast<const ptx2cpu_surface*>(surface)->kind == PTX2CPU_KIND_SURFACE_OBJECT);
    CHECK(reinterpret_cast<const ptx2cpu_surface*>(surface)->image.shape == c.is);
    CHECK(cuSurfObjectDestroy(surface) == CUDA_SUCCESS);
    cuArrayDestroy(array);
  }
}

TEST_CASE("textures: bytes read as floats unless the program wants integers", "[memory]") {
  UseContext();
  CUdeviceptr memory = 0;
  REQUIRE(cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS);
  CUDA_RESOURCE_DESC r = {};
  r.resType = CU_RESOURCE_TYPE_PITCH2D;
  r.res.pitch2D = {memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 16, 8, 64};
  CUDA_TEXTURE_DESC t = {};
  t.flags = CU_TRSF_SRGB;
  CUtexObject texture = 0;
  REQUIRE(cuTexObjectCreate(&texture, &r, &t, nullptr) == CUDA_SUCCESS);
  CHECK(Behind(texture).as_float == 1);
  CHECK(Behind(texture).srgb == 1);
  CHECK(Behind(texture).image.shape == PTX2CPU_SHAPE_PITCH);
  CHECK(Behind(texture).image.level[0].pitch == 64);
  CHECK(Behind(texture).image.level[0].base == reinterpret_cast<uint8_t*>(memory));
  cuTexObjectDestroy(texture);
  r.resType = CU_RESOURCE_TYPE_LINEAR;
  r.res.linear = {memory, CU_AD_FORMAT_SIGNED_INT16, 2, 4090};
  t.flags = CU_TRSF_READ_AS_INTEGER;
  REQUIRE(cuTexObjectCreate(&texture, &r, &t, nullptr) == CUDA_SUCCESS);
  CHECK(Behind(texture).as_float == 0);
  CHECK(Behind(texture).image.shape == PTX2CPU_SHAPE_LINEAR);
  CHECK(Behind(texture).image.level[0].width == 1022);  // whole texels
  cuTexObjectDestroy(texture);
  cuMemFree_v2(memory);
}

TEST_CASE("textures: views take a part and another format", "[memory]") {
  UseContext();
  const CUDA_ARRAY3D_DESCRIPTOR layers = Shape(8, 4, 5, CUDA_ARRAY3D_LAYERED, CU_AD_FORMAT_FLOAT, 1);
  CUmipmappedArray mipmap = nullptr;
  REQUIRE(cuMipmappedArrayCreate(&mipmap, &layers, 4) == CUDA_SUCCESS);
  CUDA_RESOURCE_DESC r = {};
  CUDA_TEXTURE_DESC t = {};
  r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, r.res.mipmap.hMipmappedArray = mipmap;
  t.maxMipmapLevelClamp = 9, t.mipmapLevelBias = 0.25f, t.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  CUtexObject whole = 0, part = 0;
  REQUIRE(cuTexObjectCreate(&whole, &r, &t, nullptr) == CUDA_SUCCESS);
  CUDA_RESOURCE_VIEW_DESC v = {};
  v.format = CU_RES_VIEW_FORMAT_UINT_2X16, v.width = 8, v.height = 4, v.depth = 5;
  v.firstMipmapLevel = 1, v.lastMipmapLevel = 2, v.firstLayer = 2, v.lastLayer = 3;
  REQUIRE(cuTexObjectCreate(&part, &r, &t, &v) == CUDA_SUCCESS);
  const ptx2cpu_image &all = Behind(whole).image, &some = Behind(part).image;
  CHECK(all.levels == 4);
  CHECK(all.layers == 5);
  CHECK(all.level[2].width == 2);
  CHECK(all.level[2].height == 1);
  CHECK(Behind(whole).max_lod == 9.0f);
  CHECK(Behind(whole).lod_bias == 0.25f);
  CHECK(Behind(whole).linear_mip == 1);
  CHECK(some.levels == 2);
  CHECK(some.layers == 2);
  CHECK(some.channel == PTX2CPU_CHANNEL_U16);
  CHECK(some.channels == 2);
  CHECK(some.level[0].base == all.level[1].base + 2 * all.level[1].slice);
  CHECK(some.level[1].width == all.level[2].width);
  CHECK(Behind(part).as_float == 1);
  CUDA_RESOURCE_VIEW_DESC told = {};
  REQUIRE(cuTexObjectGetResourceViewDesc(&told, part) == CUDA_SUCCESS);
  CHECK(told.lastLayer == 3);
  cuTexObjectDestroy(whole);
  cuTexObjectDestroy(part);
  cuMipmappedArrayDestroy(mipmap);
}

}  // namespace driver_memory_test
