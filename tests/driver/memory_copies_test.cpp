// Every form of copy and set, with odd pitches and offsets, against loops over bytes.
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "memory_context.h"

namespace driver_memory_test {

namespace {

using Bytes = std::vector<unsigned char>;

// A block of each kind of memory, and what a naive program thinks it holds.
struct Block {
  static constexpr size_t kBytes = 9000;
  CUmemorytype type;
  CUdeviceptr memory = 0;
  Bytes model;

  unsigned char* bytes() const { return reinterpret_cast<unsigned char*>(memory); }
};

class Memory {
 public:
  Memory() {
    const auto add = [&](CUmemorytype type, CUdeviceptr memory) {
      blocks_.push_back({type, memory, Bytes(Block::kBytes)});
    };
    CUdeviceptr memory = 0;
    void* host = nullptr;
    for (int i = 0; i < 2; ++i) {
      REQUIRE(cuMemAlloc_v2(&memory, Block::kBytes) == CUDA_SUCCESS);
      add(CU_MEMORYTYPE_DEVICE, memory);
    }
    REQUIRE(cuMemAllocManaged(&memory, Block::kBytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    add(CU_MEMORYTYPE_UNIFIED, memory);
    REQUIRE(cuMemAllocHost_v2(&host, Block::kBytes) == CUDA_SUCCESS);
    add(CU_MEMORYTYPE_HOST, reinterpret_cast<CUdeviceptr>(host));
    pageable_.resize(Block::kBytes);
    add(CU_MEMORYTYPE_HOST, reinterpret_cast<CUdeviceptr>(pageable_.data()));
  }
  ~Memory() {
    for (int i = 0; i < 3; ++i) cuMemFree_v2(blocks_[static_cast<size_t>(i)].memory);
    cuMemFreeHost(blocks_[3].bytes());
  }
  void Fill(std::mt19937& random) {
    for (Block& block : blocks_) {
      for (unsigned char& byte : block.model) byte = static_cast<unsigned char>(random());
      std::memcpy(block.bytes(), block.model.data(), Block::kBytes);
    }
  }
  void Check() {
    for (const Block& block : blocks_)
      REQUIRE(std::memcmp(block.bytes(), block.model.data(), Block::kBytes) == 0);
  }
  Block& Any(std::mt19937& random) { return blocks_[random() % blocks_.size()]; }
  Block& Other(std::mt19937& random, const Block& than) {
    for (;;) {
      Block& block = Any(random);
      if (&block != &than) return block;
    }
  }

 private:
  std::vector<Block> blocks_;
  Bytes pageable_;
};

struct Shape {
  size_t x, y, z, pitch, height;
};

// A part of a block in which the copy fits.
Shape Place(std::mt19937& random, size_t width, size_t height, size_t depth) {
  for (;;) {
    Shape s{random() % 9, random() % 3, random() % 3, 0, 0};
    s.pitch = s.x + width + random() % 13;
    s.height = s.y + height + random() % 3;
    if (((s.z + depth) * s.height) * s.pitch <= Block::kBytes) return s;
  }
}

size_t At(const Shape& s, size_t x, size_t y, size_t z) {
  return ((s.z + z) * s.height + s.y + y) * s.pitch + s.x + x;
}

void CopyModel(const Block& from, const Shape& f, Block& to, const Shape& t, size_t width, size_t height,
               size_t depth) {
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) to.model[At(t, x, y, z)] = from.model[At(f, x, y, z)];
    }
  }
}

template <typename Copy>
void SetEnds(Copy& c, const Block& from, const Shape& f, const Block& to, const Shape& t) {
  c.srcMemoryType = from.type, c.srcHost = from.bytes(), c.srcDevice = from.memory, c.srcXInBytes = f.x,
  c.srcY = f.y, c.srcPitch = f.pitch;
  c.dstMemoryType = to.type, c.dstHost = to.bytes(), c.dstDevice = to.memory, c.dstXInBytes = t.x,
  c.dstY = t.y, c.dstPitch = t.pitch;
}

}  // namespace

