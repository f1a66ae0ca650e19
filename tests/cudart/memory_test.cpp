// Copies and fills of one, two and three dimensions; arrays; pools.
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

std::vector<unsigned char> Counted(size_t bytes) {
  std::vector<unsigned char> all(bytes);
  std::iota(all.begin(), all.end(), static_cast<unsigned char>(1));
  return all;
}

}  // namespace

TEST_CASE("pitched memory: copies and fills of rows", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    void* device = nullptr;
    size_t pitch = 0;
    REQUIRE(face.Call("cudaMallocPitch", &device, &pitch, size_t{30}, size_t{5}) == cudaSuccess);
    REQUIRE(pitch >= 30);
    const auto from = Counted(40 * 5);
    std::vector<unsigned char> to(32 * 5, 0);
    REQUIRE(face.Call("cudaMemset2D", device, pitch, 0xee, size_t{30}, size_t{5}) == cudaSuccess);
    REQUIRE(face.Call("cudaMemcpy2D", device, pitch, static_cast<const void*>(from.data()), size_t{40},
                      size_t{20}, size_t{4}, cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(face.Call("cudaMemcpy2DAsync", static_cast<void*>(to.data()), size_t{32},
                      static_cast<const void*>(device), pitch, size_t{30}, size_t{5}, cudaMemcpyDefault,
                      cudaStream_t{}) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    for (size_t y = 0; y < 5; ++y) {
      for (size_t x = 0; x < 32; ++x) {
        const unsigned char expected = x >= 30 ? 0 : x < 20 && y < 4 ? from[40 * y + x] : 0xee;
        REQUIRE(to[32 * y + x] == expected);
      }
    }
    REQUIRE(face.Call("cudaFree", device) == cudaSuccess);
  }
}

TEST_CASE("boxes: offsets, part of a box, fill of a part", "[cudart]") {
  const Face& face = Face::Of(13);
  constexpr size_t kWidth = 24, kHeight = 6, kDepth = 4;
  cudaPitchedPtr box{};
  REQUIRE(face.Call("cudaMalloc3D", &box, cudaExtent{kWidth, kHeight, kDepth}) == cudaSuccess);
  REQUIRE((box.xsize == kWidth && box.ysize == kHeight && box.pitch >= kWidth));
  auto from = Counted(kWidth * kHeight * kDepth);
  REQUIRE(face.Call("cudaMemset3D", box, 0x11, cudaExtent{kWidth, kHeight, kDepth}) == cudaSuccess);
  REQUIRE(face.Call("cudaMemset3D", box, 0x22, cudaExtent{4, 2, 3}) ==
          cudaSuccess);  // the head of the first rows of three slices
  cudaMemcpy3DParms in{};
  in.srcPtr = {from.data(), kWidth, kWidth, kHeight};
  in.srcPos = {3, 1, 0};
  in.dstPtr = box;
  in.dstPos = {5, 2, 1};
  in.extent = {7, 3, 2};
  in.kind = cudaMemcpyHostToDevice;
  REQUIRE(face.Call("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&in)) == cudaSuccess);
  std::vector<unsigned char> to(from.size());
  cudaMemcpy3DParms out{};
  out.srcPtr = box;
  out.dstPtr = {to.data(), kWidth, kWidth, kHeight};
  out.extent = {kWidth, kHeight, kDepth};
  out.kind = cudaMemcpyDeviceToHost;
  REQUIRE(face.Call("cudaMemcpy3DAsync", static_cast<const cudaMemcpy3DParms*>(&out), cudaStream_t{}) ==
          cudaSuccess);
  REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
  for (size_t z = 0; z < kDepth; ++z) {
    for (size_t y = 0; y < kHeight; ++y) {
      for (size_t x = 0; x < kWidth; ++x) {
        unsigned char expected = x < 4 && y < 2 && z < 3 ? 0x22 : 0x11;
        if (x >= 5 && x < 12 && y >= 2 && y < 5 && z >= 1 && z < 3)
          expected = from[((z - 1) * kHeight + (y - 1)) * kWidth + (x - 2)];
        INFO(x << "," << y << "," << z);
        REQUIRE(to[(z * kHeight + y) * kWidth + x] == expected);
      }
    }
  }
  out.dstPtr.ptr = nullptr;
  REQUIRE(face.Call("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&out)) == cudaErrorInvalidValue);
  REQUIRE(face.Last() == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaFree", box.ptr) == cudaSuccess);
}

TEST_CASE("arrays: elements, rows, reading order", "[cudart]") {
  const Face& face = Face::Of(12);
  constexpr size_t kWidth = 10, kHeight = 4, kElement = 4;  // two channels of 16 bits
  const cudaChannelFormatDesc channels{16, 16, 0, 0, cudaChannelFormatKindUnsigned};
  cudaArray_t array = nullptr, other = nullptr;
  const cudaChannelFormatDesc three{16, 16, 16, 0, cudaChannelFormatKindUnsigned};
  REQUIRE(face.Call("cudaMallocArray", &array, &three, kWidth, kHeight, 0u) ==
          cudaErrorInvalidChannelDescriptor);
  REQUIRE(face.Last() == cudaErrorInvalidChannelDescriptor);
  REQUIRE(face.Call("cudaMallocArray", &array, &channels, kWidth, kHeight, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaMallocArray", &other, &channels, size_t{16}, kHeight, 0u) == cudaSuccess);
  cudaChannelFormatDesc described{};
  cudaExtent extent{};
  unsigned flags = 9;
  REQUIRE(face.Call("cudaArrayGetInfo", &described, &extent, &flags, array) == cudaSuccess);
  REQUIRE((described.x == 16 && described.y == 16 && described.z == 0 &&
           described.f == cudaChannelFormatKindUnsigned));
  REQUIRE((extent.width == kWidth && extent.height == kHeight && extent.depth == 0 && flags == 0));

  const auto from = Counted(kWidth * kElement * kHeight);
  std::vector<unsigned char> to(from.size());
  REQUIRE(face.Call("cudaMemcpy2DToArray", array, size_t{0}, size_t{0}, static_cast<const void*>(from.data()),
                    kWidth * kElement, kWidth * kElement, kHeight, cudaMemcpyHostToDevice) == cudaSuccess);
  // From the middle of a row over the end of two more: linear in reading order.
  REQUIRE(face.Call("cudaMemcpyFromArray", static_cast<void*>(to.data()),
                    static_cast<cudaArray_const_t>(array), size_t{12}, size_t{1}, size_t{90},
                    cudaMemcpyDeviceToHost) == cudaSuccess);
  for (size_t i = 0; i < 90; ++i) REQUIRE(to[i] == from[kWidth * kElement + 12 + i]);
  REQUIRE(face.Call("cudaMemcpyArrayToArray", other, size_t{8}, size_t{0},
                    static_cast<cudaArray_const_t>(array), size_t{4}, size_t{0}, size_t{100},
                    cudaMemcpyDeviceToDevice) == cudaSuccess);
  REQUIRE(face.Call("cudaMemcpyFromArray", static_cast<void*>(to.data()),
                    static_cast<cudaArray_const_t>(other), size_t{8}, size_t{0}, size_t{100},
                    cudaMemcpyDeviceToHost) == cudaSuccess);
  for (size_t i = 0; i < 100; ++i) REQUIRE(to[i] == from[4 + i]);

  // With an array in it, an extent counts elements; the offset on the side of the pointer counts bytes.
  cudaMemcpy3DParms box{};
  box.srcArray = array;
  box.srcPos = {2, 1, 0};
  box.dstPtr = {to.data(), 32, 32, 2};
  box.dstPos = {4, 0, 0};
  box.extent = {5, 2, 1};
  box.kind = cudaMemcpyDeviceToHost;
  REQUIRE(face.Call("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&box)) == cudaSuccess);
  for (size_t y = 0; y < 2; ++y) {
    for (size_t x = 0; x < 20; ++x) REQUIRE(to[y * 32 + 4 + x] == from[(y + 1) * 40 + 8 + x]);
  }
  for (const cudaArray_t one : {array, other}) REQUIRE(face.Call("cudaFreeArray", one) == cudaSuccess);
}

TEST_CASE("channel descriptions come back as they were given", "[cudart]") {
  for (const int major : kMajors) {
    const Face& face = Face::Of(major);
    const auto create =
        face.Get<cudaChannelFormatDesc(int, int, int, int, cudaChannelFormatKind)>("cudaCreateChannelDesc");
    for (const cudaChannelFormatKind kind :
         {cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat}) {
      for (const int bits : {8, 16, 32}) {
        for (const int count : {1, 2, 4}) {
          if (kind == cudaChannelFormatKindFloat && bits == 8) continue;
          const cudaChannelFormatDesc given =
              create(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind);
          cudaChannelFormatDesc got{};
          cudaArray_t array = nullptr;
          REQUIRE(face.Call("cudaMallocArray", &array, &given, size_t{8}, size_t{0}, 0u) == cudaSuccess);
          REQUIRE(face.Call("cudaGetChannelDesc", &got, static_cast<cudaArray_const_t>(array)) ==
                  cudaSuccess);
          REQUIRE((got.x == given.x && got.y == given.y && got.z == given.z && got.w == given.w &&
                   got.f == given.f));
          REQUIRE(face.Call("cudaFreeArray", array) == cudaSuccess);
        }
      }
    }
  }
}

TEST_CASE("memory in the order of a stream, pools, peers", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    cudaStream_t stream = nullptr;
    cudaMemPool_t pool = nullptr;
    void *first = nullptr, *second = nullptr;
    std::array<unsigned char, 64> host{};
    REQUIRE(face.Call("cudaStreamCreate", &stream) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceGetDefaultMemPool", &pool, 0) == cudaSuccess);
    REQUIRE(face.Call("cudaMallocAsync", &first, size_t{64}, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaMallocFromPoolAsync", &second, size_t{64}, pool, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaMemsetAsync", first, 0x5a, size_t{64}, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaMemcpyPeerAsync", second, 0, static_cast<const void*>(first), 0, size_t{64},
                      stream) == cudaSuccess);
    REQUIRE(face.Call("cudaMemcpyAsync", static_cast<void*>(host.data()), static_cast<const void*>(second),
                      size_t{64}, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaFreeAsync", first, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaFreeAsync", second, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaStreamSynchronize", stream) == cudaSuccess);
    for (const unsigned char byte : host) REQUIRE(byte == 0x5a);
    uint64_t used = 1;
    REQUIRE(face.Call("cudaMemPoolGetAttribute", pool, static_cast<cudaMemPoolAttr>(7),
                      static_cast<void*>(&used)) == cudaSuccess);
    REQUIRE(used == 0);
    REQUIRE(face.Call("cudaStreamDestroy", stream) == cudaSuccess);
  }
}

TEST_CASE("prefetch and advice by device number until CUDA 12, by location after", "[cudart]") {
  void* managed = nullptr;
  REQUIRE(Face::Of(13).Call("cudaMallocManaged", &managed, size_t{1 << 16}, 1u) == cudaSuccess);
  const void* const memory = managed;
  const auto read_mostly = static_cast<cudaMemoryAdvise>(1);
  const cudaMemLocation here{cudaMemLocationTypeDevice, 0};
  REQUIRE(Face::Of(11).Call("cudaMemAdvise", memory, size_t{1 << 16}, read_mostly, 0) == cudaSuccess);
  REQUIRE(Face::Of(12).Call("cudaMemPrefetchAsync", memory, size_t{1 << 16}, cudaCpuDeviceId,
                            cudaStream_t{}) == cudaSuccess);
  REQUIRE(Face::Of(12).Call("cudaMemPrefetchAsync_v2", memory, size_t{1 << 16}, here, 0u, cudaStream_t{}) ==
          cudaSuccess);
  REQUIRE(Face::Of(13).Call("cudaMemPrefetchAsync", memory, size_t{1 << 16}, here, 0u, cudaStream_t{}) ==
          cudaSuccess);
  REQUIRE(Face::Of(13).Call("cudaMemAdvise", memory, size_t{1 << 16}, read_mostly, here) == cudaSuccess);
  int mostly = 0;
  REQUIRE(Face::Of(13).Call("cudaMemRangeGetAttribute", static_cast<void*>(&mostly), sizeof mostly,
                            static_cast<cudaMemRangeAttribute>(1), memory, size_t{1 << 16}) == cudaSuccess);
  REQUIRE(mostly == 1);
  REQUIRE(Face::Of(13).Call("cudaFree", managed) == cudaSuccess);
}

TEST_CASE("batches of copies in the form of each major", "[cudart]") {
  const std::array<unsigned char, 8> from{1, 2, 3, 4, 5, 6, 7, 8};
  void* device = nullptr;
  REQUIRE(Face::Of(13).Call("cudaMalloc", &device, size_t{16}) == cudaSuccess);
  cudaStream_t stream = nullptr;
  REQUIRE(Face::Of(13).Call("cudaStreamCreate", &stream) == cudaSuccess);
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  const void* sources[] = {from.data(), from.data() + 4};
  void* targets[] = {static_cast<char*>(device) + 4, device};
  size_t sizes[] = {4, 4}, first = 0, failed = 0;
  std::array<unsigned char, 8> to{};
  const auto read = [&] {
    REQUIRE(Face::Of(13).Call("cudaStreamSynchronize", stream) == cudaSuccess);
    REQUIRE(Face::Of(13).Call("cudaMemcpy", static_cast<void*>(to.data()), static_cast<const void*>(device),
                              to.size(), cudaMemcpyDefault) == cudaSuccess);
    return to;
  };
  REQUIRE(Face::Of(12).Call("cudaMemcpyBatchAsync", static_cast<void**>(targets),
                            const_cast<void**>(static_cast<const void**>(sources)),
                            static_cast<size_t*>(sizes), size_t{2}, &attributes, &first, size_t{1}, &failed,
                            stream) == cudaSuccess);
  REQUIRE(read() == std::array<unsigned char, 8>{5, 6, 7, 8, 1, 2, 3, 4});
  std::swap(targets[0], targets[1]);
  REQUIRE(Face::Of(13).Call("cudaMemcpyBatchAsync", static_cast<void* const*>(targets),
                            static_cast<const void* const*>(sources), static_cast<const size_t*>(sizes),
                            size_t{2}, &attributes, &first, size_t{1}, stream) == cudaSuccess);
  REQUIRE(read() == from);
  REQUIRE(Face::Of(13).Call("cudaMemcpyWithAttributesAsync", device, sources[1], size_t{2}, &attributes,
                            stream) == cudaSuccess);
  REQUIRE(read() == std::array<unsigned char, 8>{5, 6, 3, 4, 5, 6, 7, 8});
  REQUIRE(Face::Of(13).Call("cudaStreamDestroy", stream) == cudaSuccess);
  REQUIRE(Face::Of(13).Call("cudaFree", device) == cudaSuccess);
}
