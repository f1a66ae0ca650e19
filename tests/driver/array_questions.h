// Questions about arrays, copies of two and three dimensions, textures and surfaces: see memory_questions.h.
#pragma once

#include "memory_questions.h"

namespace memory_questions {

inline CUDA_ARRAY3D_DESCRIPTOR Shape(size_t width, size_t height, size_t depth, unsigned flags = 0,
                                     unsigned channels = 1, CUarray_format format = CU_AD_FORMAT_FLOAT) {
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = width, d.Height = height, d.Depth = depth, d.Flags = flags, d.NumChannels = channels,
  d.Format = format;
  return d;
}

// Creates, asks what it is, destroys.
inline void AskShape(Answers& a, const std::string& label, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR told = {};
  CUresult code = cuArray3DCreate(&array, &shape);
  if (code == CUDA_SUCCESS) code = cuArray3DGetDescriptor(&told, array);
  a.Add("array " + label, code, told.Width, told.Height, told.Depth, told.NumChannels, told.Format,
        told.Flags);
  if (array != nullptr) cuArrayDestroy(array);
}

inline void AskArrays(Answers& a) {
  AskShape(a, "1d", Shape(8, 0, 0));
  AskShape(a, "2d", Shape(8, 4, 0));
  AskShape(a, "3d", Shape(8, 4, 2));
  AskShape(a, "width 0", Shape(0, 4, 2));
  AskShape(a, "height 0, depth 2", Shape(8, 0, 2));
  AskShape(a, "1d layered", Shape(8, 0, 3, CUDA_ARRAY3D_LAYERED));
  AskShape(a, "2d layered", Shape(8, 4, 3, CUDA_ARRAY3D_LAYERED));
  AskShape(a, "layered without layers", Shape(8, 4, 0, CUDA_ARRAY3D_LAYERED));
  AskShape(a, "cube", Shape(8, 8, 6, CUDA_ARRAY3D_CUBEMAP));
  AskShape(a, "cube not square", Shape(8, 4, 6, CUDA_ARRAY3D_CUBEMAP));
  AskShape(a, "cube of 5", Shape(8, 8, 5, CUDA_ARRAY3D_CUBEMAP));
  AskShape(a, "cube of 12", Shape(8, 8, 12, CUDA_ARRAY3D_CUBEMAP));
  AskShape(a, "cube layered", Shape(8, 8, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED));
  AskShape(a, "cube layered of 13", Shape(8, 8, 13, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED));
  AskShape(a, "surface", Shape(8, 4, 0, CUDA_ARRAY3D_SURFACE_LDST));
  AskShape(a, "gather 2d", Shape(8, 4, 0, CUDA_ARRAY3D_TEXTURE_GATHER));
  AskShape(a, "gather 3d", Shape(8, 4, 2, CUDA_ARRAY3D_TEXTURE_GATHER));
  AskShape(a, "gather 1d", Shape(8, 0, 0, CUDA_ARRAY3D_TEXTURE_GATHER));
  AskShape(a, "color attachment", Shape(8, 4, 0, CUDA_ARRAY3D_COLOR_ATTACHMENT));
  AskShape(a, "depth texture", Shape(8, 4, 0, CUDA_ARRAY3D_DEPTH_TEXTURE));
  AskShape(a, "unknown flag", Shape(8, 4, 0, 0x4000));
  AskShape(a, "channels 0", Shape(8, 4, 0, 0, 0));
  AskShape(a, "channels 2", Shape(8, 4, 0, 0, 2));
  AskShape(a, "channels 3", Shape(8, 4, 0, 0, 3));
  AskShape(a, "channels 5", Shape(8, 4, 0, 0, 5));
  AskShape(a, "format 4", Shape(8, 4, 0, 0, 1, static_cast<CUarray_format>(4)));
  AskShape(a, "format 0", Shape(8, 4, 0, 0, 1, static_cast<CUarray_format>(0)));
  AskShape(a, "nv12", Shape(8, 4, 0, 0, 3, CU_AD_FORMAT_NV12));
  AskShape(a, "nv12 1 channel", Shape(8, 4, 0, 0, 1, CU_AD_FORMAT_NV12));
  AskShape(a, "unorm8x4", Shape(8, 4, 0, 0, 4, CU_AD_FORMAT_UNORM_INT8X4));
  AskShape(a, "unorm8x4 1 channel", Shape(8, 4, 0, 0, 1, CU_AD_FORMAT_UNORM_INT8X4));
  AskShape(a, "widest 1d", Shape(131072, 0, 0));
  AskShape(a, "too wide 1d", Shape(131073, 0, 0));
  AskShape(a, "too wide 2d", Shape(131073, 1, 0));
  AskShape(a, "too high 2d", Shape(1, 65537, 0));
  AskShape(a, "too many layers", Shape(1, 1, 2049, CUDA_ARRAY3D_LAYERED));
  CUDA_ARRAY3D_DESCRIPTOR three = Shape(8, 4, 2), told3 = {};
  CUDA_ARRAY_DESCRIPTOR two = {}, told = {};
  two.Width = 8, two.Height = 4, two.Format = CU_AD_FORMAT_SIGNED_INT16, two.NumChannels = 2;
  CUarray array = nullptr, plane = nullptr;
  a.Add("array null shape", cuArray3DCreate(&array, nullptr));
  a.Add("array null handle", cuArray3DCreate(nullptr, &three));
  cuArray3DCreate(&array, &three);
  a.Add("2d descriptor of 3d", cuArrayGetDescriptor(&told, array), told.Width, told.Height);
  a.Add("plane of 3d", cuArrayGetPlane(&plane, array, 0));
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
  CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
  a.Add("requirements", cuArrayGetMemoryRequirements(&needs, array, 0));
  a.Add("sparse properties", cuArrayGetSparseProperties(&sparse, array));
  a.Add("array destroy", cuArrayDestroy(array));
  a.Add("array create 2d", cuArrayCreate(&array, &two));
  a.Add("3d descriptor of 2d", cuArray3DGetDescriptor(&told3, array), told3.Width, told3.Height, told3.Depth,
        told3.Flags, told3.NumChannels, told3.Format);
  a.Add("plane of 2d", cuArrayGetPlane(&plane, array, 0));
  cuArrayDestroy(array);
  two.Height = 0;
  a.Add("array create 1d", cuArrayCreate(&array, &two));
  cuArrayDestroy(array);
  a.Add("array destroy null", cuArrayDestroy(nullptr));
  three = Shape(8, 4, 0, 0, 3, CU_AD_FORMAT_NV12);
  if (cuArray3DCreate(&array, &three) == CUDA_SUCCESS) {
    for (unsigned i = 0; i < 3; ++i) {
      told3 = {};
      CUresult code = cuArrayGetPlane(&plane, array, i);
      if (code == CUDA_SUCCESS) code = cuArray3DGetDescriptor(&told3, plane);
      a.Add("nv12 plane " + std::to_string(i), code, told3.Width, told3.Height, told3.NumChannels,
            told3.Format);
    }
    cuArrayDestroy(array);
  }
}

inline void AskMipmaps(Answers& a) {
  for (const unsigned levels : {0u, 1u, 3u, 4u, 5u, 100u}) {
    CUmipmappedArray mipmap = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR shape = Shape(9, 5, 0);
    const CUresult code = cuMipmappedArrayCreate(&mipmap, &shape, levels);
    a.Add("mipmap of " + std::to_string(levels) + " levels", code);
    for (unsigned level = 0; code == CUDA_SUCCESS && level < 6; ++level) {
      CUarray array = nullptr;
      CUDA_ARRAY3D_DESCRIPTOR told = {};
      CUresult got = cuMipmappedArrayGetLevel(&array, mipmap, level);
      if (got == CUDA_SUCCESS) got = cuArray3DGetDescriptor(&told, array);
      a.Add("level " + std::to_string(level) + " of " + std::to_string(levels), got, told.Width, told.Height,
            told.Depth, told.Flags);
      if (got == CUDA_SUCCESS && level == 0)
        a.Add("destroy level of " + std::to_string(levels), cuArrayDestroy(array));
    }
    if (code == CUDA_SUCCESS)
      a.Add("destroy mipmap of " + std::to_string(levels), cuMipmappedArrayDestroy(mipmap));
  }
  CUmipmappedArray mipmap = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR shape = Shape(8, 4, 3, CUDA_ARRAY3D_LAYERED);
  a.Add("mipmap layered", cuMipmappedArrayCreate(&mipmap, &shape, 3));
  CUarray array = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR told = {};
  cuMipmappedArrayGetLevel(&array, mipmap, 2);
  a.Add("mipmap layered, level 2", cuArray3DGetDescriptor(&told, array), told.Width, told.Height, told.Depth,
        told.Flags);
  CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
  a.Add("mipmap sparse properties", cuMipmappedArrayGetSparseProperties(&sparse, mipmap));
  cuMipmappedArrayDestroy(mipmap);
}

inline void AskArrayCopies(Answers& a) {
  Blocks b;
  char host[4096] = {};
  CUarray line = nullptr, plane = nullptr, bytes = nullptr, deep = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR s = Shape(8, 0, 0);
  cuArray3DCreate(&line, &s);
  s = Shape(8, 4, 0), cuArray3DCreate(&plane, &s);
  s = Shape(32, 4, 0, 0, 1, CU_AD_FORMAT_UNSIGNED_INT8), cuArray3DCreate(&bytes, &s);
  s = Shape(8, 4, 2), cuArray3DCreate(&deep, &s);
  a.Add("h2a", cuMemcpyHtoA(line, 0, host, 32));
  a.Add("h2a past the end", cuMemcpyHtoA(line, 4, host, 32));
  a.Add("h2a offset odd", cuMemcpyHtoA(line, 2, host, 4));
  a.Add("h2a size odd", cuMemcpyHtoA(line, 4, host, 5));
  a.Add("h2a nothing", cuMemcpyHtoA(line, 4, host, 0));
  a.Add("h2a of 2d, row", cuMemcpyHtoA(plane, 0, host, 32));
  a.Add("h2a of 2d, beyond the row", cuMemcpyHtoA(plane, 0, host, 64));
  a.Add("h2a of 2d, second row", cuMemcpyHtoA(plane, 32, host, 32));
  a.Add("h2a of 2d, over the row's end", cuMemcpyHtoA(plane, 16, host, 32));
  a.Add("a2h", cuMemcpyAtoH(host, line, 4, 28));
  a.Add("a2h offset odd", cuMemcpyAtoH(host, line, 1, 8));
  a.Add("a2d", cuMemcpyAtoD(b.device, line, 0, 32));
  a.Add("a2d past", cuMemcpyAtoD(b.device + 4080, line, 0, 32));
  a.Add("d2a", cuMemcpyDtoA(line, 0, b.device, 32));
  a.Add("a2a", cuMemcpyAtoA(line, 0, line, 16, 16));
  a.Add("a2a other element", cuMemcpyAtoA(bytes, 0, line, 0, 16));
  a.Add("a2a 2d to 1d", cuMemcpyAtoA(line, 0, plane, 0, 16));
  a.Add("h2a null", cuMemcpyHtoA(nullptr, 0, host, 16));

  auto two = [&](const std::string& label, auto change) {
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = host, c.srcPitch = 64;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = b.device, c.dstPitch = 128;
    c.WidthInBytes = 60, c.Height = 4;
    change(c);
    a.Add("2d " + label, cuMemcpy2D(&c));
    a.Add("2d unaligned " + label, cuMemcpy2DUnaligned(&c));
    a.Add("2d async " + label, cuMemcpy2DAsync(&c, b.stream));
    cuStreamSynchronize(b.stream);
  };
  using C2 = CUDA_MEMCPY2D;
  two("plain", [](C2&) {});
  two("width 0", [](C2& c) { c.WidthInBytes = 0; });
  two("height 0", [](C2& c) { c.Height = 0; });
  two("from null, width 0", [](C2& c) { c.WidthInBytes = 0, c.srcHost = nullptr, c.dstDevice = 0; });
  two("source pitch small", [](C2& c) { c.srcPitch = 59; });
  two("source pitch 0", [](C2& c) { c.srcPitch = 0; });
  two("both pitches 0", [](C2& c) { c.srcPitch = c.dstPitch = 0; });
  two("pitch 0, one row", [](C2& c) { c.srcPitch = c.dstPitch = 0, c.Height = 1; });
  two("pitch 0, x", [](C2& c) { c.srcPitch = 0, c.srcXInBytes = 4; });
  two("pitch below x + width", [](C2& c) { c.srcXInBytes = 5; });
  two("pitch odd", [](C2& c) { c.dstPitch = 61; });
  two("destination past the end", [](C2& c) { c.dstY = 29; });
  two("destination ends at the end", [](C2& c) { c.dstY = 28, c.dstXInBytes = 68; });
  two("destination pitch huge", [](C2& c) { c.dstPitch = size_t{1} << 32; });
  two("host null", [](C2& c) { c.srcHost = nullptr; });
  two("device null", [](C2& c) { c.dstDevice = 0; });
  two("type 0", [](C2& c) { c.srcMemoryType = static_cast<CUmemorytype>(0); });
  two("type 5", [](C2& c) { c.srcMemoryType = static_cast<CUmemorytype>(5); });
  two("unified to unified",
      [&](C2& c) { c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED, c.srcDevice = Address(host); });
  two("device is pageable", [&](C2& c) { c.dstDevice = Address(b.pageable.data()); });
  two("device is pinned", [&](C2& c) { c.dstDevice = Address(b.pinned); });
  two("host is device", [&](C2& c) { c.srcHost = reinterpret_cast<void*>(b.device); });
  two("to array",
      [&](C2& c) { c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 32; });
  two("to array too wide",
      [&](C2& c) { c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 36; });
  two("to array too high", [&](C2& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 32, c.dstY = 1;
  });
  two("to array x odd", [&](C2& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 8, c.dstXInBytes = 2;
  });
  two("to array width odd",
      [&](C2& c) { c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 6; });
  two("to 1d array", [&](C2& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = line, c.WidthInBytes = 32, c.Height = 1;
  });
  two("to 1d array, two rows", [&](C2& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = line, c.WidthInBytes = 32, c.Height = 2;
  });
  two("to 3d array",
      [&](C2& c) { c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = deep, c.WidthInBytes = 32; });
  two("to no array",
      [&](C2& c) { c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = nullptr, c.WidthInBytes = 32; });
  two("array to array of bytes", [&](C2& c) {
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = plane, c.dstArray = bytes,
    c.WidthInBytes = 32;
  });
  a.Add("2d null", cuMemcpy2D(nullptr));

  auto three = [&](const std::string& label, auto change) {
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = host, c.srcPitch = 64, c.srcHeight = 5;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = b.device, c.dstPitch = 128, c.dstHeight = 4;
    c.WidthInBytes = 60, c.Height = 4, c.Depth = 3;
    change(c);
    a.Add("3d " + label, cuMemcpy3D(&c));
    a.Add("3d async " + label, cuMemcpy3DAsync(&c, b.stream));
    cuStreamSynchronize(b.stream);
  };
  using C3 = CUDA_MEMCPY3D;
  three("plain", [](C3&) {});
  three("depth 0", [](C3& c) { c.Depth = 0; });
  three("width 0", [](C3& c) { c.WidthInBytes = 0; });
  three("source height 0", [](C3& c) { c.srcHeight = 0; });
  three("source height 0, depth 1", [](C3& c) { c.srcHeight = 0, c.Depth = 1; });
  three("source height small", [](C3& c) { c.srcHeight = 3; });
  three("source height below y + height", [](C3& c) { c.srcY = 2; });
  three("source pitch 0", [](C3& c) { c.srcPitch = 0; });
  three("source pitch 0, one row", [](C3& c) { c.srcPitch = 0, c.Height = c.Depth = 1; });
  three("source pitch small", [](C3& c) { c.srcPitch = 59; });
  three("destination past the end", [](C3& c) { c.dstZ = 6; });
  three("level", [](C3& c) { c.srcLOD = 1; });
  three("destination level", [](C3& c) { c.dstLOD = 1; });
  three("reserved", [&](C3& c) { c.reserved0 = host; });
  three("to 3d array", [&](C3& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = deep, c.WidthInBytes = 32, c.Depth = 2;
  });
  three("to 3d array too deep", [&](C3& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = deep, c.WidthInBytes = 32, c.Depth = 3;
  });
  three("to 2d array", [&](C3& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 32, c.Depth = 1;
  });
  three("to 2d array, depth 2", [&](C3& c) {
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = plane, c.WidthInBytes = 32, c.Depth = 2;
  });
  a.Add("3d null", cuMemcpy3D(nullptr));
  for (CUarray array : {line, plane, bytes, deep}) cuArrayDestroy(array);
}

inline void AskTextures(Answers& a) {
  CUarray plane = nullptr, ints = nullptr, writable = nullptr, cube = nullptr, deep = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR s = Shape(8, 4, 0);
  cuArray3DCreate(&plane, &s);
  s = Shape(8, 4, 0, 0, 1, CU_AD_FORMAT_SIGNED_INT32), cuArray3DCreate(&ints, &s);
  s = Shape(8, 4, 0, CUDA_ARRAY3D_SURFACE_LDST), cuArray3DCreate(&writable, &s);
  s = Shape(8, 8, 6, CUDA_ARRAY3D_CUBEMAP), cuArray3DCreate(&cube, &s);
  s = Shape(8, 4, 2), cuArray3DCreate(&deep, &s);
  CUmipmappedArray mipmap = nullptr;
  s = Shape(8, 4, 0), cuMipmappedArrayCreate(&mipmap, &s, 3);
  CUdeviceptr memory = 0;
  cuMemAlloc(&memory, 1 << 16);
  auto ask = [&](const std::string& label, auto change) {
    CUDA_RESOURCE_DESC r = {};
    CUDA_TEXTURE_DESC t = {};
    CUDA_RESOURCE_VIEW_DESC v = {};
    bool view = false;
    r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = plane;
    change(r, t, v, view);
    CUtexObject texture = 0;
    CUresult code = cuTexObjectCreate(&texture, &r, &t, view ? &v : nullptr);
    a.Add("texture " + label, code);
    if (code != CUDA_SUCCESS) return;
    CUDA_RESOURCE_DESC told = {};
    CUDA_TEXTURE_DESC told_t = {};
    CUDA_RESOURCE_VIEW_DESC told_v = {};
    code = cuTexObjectGetResourceDesc(&told, texture);
    a.Add("texture resource " + label, code, told.resType, std::memcmp(&told.res, &r.res, 16) == 0,
          told.flags);
    code = cuTexObjectGetTextureDesc(&told_t, texture);
    a.Add("texture description " + label, code, told_t.addressMode[0], told_t.addressMode[1],
          told_t.addressMode[2], told_t.filterMode, told_t.flags, told_t.maxAnisotropy);
    code = cuTexObjectGetResourceViewDesc(&told_v, texture);
    a.Add("texture view " + label, code, told_v.format, told_v.width, told_v.height);
    a.Add("texture destroy " + label, cuTexObjectDestroy(texture));
  };
  using R = CUDA_RESOURCE_DESC;
  using T = CUDA_TEXTURE_DESC;
  using V = CUDA_RESOURCE_VIEW_DESC;
  ask("plain", [](R&, T&, V&, bool&) {});
  ask("linear filter", [](R&, T& t, V&, bool&) { t.filterMode = CU_TR_FILTER_MODE_LINEAR; });
  ask("normalized", [](R&, T& t, V&, bool&) { t.flags = CU_TRSF_NORMALIZED_COORDINATES; });
  ask("wrap, not normalized", [](R&, T& t, V&, bool&) { t.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP; });
  ask("mirror, not normalized", [](R&, T& t, V&, bool&) { t.addressMode[0] = CU_TR_ADDRESS_MODE_MIRROR; });
  ask("address mode 4", [](R&, T& t, V&, bool&) { t.addressMode[0] = static_cast<CUaddress_mode>(4); });
  ask("filter mode 2", [](R&, T& t, V&, bool&) { t.filterMode = static_cast<CUfilter_mode>(2); });
  ask("flags unknown", [](R&, T& t, V&, bool&) { t.flags = 0x1000; });
  ask("anisotropy 16", [](R&, T& t, V&, bool&) { t.maxAnisotropy = 16; });
  ask("anisotropy 17", [](R&, T& t, V&, bool&) { t.maxAnisotropy = 17; });
  ask("resource flags", [](R& r, T&, V&, bool&) { r.flags = 1; });
  ask("resource type 4", [](R& r, T&, V&, bool&) { r.resType = static_cast<CUresourcetype>(4); });
  ask("no array", [](R& r, T&, V&, bool&) { r.res.array.hArray = nullptr; });
  ask("ints", [&](R& r, T&, V&, bool&) { r.res.array.hArray = ints; });
  ask("ints as integers",
      [&](R& r, T& t, V&, bool&) { r.res.array.hArray = ints, t.flags = CU_TRSF_READ_AS_INTEGER; });
  ask("ints as integers, linear", [&](R& r, T& t, V&, bool&) {
    r.res.array.hArray = ints, t.flags = CU_TRSF_READ_AS_INTEGER, t.filterMode = CU_TR_FILTER_MODE_LINEAR;
  });
  ask("floats as integers", [](R&, T& t, V&, bool&) { t.flags = CU_TRSF_READ_AS_INTEGER; });
  ask("floats as integers, linear", [](R&, T& t, V&, bool&) {
    t.flags = CU_TRSF_READ_AS_INTEGER, t.filterMode = CU_TR_FILTER_MODE_LINEAR;
  });
  ask("mipmap", [&](R& r, T&, V&, bool&) {
    r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, r.res.mipmap.hMipmappedArray = mipmap;
  });
  ask("mipmap normalized", [&](R& r, T& t, V&, bool&) {
    r.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, r.res.mipmap.hMipmappedArray = mipmap,
    t.flags = CU_TRSF_NORMALIZED_COORDINATES;
  });
  ask("cube",
      [&](R& r, T& t, V&, bool&) { r.res.array.hArray = cube, t.flags = CU_TRSF_NORMALIZED_COORDINATES; });
  ask("srgb of floats", [](R&, T& t, V&, bool&) { t.flags = CU_TRSF_SRGB; });
  auto linear = [&](const std::string& label, auto change) {
    ask("linear " + label, [&](R& r, T& t, V& v, bool& view) {
      r.resType = CU_RESOURCE_TYPE_LINEAR;
      r.res.linear.devPtr = memory, r.res.linear.format = CU_AD_FORMAT_FLOAT, r.res.linear.numChannels = 1,
      r.res.linear.sizeInBytes = 4096;
      change(r, t, v, view);
    });
  };
  linear("plain", [](R&, T&, V&, bool&) {});
  linear("offset 4", [](R& r, T&, V&, bool&) { r.res.linear.devPtr += 4; });
  linear("offset 16", [](R& r, T&, V&, bool&) { r.res.linear.devPtr += 16; });
  linear("offset 256", [](R& r, T&, V&, bool&) { r.res.linear.devPtr += 256; });
  linear("offset 512", [](R& r, T&, V&, bool&) { r.res.linear.devPtr += 512; });
  linear("filtered", [](R&, T& t, V&, bool&) { t.filterMode = CU_TR_FILTER_MODE_LINEAR; });
  linear("normalized", [](R&, T& t, V&, bool&) { t.flags = CU_TRSF_NORMALIZED_COORDINATES; });
  linear("wrap", [](R&, T& t, V&, bool&) { t.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP; });
  linear("size 0", [](R& r, T&, V&, bool&) { r.res.linear.sizeInBytes = 0; });
  linear("size 3", [](R& r, T&, V&, bool&) { r.res.linear.sizeInBytes = 3; });
  linear("past the end", [](R& r, T&, V&, bool&) { r.res.linear.sizeInBytes = (1 << 16) + 4; });
  linear("2^28 elements", [](R& r, T&, V&, bool&) { r.res.linear.sizeInBytes = size_t{4} << 28; });
  linear("2^28 + 1 elements", [](R& r, T&, V&, bool&) { r.res.linear.sizeInBytes = (size_t{4} << 28) + 4; });
  linear("null", [](R& r, T&, V&, bool&) { r.res.linear.devPtr = 0; });
  linear("nowhere", [](R& r, T&, V&, bool&) { r.res.linear.devPtr = 512; });
  linear("channels 3", [](R& r, T&, V&, bool&) { r.res.linear.numChannels = 3; });
  linear("format 5", [](R& r, T&, V&, bool&) { r.res.linear.format = static_cast<CUarray_format>(5); });
  linear("view", [](R&, T&, V& v, bool& view) {
    view = true, v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, v.width = 8;
  });
  auto pitched = [&](const std::string& label, auto change) {
    ask("pitched " + label, [&](R& r, T& t, V& v, bool& view) {
      r.resType = CU_RESOURCE_TYPE_PITCH2D;
      r.res.pitch2D.devPtr = memory, r.res.pitch2D.format = CU_AD_FORMAT_FLOAT, r.res.pitch2D.numChannels = 1;
      r.res.pitch2D.width = 10, r.res.pitch2D.height = 5, r.res.pitch2D.pitchInBytes = 512;
      change(r, t, v, view);
    });
  };
  pitched("plain", [](R&, T&, V&, bool&) {});
  pitched("filtered", [](R&, T& t, V&, bool&) { t.filterMode = CU_TR_FILTER_MODE_LINEAR; });
  for (const size_t pitch : {16, 32, 40, 48, 64}) {
    pitched("pitch " + std::to_string(pitch),
            [=](R& r, T&, V&, bool&) { r.res.pitch2D.width = 4, r.res.pitch2D.pitchInBytes = pitch; });
  }
  pitched("pitch small", [](R& r, T&, V&, bool&) { r.res.pitch2D.width = 256; });
  pitched("offset 256", [](R& r, T&, V&, bool&) { r.res.pitch2D.devPtr += 256; });
  pitched("past the end", [](R& r, T&, V&, bool&) { r.res.pitch2D.height = 1000; });
  auto view = [&](const std::string& label, auto change) {
    ask("view " + label, [&](R& r, T& t, V& v, bool& has) {
      has = true, v.format = CU_RES_VIEW_FORMAT_FLOAT_1X32, v.width = 8, v.height = 4;
      change(r, t, v);
    });
  };
  view("same", [](R&, T&, V&) {});
  view("as ints", [](R&, T&, V& v) { v.format = CU_RES_VIEW_FORMAT_UINT_1X32; });
  view("as 4 bytes", [](R&, T&, V& v) { v.format = CU_RES_VIEW_FORMAT_UINT_4X8; });
  view("as 2 bytes", [](R&, T&, V& v) { v.format = CU_RES_VIEW_FORMAT_UINT_2X8; });
  view("format none", [](R&, T&, V& v) { v.format = CU_RES_VIEW_FORMAT_NONE; });
  view("other width", [](R&, T&, V& v) { v.width = 4; });
  view("depth", [](R&, T&, V& v) { v.depth = 2; });
  view("levels", [](R&, T&, V& v) { v.lastMipmapLevel = 1; });
  view("layers", [](R&, T&, V& v) { v.lastLayer = 1; });
  CUtexObject texture = 0;
  CUDA_TEXTURE_DESC t = {};
  CUDA_RESOURCE_DESC r = {};
  r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = plane;
  a.Add("texture into null", cuTexObjectCreate(nullptr, &r, &t, nullptr));
  a.Add("texture of null", cuTexObjectCreate(&texture, nullptr, &t, nullptr));
  a.Add("texture without description", cuTexObjectCreate(&texture, &r, nullptr, nullptr));
  a.Add("texture destroy 0", cuTexObjectDestroy(0));
  CUsurfObject surface = 0;
  a.Add("surface of plain array", cuSurfObjectCreate(&surface, &r));
  r.res.array.hArray = writable;
  a.Add("surface", cuSurfObjectCreate(&surface, &r));
  CUDA_RESOURCE_DESC told = {};
  a.Add("surface resource", cuSurfObjectGetResourceDesc(&told, surface), told.resType,
        told.res.array.hArray == writable);
  a.Add("surface destroy", cuSurfObjectDestroy(surface));
  a.Add("surface destroy 0", cuSurfObjectDestroy(0));
  r.resType = CU_RESOURCE_TYPE_LINEAR, r.res.linear.devPtr = memory, r.res.linear.format = CU_AD_FORMAT_FLOAT,
  r.res.linear.numChannels = 1, r.res.linear.sizeInBytes = 64;
  a.Add("surface of linear", cuSurfObjectCreate(&surface, &r));
  cuMemFree(memory);
  cuMipmappedArrayDestroy(mipmap);
  for (CUarray array : {plane, ints, writable, cube, deep}) cuArrayDestroy(array);
}

}  // namespace memory_questions