TEST_CASE("copies of two and three dimensions are loops over bytes", "[memory]") {
  UseContext();
  std::mt19937 random(11);
  Memory memory;
  for (int round = 0; round < 400; ++round) {
    memory.Fill(random);
    const Block& from = memory.Any(random);
    Block& to = memory.Other(random, from);
    const bool deep = round % 2 == 0;
    const size_t width = 1 + random() % 50, height = 1 + random() % 7, depth = deep ? 1 + random() % 4 : 1;
    Shape f = Place(random, width, height, depth), t = Place(random, width, height, depth);
    CUresult result = CUDA_ERROR_UNKNOWN;
    if (deep) {
      CUDA_MEMCPY3D c = {};
      SetEnds(c, from, f, to, t);
      c.srcZ = f.z, c.srcHeight = f.height, c.dstZ = t.z, c.dstHeight = t.height;
      c.WidthInBytes = width, c.Height = height, c.Depth = depth;
      result = round % 4 == 0 ? cuMemcpy3D_v2(&c) : cuMemcpy3DAsync_v2(&c, CU_STREAM_PER_THREAD);
    } else {
      f.z = t.z = 0;
      CUDA_MEMCPY2D c = {};
      SetEnds(c, from, f, to, t);
      c.WidthInBytes = width, c.Height = height;
      result = round % 4 == 1   ? cuMemcpy2D_v2(&c)
               : round % 8 == 3 ? cuMemcpy2DUnaligned_v2(&c)
                                : cuMemcpy2DAsync_v2(&c, nullptr);
    }
    REQUIRE(result == CUDA_SUCCESS);
    UseContext().streams().Synchronize();
    CopyModel(from, f, to, t, width, height, depth);
    memory.Check();
  }
}

TEST_CASE("large copies of three dimensions, in and out of a busy stream", "[memory]") {
  Context& context = UseContext();
  constexpr size_t kWidth = 1003, kRows = 61, kSlices = 7, kPitch = 1100, kHeight = 64;
  CUdeviceptr device = 0, other = 0;
  REQUIRE(cuMemAlloc_v2(&device, kPitch * kHeight * kSlices) == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&other, kPitch * kHeight * kSlices) == CUDA_SUCCESS);
  Bytes source(kWidth * kRows * kSlices), target(source.size());
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 251);
  CUDA_MEMCPY3D c = {};
  c.WidthInBytes = kWidth, c.Height = kRows, c.Depth = kSlices;
  c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = source.data();
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = device, c.dstPitch = kPitch, c.dstHeight = kHeight;
  REQUIRE(cuMemcpy3DAsync_v2(&c, nullptr) == CUDA_SUCCESS);
  std::fill(source.begin(), source.end(), 0);  // pageable: the source is free again
  REQUIRE(cuMemcpyDtoDAsync_v2(other, device,
                               kPitch * kHeight * (kSlices - 1) + kPitch * (kRows - 1) + kWidth,
                               nullptr) == CUDA_SUCCESS);
  CUDA_MEMCPY3D back = {};
  back.WidthInBytes = kWidth, back.Height = kRows, back.Depth = kSlices;
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE, back.srcDevice = other, back.srcPitch = kPitch,
  back.srcHeight = kHeight;
  back.dstMemoryType = CU_MEMORYTYPE_HOST, back.dstHost = target.data();
  REQUIRE(cuMemcpy3DAsync_v2(&back, nullptr) == CUDA_SUCCESS);  // into pageable memory: done when it returns
  bool same = true;
  for (size_t i = 0; i < target.size(); ++i)
    same = same && target[i] == static_cast<unsigned char>(i * 7 + i / 251);
  CHECK(same);
  CHECK(context.error() == CUDA_SUCCESS);
  cuMemFree_v2(device);
  cuMemFree_v2(other);
}

