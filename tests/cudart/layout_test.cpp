// Structures that programs of CUDA 11, 12 and 13 lay out differently.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

// Sizes as compilers of those releases lay the structures out (CUDA 13: tests/runtime_abi).
static_assert(sizeof(cudaDeviceProp11) == 728);
static_assert(sizeof(cudaDeviceProp12) == 1032);
static_assert(sizeof(cudaDeviceProp13) == 1008);
static_assert(offsetof(cudaDeviceProp11, totalGlobalMem) == 288 &&
              offsetof(cudaDeviceProp13, totalGlobalMem) == 288);
static_assert(offsetof(cudaDeviceProp11, major) == 360 &&
              offsetof(cudaDeviceProp11, multiProcessorCount) == 388);
static_assert(sizeof(cudaFuncAttributes11) == 56 && sizeof(cudaFuncAttributes) == 144);
static_assert(sizeof(cudaPointerAttributes12) == 24 && sizeof(cudaPointerAttributes13) == 88);
static_assert(sizeof(cudaResourceDesc12) == 64 && sizeof(cudaResourceDesc13) == 144);
static_assert(sizeof(cudaResourceViewDesc12) == 48 && sizeof(cudaResourceViewDesc13) == 112);
static_assert(sizeof(cudaTextureDesc11) == 68 && sizeof(cudaTextureDesc) == 72);
static_assert(sizeof(textureReference) == 124);

namespace {

// Calls `fill` on a structure with guard bytes after it.
template <typename T, typename Fill>
T Guarded(const Fill& fill) {
  struct {
    T value;
    unsigned char guard[256];
  } memory;
  std::memset(static_cast<void*>(&memory), 0xa5, sizeof memory);
  fill(&memory.value);
  for (const unsigned char byte : memory.guard) REQUIRE(byte == 0xa5);
  return memory.value;
}

template <typename Prop>
Prop Properties(const Face& face, const char* name = "cudaGetDeviceProperties") {
  return Guarded<Prop>([&](Prop* prop) { REQUIRE(face.Call(name, prop, 0) == cudaSuccess); });
}

template <typename Prop>
void RequireAsAttributes(const Face& face, const Prop& prop) {
  const std::pair<unsigned, long long> members[] = {
      {1, prop.maxThreadsPerBlock},
      {4, prop.maxThreadsDim[2]},
      {6, prop.maxGridSize[1]},
      {8, static_cast<long long>(prop.sharedMemPerBlock)},
      {9, static_cast<long long>(prop.totalConstMem)},
      {10, prop.warpSize},
      {16, prop.multiProcessorCount},
      {22, prop.maxTexture2D[0]},
      {29, prop.maxTexture2DLayered[2]},
      {30, static_cast<long long>(prop.surfaceAlignment)},
      {38, prop.l2CacheSize},
      {39, prop.maxThreadsPerMultiProcessor},
      {75, prop.major},
      {76, prop.minor},
      {83, prop.managedMemory},
      {95, prop.cooperativeLaunch},
      {97, static_cast<long long>(prop.sharedMemPerBlockOptin)},
      {106, prop.maxBlocksPerMultiProcessor},
      {111, static_cast<long long>(prop.reservedSharedMemPerBlock)},
  };
  for (const auto& [attribute, member] : members) {
    INFO("attribute " << attribute);
    int value = -1;
    REQUIRE(face.Call("cudaDeviceGetAttribute", &value, static_cast<cudaDeviceAttr>(attribute), 0) ==
            cudaSuccess);
    REQUIRE(value == member);
  }
}

}  // namespace

TEST_CASE("device properties in the layout of each major", "[cudart]") {
  const auto eleven = Properties<cudaDeviceProp11>(Face::Of(11));
  const auto twelve = Properties<cudaDeviceProp12>(Face::Of(12), "cudaGetDeviceProperties_v2");
  const auto thirteen = Properties<cudaDeviceProp13>(Face::Of(13));
  RequireAsAttributes(Face::Of(11), eleven);
  RequireAsAttributes(Face::Of(12), twelve);
  RequireAsAttributes(Face::Of(13), thirteen);
  REQUIRE(std::string(eleven.name) == thirteen.name);
  REQUIRE(eleven.totalGlobalMem == thirteen.totalGlobalMem);
  REQUIRE(twelve.tail.clusterLaunch == thirteen.tail.clusterLaunch);
  REQUIRE(eleven.clockRate > 0);
  REQUIRE(Face::Of(13).Call("cudaGetDeviceProperties", static_cast<cudaDeviceProp13*>(nullptr), 0) ==
          cudaErrorInvalidValue);
  cudaDeviceProp13 prop;
  REQUIRE(Face::Of(13).Call("cudaGetDeviceProperties", &prop, 77) == cudaErrorInvalidDevice);
}

