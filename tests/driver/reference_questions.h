// Questions about texture references: see memory_questions.h.
#pragma once

#include "array_questions.h"

namespace memory_questions {

inline void AskReferences(Answers& a) {
  CUtexref r = nullptr;
  a.Add("reference create null", cuTexRefCreate(nullptr));
  a.Add("reference create", cuTexRefCreate(&r));
  if (r == nullptr) return;
  CUarray plane = nullptr, got = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR s = Shape(8, 4, 0, 0, 2);
  cuArray3DCreate(&plane, &s);
  CUmipmappedArray mipmap = nullptr, got_mipmap = nullptr;
  cuMipmappedArrayCreate(&mipmap, &s, 2);
  CUdeviceptr memory = 0, address = 0;
  cuMemAlloc(&memory, 4096);
  CUaddress_mode mode = CU_TR_ADDRESS_MODE_WRAP;
  CUfilter_mode filter = CU_TR_FILTER_MODE_POINT;
  CUarray_format format = CU_AD_FORMAT_UNSIGNED_INT8;
  int channels = 0, anisotropy = -1;
  unsigned flags = 77;
  float bias = -1, low = -1, high = -1, border[4] = {-1, -1, -1, -1};
  size_t offset = 77;
  auto state = [&](const std::string& label) {
    channels = 0;
    a.Add("reference format " + label, cuTexRefGetFormat(&format, &channels, r), format, channels);
    a.Add("reference flags " + label, cuTexRefGetFlags(&flags, r), flags);
    a.Add("reference address " + label, cuTexRefGetAddress(&address, r), address - memory);
    a.Add("reference array " + label, cuTexRefGetArray(&got, r), got == plane);
    a.Add("reference mipmap " + label, cuTexRefGetMipmappedArray(&got_mipmap, r), got_mipmap == mipmap);
  };
  for (int dim = -1; dim <= 3; ++dim)
    a.Add("reference mode " + std::to_string(dim), cuTexRefGetAddressMode(&mode, r, dim), mode);
  a.Add("reference filter", cuTexRefGetFilterMode(&filter, r), filter);
  a.Add("reference mip filter", cuTexRefGetMipmapFilterMode(&filter, r), filter);
  a.Add("reference bias", cuTexRefGetMipmapLevelBias(&bias, r), bias);
  a.Add("reference clamp", cuTexRefGetMipmapLevelClamp(&low, &high, r), low, high);
  a.Add("reference anisotropy", cuTexRefGetMaxAnisotropy(&anisotropy, r), anisotropy);
  a.Add("reference border", cuTexRefGetBorderColor(border, r), border[0], border[3]);
  state("at first");
  a.Add("reference set format", cuTexRefSetFormat(r, CU_AD_FORMAT_SIGNED_INT16, 4));
  state("set");
  a.Add("reference set format, 3 channels", cuTexRefSetFormat(r, CU_AD_FORMAT_FLOAT, 3));
  a.Add("reference set format 5", cuTexRefSetFormat(r, static_cast<CUarray_format>(5), 1));
  for (int dim = -1; dim <= 3; ++dim)
    a.Add("reference set mode " + std::to_string(dim),
          cuTexRefSetAddressMode(r, dim, CU_TR_ADDRESS_MODE_MIRROR));
  for (int dim = 0; dim <= 2; ++dim)
    a.Add("reference mode set " + std::to_string(dim), cuTexRefGetAddressMode(&mode, r, dim), mode);
  a.Add("reference set mode 4", cuTexRefSetAddressMode(r, 0, static_cast<CUaddress_mode>(4)));
  a.Add("reference set filter 2", cuTexRefSetFilterMode(r, static_cast<CUfilter_mode>(2)));
  a.Add("reference set filter", cuTexRefSetFilterMode(r, CU_TR_FILTER_MODE_LINEAR));
  a.Add("reference set flags 3",
        cuTexRefSetFlags(r, CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_READ_AS_INTEGER));
  a.Add("reference set flags unknown", cuTexRefSetFlags(r, 0x1000));
  a.Add("reference set anisotropy", cuTexRefSetMaxAnisotropy(r, 8));
  a.Add("reference set bias", cuTexRefSetMipmapLevelBias(r, 2.0f));
  a.Add("reference set clamp", cuTexRefSetMipmapLevelClamp(r, 1.0f, 3.0f));
  a.Add("reference clamp set", cuTexRefGetMipmapLevelClamp(&low, &high, r), low, high);
  float colour[4] = {1, 2, 3, 4};
  a.Add("reference set border", cuTexRefSetBorderColor(r, colour));
  a.Add("reference border set", cuTexRefGetBorderColor(border, r), border[0], border[3]);
  cuTexRefSetFormat(r, CU_AD_FORMAT_FLOAT, 1);
  a.Add("reference bind", cuTexRefSetAddress(&offset, r, memory, 1024), offset);
  state("bound");
  a.Add("reference bind with offset", cuTexRefSetAddress(&offset, r, memory + 20, 1024), offset);
  state("bound with offset");
  a.Add("reference bind with offset, not told", cuTexRefSetAddress(nullptr, r, memory + 20, 1024));
  a.Add("reference bind, offset not told", cuTexRefSetAddress(nullptr, r, memory, 1024));
  a.Add("reference bind past the end", cuTexRefSetAddress(&offset, r, memory, 8192));
  a.Add("reference bind nothing", cuTexRefSetAddress(&offset, r, memory, 0));
  a.Add("reference bind nowhere", cuTexRefSetAddress(&offset, r, 512, 64));
  a.Add("reference bind null", cuTexRefSetAddress(&offset, r, 0, 0));
  CUDA_ARRAY_DESCRIPTOR d = {};
  d.Width = 8, d.Height = 4, d.Format = CU_AD_FORMAT_UNSIGNED_INT8, d.NumChannels = 2;
  a.Add("reference bind 2d", cuTexRefSetAddress2D(r, &d, memory, 64));
  state("bound 2d");
  a.Add("reference bind 2d, pitch 48", cuTexRefSetAddress2D(r, &d, memory, 48));
  a.Add("reference bind 2d, pitch small", cuTexRefSetAddress2D(r, &d, memory, 0));
  a.Add("reference bind 2d, offset 256", cuTexRefSetAddress2D(r, &d, memory + 256, 64));
  a.Add("reference bind array, flags 0", cuTexRefSetArray(r, plane, 0));
  a.Add("reference bind array", cuTexRefSetArray(r, plane, CU_TRSA_OVERRIDE_FORMAT));
  state("bound to array");
  a.Add("reference bind no array", cuTexRefSetArray(r, nullptr, CU_TRSA_OVERRIDE_FORMAT));
  a.Add("reference bind mipmap", cuTexRefSetMipmappedArray(r, mipmap, CU_TRSA_OVERRIDE_FORMAT));
  state("bound to mipmap");
  a.Add("reference destroy", cuTexRefDestroy(r));
  a.Add("reference destroy null", cuTexRefDestroy(nullptr));
  cuMemFree(memory);
  cuMipmappedArrayDestroy(mipmap);
  cuArrayDestroy(plane);
}

// What came up while building: arrays and views that need a second look.
inline void AskViews(Answers& a) {
  CUDA_TEXTURE_DESC t = {};
  auto ask = [&](const std::string& label, const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels,
                 auto change) {
    CUDA_RESOURCE_DESC r = {};
    CUDA_RESOURCE_VIEW_DESC v = {};
    CUarray array = nullptr;
    CUmipmappedArray mipmap = nullptr;
    if (levels == 0) {
      cuArray3DCreate(&array, &shape);
      r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = array;
    } else {
      cuMipmappedArrayCreate(&mipmap, &shape, levels);
      r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, r.res.mipmap.hMipmappedArray = mipmap;
    }
    v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, v.width = shape.Width, v.height = shape.Height,
    v.depth = shape.Depth;
    change(v);
    CUtexObject texture = 0;
    a.Add("view of " + label, cuTexObjectCreate(&texture, &r, &t, &v));
    cuTexObjectDestroy(texture);
    if (array != nullptr) cuArrayDestroy(array);
    if (mipmap != nullptr) cuMipmappedArrayDestroy(mipmap);
  };
  using V = CUDA_RESOURCE_VIEW_DESC;
  const CUDA_ARRAY3D_DESCRIPTOR line = Shape(8, 0, 0), layers = Shape(8, 4, 3, CUDA_ARRAY3D_LAYERED),
                                deep = Shape(8, 4, 2), flat = Shape(8, 4, 0),
                                cube = Shape(8, 8, 6, CUDA_ARRAY3D_CUBEMAP);
  ask("1d", line, 0, [](V&) {});
  ask("1d, height 1", line, 0, [](V& v) { v.height = 1; });
  ask("layers", layers, 0, [](V&) {});
  ask("layers, depth 0", layers, 0, [](V& v) { v.depth = 0; });
  ask("layers 0 to 2", layers, 0, [](V& v) { v.lastLayer = 2; });
  ask("layers 1 to 2", layers, 0, [](V& v) { v.firstLayer = 1, v.lastLayer = 2; });
  ask("layers 1 to 2, depth 2", layers, 0, [](V& v) { v.firstLayer = 1, v.lastLayer = 2, v.depth = 2; });
  ask("layers 0 to 3", layers, 0, [](V& v) { v.lastLayer = 3; });
  ask("layers 2 to 1", layers, 0, [](V& v) { v.firstLayer = 2, v.lastLayer = 1; });
  ask("3d", deep, 0, [](V&) {});
  ask("3d, depth 0", deep, 0, [](V& v) { v.depth = 0; });
  ask("cube", cube, 0, [](V&) {});
  ask("cube, depth 0", cube, 0, [](V& v) { v.depth = 0; });
  ask("cube, layers 0 to 5", cube, 0, [](V& v) { v.lastLayer = 5; });
  ask("mipmap", flat, 3, [](V&) {});
  ask("mipmap, levels 0 to 2", flat, 3, [](V& v) { v.lastMipmapLevel = 2; });
  ask("mipmap, levels 1 to 2", flat, 3, [](V& v) { v.firstMipmapLevel = 1, v.lastMipmapLevel = 2; });
  ask("mipmap, levels 1 to 2, size of level 1", flat, 3,
      [](V& v) { v.firstMipmapLevel = 1, v.lastMipmapLevel = 2, v.width = 4, v.height = 2; });
  ask("mipmap, levels 0 to 3", flat, 3, [](V& v) { v.lastMipmapLevel = 3; });
  ask("mipmap, levels 2 to 1", flat, 3, [](V& v) { v.firstMipmapLevel = 2, v.lastMipmapLevel = 1; });
}

}  // namespace memory_questions
