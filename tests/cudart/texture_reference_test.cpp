// texture<> and surface<> variables of CUDA 11, bound by the host and read by name.
#include <array>
#include <catch2/catch.hpp>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

// out[thread] = the texel at thread, as what the reference reads: a number or a fraction of 255.
const std::string kReads = Module(R"(
.visible .global .texref bytes;
.visible .global .texref plane;
.visible .entry read_bytes(.param .u64 out) {
  .reg .u64 %rd<4>; .reg .u32 %r<6>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;
  tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [bytes, {%r1}];
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret;
}
.visible .entry read_plane(.param .u64 out) {
  .reg .u64 %rd<4>; .reg .u32 %r<2>; .reg .f32 %f<7>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;
  cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F800000;
  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, {%f1, %f2}];
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f3; ret;
}
)");

struct Setup {
  Setup() : face(Face::Of(11)), binary(face, {kReads}) {
    const auto texture =
        face.Get<void(void**, const textureReference*, const void**, const char*, int, int, int)>(
            "__cudaRegisterTexture");
    texture(binary.handle(), &bytes, nullptr, "bytes", 1, 0, 0);
    texture(binary.handle(), &plane, nullptr, "plane", 2, 1, 0);
    binary.Function(&read_bytes, "read_bytes");
    binary.Function(&read_plane, "read_plane");
    binary.End();
    for (textureReference* one : {&bytes, &plane}) {
      for (cudaTextureAddressMode& mode : one->addressMode) mode = cudaAddressModeClamp;
      one->channelDesc = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    }
    REQUIRE(face.Call("cudaMalloc", &memory, size_t{4096}) == cudaSuccess);
    REQUIRE(face.Call("cudaMalloc", &out, size_t{64}) == cudaSuccess);
    std::array<unsigned char, 1024> texels{};
    for (size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<unsigned char>(i * 7);
    REQUIRE(face.Call("cudaMemcpy", memory, static_cast<const void*>(texels.data()), texels.size(),
                      cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~Setup() {
    face.Call("cudaFree", memory);
    face.Call("cudaFree", out);
  }
  template <typename T>
  std::array<T, 4> Run(const void* stub) {
    void* list[] = {&out};
    std::array<T, 4> host{};
    REQUIRE(face.Call("cudaLaunchKernel", stub, dim3{1, 1, 1}, dim3{4, 1, 1}, static_cast<void**>(list),
                      size_t{0}, cudaStream_t{}) == cudaSuccess);
    REQUIRE(face.Call("cudaMemcpy", static_cast<void*>(host.data()), static_cast<const void*>(out),
                      sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }
  cudaError_t Bind(size_t* offset, size_t from) {
    return face.Call("cudaBindTexture", offset, static_cast<const textureReference*>(&bytes),
                     static_cast<const void*>(static_cast<char*>(memory) + from),
                     static_cast<const cudaChannelFormatDesc*>(&bytes.channelDesc), size_t{512});
  }
  const Face& face;
  Registered binary;
  textureReference bytes{}, plane{};
  char read_bytes = 0, read_plane = 0;
  void *memory = nullptr, *out = nullptr;
};

}  // namespace

TEST_CASE("a texture reference reads the memory that it is bound to", "[cudart]") {
  Setup setup;
  const textureReference* const bytes = &setup.bytes;
  size_t offset = 99;
  REQUIRE(setup.face.Call("cudaGetTextureAlignmentOffset", &offset, bytes) == cudaErrorInvalidTextureBinding);
  REQUIRE(setup.Bind(&offset, 0) == cudaSuccess);
  REQUIRE(offset == 0);
  REQUIRE(setup.Run<uint32_t>(&setup.read_bytes) == std::array<uint32_t, 4>{0, 7, 14, 21});
  // Memory that is not aligned is bound with an offset, which the kernel has to add.
  REQUIRE(setup.Bind(nullptr, 3) == cudaErrorInvalidValue);
  REQUIRE(setup.Bind(&offset, 515) == cudaSuccess);
  REQUIRE(offset == 3);
  REQUIRE(setup.face.Call("cudaGetTextureAlignmentOffset", &offset, bytes) == cudaSuccess);
  REQUIRE(offset == 3);
  REQUIRE(setup.Run<uint32_t>(&setup.read_bytes)[0] == (512 * 7) % 256);
  REQUIRE(setup.face.Call("cudaUnbindTexture", bytes) == cudaSuccess);
  REQUIRE(setup.face.Call("cudaGetTextureAlignmentOffset", &offset, bytes) == cudaErrorInvalidTextureBinding);
  const textureReference unknown{};
  REQUIRE(setup.face.Call("cudaUnbindTexture", &unknown) == cudaErrorInvalidTexture);
  const textureReference* found = nullptr;
  REQUIRE(setup.face.Call("cudaGetTextureReference", &found, static_cast<const void*>(bytes)) == cudaSuccess);
  REQUIRE(found == bytes);
  REQUIRE(setup.face.Last() == cudaErrorInvalidTexture);
}

TEST_CASE("a texture reference of normalised reads gives fractions, of memory or an array", "[cudart]") {
  Setup setup;
  const textureReference* const plane = &setup.plane;
  const cudaChannelFormatDesc* const desc = &setup.plane.channelDesc;
  size_t offset = 0;
  REQUIRE(setup.face.Call("cudaBindTexture2D", &offset, plane, static_cast<const void*>(setup.memory), desc,
                          size_t{16}, size_t{4}, size_t{64}) == cudaSuccess);
  const auto expect = [](size_t index) { return static_cast<float>((index * 7) % 256) / 255.0f; };
  auto read = setup.Run<float>(&setup.read_plane);
  for (size_t x = 0; x < 4; ++x) REQUIRE(read[x] == expect(64 + x));
  cudaArray_t array = nullptr;
  REQUIRE(setup.face.Call("cudaMallocArray", &array, desc, size_t{16}, size_t{4}, 0u) == cudaSuccess);
  REQUIRE(setup.face.Call("cudaMemcpyToArray", array, size_t{0}, size_t{0},
                          static_cast<const void*>(setup.memory), size_t{64},
                          cudaMemcpyDeviceToDevice) == cudaSuccess);
  REQUIRE(setup.face.Call("cudaBindTextureToArray", plane, static_cast<cudaArray_const_t>(array), desc) ==
          cudaSuccess);
  read = setup.Run<float>(&setup.read_plane);
  for (size_t x = 0; x < 4; ++x) REQUIRE(read[x] == expect(16 + x));
  REQUIRE(setup.face.Call("cudaUnbindTexture", plane) == cudaSuccess);
  REQUIRE(setup.face.Call("cudaFreeArray", array) == cudaSuccess);
}