TEST_CASE("pointer attributes in the layout of each major", "[cudart]") {
  const Face& face = Face::Of(13);
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  int on_stack = 0;
  REQUIRE(face.Call("cudaMalloc", &device, size_t{64}) == cudaSuccess);
  REQUIRE(face.Call("cudaMallocHost", &pinned, size_t{64}) == cudaSuccess);
  REQUIRE(face.Call("cudaMallocManaged", &managed, size_t{64}, 1u) == cudaSuccess);
  const auto check = [](const auto& of, void* base) {
    void* const inside = static_cast<char*>(base) + 8;
    const auto attributes = of(inside);
    REQUIRE(
        (attributes.type == cudaMemoryTypeUnregistered ? attributes.device == -2 : attributes.device == 0));
    REQUIRE(attributes.devicePointer == (attributes.type == cudaMemoryTypeUnregistered ? nullptr : inside));
    REQUIRE(attributes.hostPointer == (attributes.type == cudaMemoryTypeDevice ? nullptr : inside));
    return attributes.type;
  };
  const auto old = [](void* pointer) {
    return Guarded<cudaPointerAttributes12>([&](auto* attributes) {
      REQUIRE(Face::Of(12).Call("cudaPointerGetAttributes", attributes, static_cast<const void*>(pointer)) ==
              cudaSuccess);
    });
  };
  const auto now = [](void* pointer) {
    return Guarded<cudaPointerAttributes13>([&](auto* attributes) {
      REQUIRE(Face::Of(13).Call("cudaPointerGetAttributes", attributes, static_cast<const void*>(pointer)) ==
              cudaSuccess);
    });
  };
  REQUIRE(check(old, device) == cudaMemoryTypeDevice);
  REQUIRE(check(now, device) == cudaMemoryTypeDevice);
  REQUIRE(check(old, pinned) == cudaMemoryTypeHost);
  REQUIRE(check(now, pinned) == cudaMemoryTypeHost);
  REQUIRE(check(old, managed) == cudaMemoryTypeManaged);
  REQUIRE(check(now, managed) == cudaMemoryTypeManaged);
  REQUIRE(check(now, &on_stack - 2) == cudaMemoryTypeUnregistered);
  REQUIRE(face.Call("cudaFree", device) == cudaSuccess);
  REQUIRE(face.Call("cudaFreeHost", pinned) == cudaSuccess);
  REQUIRE(face.Call("cudaFree", managed) == cudaSuccess);
}

TEST_CASE("function attributes in the layout of CUDA 11", "[cudart]") {
  const Face& face = Face::Of(11);
  Registered binary(face, {Module(".visible .entry nothing() { ret; }")});
  const char stub = 0;
  binary.Function(&stub, "nothing");
  binary.End();
  const auto attributes = Guarded<cudaFuncAttributes11>([&](auto* of) {
    REQUIRE(face.Call("cudaFuncGetAttributes", of, static_cast<const void*>(&stub)) == cudaSuccess);
  });
  REQUIRE(attributes.maxThreadsPerBlock == 1024);
}

TEST_CASE("texture objects remember their descriptions in the layout of each major", "[cudart]") {
  void* memory = nullptr;
  REQUIRE(Face::Of(13).Call("cudaMalloc", &memory, size_t{4096}) == cudaSuccess);
  cudaResourceDesc13 resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, {32, 32, 0, 0, cudaChannelFormatKindFloat}, 1024};
  cudaTextureDesc texture{};
  texture.addressMode[1] = cudaAddressModeMirror;
  texture.readMode = cudaReadModeElementType;
  texture.normalizedCoords = 0;
  texture.maxAnisotropy = 4;
  texture.borderColor[2] = 2.5f;
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    cudaTextureObject_t object = 0;
    REQUIRE(face.Call("cudaCreateTextureObject", &object, static_cast<const void*>(&resource),
                      static_cast<const void*>(&texture), static_cast<const void*>(nullptr)) == cudaSuccess);
    const auto get = [&](const char* name) {
      return [&face, name, object](auto* of) { REQUIRE(face.Call(name, of, object) == cudaSuccess); };
    };
    const auto check_resource = [&](cudaResourceType type, const cudaResourceDescUnion& res) {
      REQUIRE(type == cudaResourceTypeLinear);
      REQUIRE((res.linear.devPtr == memory && res.linear.sizeInBytes == 1024 && res.linear.desc.y == 32 &&
               res.linear.desc.z == 0));
      REQUIRE(res.linear.desc.f == cudaChannelFormatKindFloat);
    };
    if (major < 13) {
      const auto back = Guarded<cudaResourceDesc12>(get("cudaGetTextureObjectResourceDesc"));
      check_resource(back.resType, back.res);
    } else {
      const auto back = Guarded<cudaResourceDesc13>(get("cudaGetTextureObjectResourceDesc"));
      check_resource(back.resType, back.res);
    }
    const auto how = major == 11 ? Guarded<cudaTextureDesc11>(get("cudaGetTextureObjectTextureDesc"))
                                 : static_cast<cudaTextureDesc11>(
                                       Guarded<cudaTextureDesc>(get("cudaGetTextureObjectTextureDesc")));
    REQUIRE((how.addressMode[1] == cudaAddressModeMirror && how.readMode == cudaReadModeElementType &&
             how.maxAnisotropy == 4));
    REQUIRE(how.borderColor[2] == 2.5f);
    REQUIRE(face.Call("cudaDestroyTextureObject", object) == cudaSuccess);
  }
  REQUIRE(Face::Of(13).Call("cudaFree", memory) == cudaSuccess);
}