TEST_CASE("arrays of every shape hold what is copied into them", "[memory]") {
  UseContext();
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    CUDA_ARRAY3D_DESCRIPTOR d = {};
    d.Width = 1 + random() % 20;
    d.Height = round % 3 == 0 ? 0 : 1 + random() % 9;
    d.Depth = round % 3 == 2 ? 1 + random() % 5 : 0;
    if (d.Height == 0 && round % 2 == 0) d.Depth = 1 + random() % 4, d.Flags = CUDA_ARRAY3D_LAYERED;
    const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT};
    d.Format = formats[random() % 3], d.NumChannels = 1u << random() % 3;
    const size_t element = (d.Format == CU_AD_FORMAT_UNSIGNED_INT8 ? 1
                            : d.Format == CU_AD_FORMAT_HALF        ? 2
                                                                   : 4) *
                           d.NumChannels;
    const size_t row = d.Width * element, rows = std::max<size_t>(d.Height, 1),
                 slices = std::max<size_t>(d.Depth, 1);
    CUarray array = nullptr, second = nullptr;
    REQUIRE(cuArray3DCreate_v2(&array, &d) == CUDA_SUCCESS);
    REQUIRE(cuArray3DCreate_v2(&second, &d) == CUDA_SUCCESS);
    Bytes model(row * rows * slices), in(model.size()), out(model.size());
    for (unsigned char& byte : model) byte = static_cast<unsigned char>(random());
    CUDA_MEMCPY3D c = {};
    c.WidthInBytes = row, c.Height = rows, c.Depth = slices;
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = model.data();
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = array;
    REQUIRE(cuMemcpy3D_v2(&c) == CUDA_SUCCESS);
    c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = array, c.dstArray = second;
    REQUIRE(cuMemcpy3DAsync_v2(&c, CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    // A part of the first goes over a part of the second.
    const size_t x = random() % d.Width, y = random() % rows, z = random() % slices;
    const size_t w = 1 + random() % (d.Width - x), h = 1 + random() % (rows - y),
                 n = 1 + random() % (slices - z);
    const size_t to_x = random() % (d.Width - w + 1), to_y = random() % (rows - h + 1),
                 to_z = random() % (slices - n + 1);
    c.srcXInBytes = x * element, c.srcY = y, c.srcZ = z, c.dstXInBytes = to_x * element, c.dstY = to_y,
    c.dstZ = to_z;
    c.WidthInBytes = w * element, c.Height = h, c.Depth = n;
    REQUIRE(cuMemcpy3DAsync_v2(&c, CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    Bytes expected = model;
    for (size_t k = 0; k < n; ++k) {
      for (size_t j = 0; j < h; ++j) {
        std::memcpy(&expected[((to_z + k) * rows + to_y + j) * row + to_x * element],
                    &model[((z + k) * rows + y + j) * row + x * element], w * element);
      }
    }
    CUDA_MEMCPY3D back = {};
    back.WidthInBytes = row, back.Height = rows, back.Depth = slices;
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY, back.srcArray = second;
    back.dstMemoryType = CU_MEMORYTYPE_HOST, back.dstHost = out.data();
    REQUIRE(cuMemcpy3DAsync_v2(&back, CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    CHECK(out == expected);
    if (d.Depth == 0) {  // the functions of one dimension reach the first row
      const size_t offset = random() % row, count = 1 + random() % (row - offset);
      REQUIRE(cuMemcpyAtoH_v2(in.data(), array, offset, count) == CUDA_SUCCESS);
      CHECK(std::memcmp(in.data(), model.data() + offset, count) == 0);
      REQUIRE(cuMemcpyHtoA_v2(second, offset, in.data(), count) == CUDA_SUCCESS);
      REQUIRE(cuMemcpyAtoA_v2(array, 0, second, offset, count) == CUDA_SUCCESS);
      REQUIRE(cuMemcpyAtoH_v2(out.data(), array, 0, count) == CUDA_SUCCESS);
      CHECK(std::memcmp(out.data(), model.data() + offset, count) == 0);
    }
    CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
    CHECK(cuArrayDestroy(second) == CUDA_SUCCESS);
    CHECK(cuArrayDestroy(second) == CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_CASE("levels of a mipmapped array are arrays of their own", "[memory]") {
  UseContext();
  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = 13, d.Height = 7, d.Depth = 5, d.Format = CU_AD_FORMAT_UNSIGNED_INT8, d.NumChannels = 1;
  CUmipmappedArray mipmap = nullptr;
  REQUIRE(cuMipmappedArrayCreate(&mipmap, &d, 9) == CUDA_SUCCESS);
  for (int pass = 0; pass < 2; ++pass) {
    for (unsigned level = 0; level < 4; ++level) {
      CUarray array = nullptr;
      CUDA_ARRAY3D_DESCRIPTOR told = {};
      REQUIRE(cuMipmappedArrayGetLevel(&array, mipmap, level) == CUDA_SUCCESS);
      REQUIRE(cuArray3DGetDescriptor_v2(&told, array) == CUDA_SUCCESS);
      CHECK(told.Width == std::max(13u >> level, 1u));
      CHECK(told.Height == std::max(7u >> level, 1u));
      CHECK(told.Depth == std::max(5u >> level, 1u));
      Bytes bytes(told.Width * told.Height * told.Depth, static_cast<unsigned char>(level + 1));
      CUDA_MEMCPY3D c = {};
      c.WidthInBytes = told.Width, c.Height = told.Height, c.Depth = told.Depth;
      c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = bytes.data(), c.dstMemoryType = CU_MEMORYTYPE_ARRAY,
      c.dstArray = array;
      if (pass == 0) {
        REQUIRE(cuMemcpy3D_v2(&c) == CUDA_SUCCESS);
      } else {
        Bytes out(bytes.size());
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY, c.srcArray = array, c.dstMemoryType = CU_MEMORYTYPE_HOST,
        c.dstHost = out.data();
        REQUIRE(cuMemcpy3D_v2(&c) == CUDA_SUCCESS);
        CHECK(out == bytes);
      }
    }
  }
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("sets of every width, in one and two dimensions", "[memory]") {
  UseContext();
  std::mt19937 random(17);
  constexpr size_t kBytes = 6000;
  CUdeviceptr device = 0;
  REQUIRE(cuMemAlloc_v2(&device, kBytes) == CUDA_SUCCESS);
  for (int round = 0; round < 300; ++round) {
    Bytes model(kBytes, 0xcc), out(kBytes);
    REQUIRE(cuMemsetD8_v2(device, 0xcc, kBytes) == CUDA_SUCCESS);
    const unsigned bytes = 1u << random() % 3;
    const size_t width = 1 + random() % 60, height = round % 2 == 0 ? 1 : 1 + random() % 9;
    const size_t at = random() % 40 * bytes, pitch = (width + random() % 7) * bytes;
    const auto value = static_cast<uint32_t>(random());
    CUresult result = CUDA_ERROR_UNKNOWN;
    const CUdeviceptr to = device + at;
    const auto v8 = static_cast<unsigned char>(value);
    const auto v16 = static_cast<unsigned short>(value);
    const CUstream s = CU_STREAM_PER_THREAD;
    const bool async = random() % 2 == 0;
    if (height == 1) {
      result = bytes == 1 ? (async ? cuMemsetD8Async(to, v8, width, s) : cuMemsetD8_v2(to, v8, width))
               : bytes == 2
                   ? (async ? cuMemsetD16Async(to, v16, width, s) : cuMemsetD16_v2(to, v16, width))
                   : (async ? cuMemsetD32Async(to, value, width, s) : cuMemsetD32_v2(to, value, width));
    } else {
      result = bytes == 1   ? (async ? cuMemsetD2D8Async(to, pitch, v8, width, height, s)
                                     : cuMemsetD2D8_v2(to, pitch, v8, width, height))
               : bytes == 2 ? (async ? cuMemsetD2D16Async(to, pitch, v16, width, height, s)
                                     : cuMemsetD2D16_v2(to, pitch, v16, width, height))
                            : (async ? cuMemsetD2D32Async(to, pitch, value, width, height, s)
                                     : cuMemsetD2D32_v2(to, pitch, value, width, height));
    }
    REQUIRE(result == CUDA_SUCCESS);
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) std::memcpy(&model[at + y * pitch + x * bytes], &value, bytes);
    }
    REQUIRE(cuMemcpyDtoH_v2(out.data(), device, kBytes) == CUDA_SUCCESS);
    REQUIRE(out == model);
  }
  cuMemFree_v2(device);
}

TEST_CASE("batches copy all or, where one is not legal, nothing", "[memory]") {
  UseContext();
  CUdeviceptr device = 0;
  REQUIRE(cuMemAlloc_v2(&device, 4096) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8_v2(device, 0, 4096) == CUDA_SUCCESS);
  Bytes host(4096);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i % 253);
  CUdeviceptr to[3] = {device, device + 100, device + 1000}, from[3];
  size_t sizes[3] = {50, 333, 2000}, first[2] = {0, 2}, fail = 77;
  for (int i = 0; i < 3; ++i)
    from[i] = reinterpret_cast<CUdeviceptr>(host.data()) + static_cast<CUdeviceptr>(i) * 600;
  CUmemcpyAttributes order[2] = {};
  order[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
  order[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  sizes[2] = 4000;
  CHECK(cuMemcpyBatchAsync(to, from, sizes, 3, order, first, 2, &fail, CU_STREAM_PER_THREAD) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(fail == 2);
  Bytes out(4096, 1);
  REQUIRE(cuMemcpyDtoH_v2(out.data(), device, 4096) == CUDA_SUCCESS);
  CHECK(out == Bytes(4096));
  sizes[2] = 2000;
  REQUIRE(cuMemcpyBatchAsync_v2(to, from, sizes, 3, order, first, 2, CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH_v2(out.data(), device, 4096) == CUDA_SUCCESS);
  Bytes model(4096);
  for (size_t i = 0; i < 3; ++i) std::memcpy(&model[to[i] - device], host.data() + 600 * i, sizes[i]);
  CHECK(out == model);

  CUDA_ARRAY3D_DESCRIPTOR d = {};
  d.Width = 10, d.Height = 6, d.Depth = 3, d.Format = CU_AD_FORMAT_UNSIGNED_INT16, d.NumChannels = 2;
  CUarray array = nullptr;
  REQUIRE(cuArray3DCreate_v2(&array, &d) == CUDA_SUCCESS);
  CUDA_MEMCPY3D_BATCH_OP ops[2] = {};
  ops[0].srcAccessOrder = ops[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  ops[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER, ops[0].src.op.ptr.ptr = device,
  ops[0].src.op.ptr.rowLength = 12, ops[0].src.op.ptr.layerHeight = 7;
  ops[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, ops[0].dst.op.array.array = array,
  ops[0].dst.op.array.offset = {1, 2, 1};
  ops[0].extent = {9, 4, 2};
  REQUIRE(cuMemcpy3DBatchAsync_v2(1, ops, 0, CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
  Bytes elements(9 * 4 * 2 * 4), expected(elements.size());
  ops[1].src = ops[0].dst, ops[1].extent = ops[0].extent;
  ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
  ops[1].dst.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(elements.data());
  REQUIRE(cuMemcpy3DBatchAsync_v2(1, ops + 1, 0, CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 4; ++y)
      std::memcpy(&expected[(z * 4 + y) * 36], &model[((z * 7 + y) * 12) * 4], 36);
  }
  CHECK(elements == expected);
  ops[0].extent.width = 10;
  CHECK(cuMemcpy3DBatchAsync(1, ops, &fail, 0, CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_VALUE);
  CHECK(fail == 0);
  cuArrayDestroy(array);
  cuMemFree_v2(device);
}

}  // namespace driver_memory_test
