// Peers: two simulated devices.
#include <catch2/catch.hpp>
#include <vector>

#include "memory_context.h"

namespace driver_memory_test {

TEST_CASE("peers: access is asked for once, and copies go without", "[memory]") {
  Context& first = UseContext();
  static Device other(1, 1);
  Context& second = NewContext(other, 0);
  const CUcontext peer = HandleOf(&second);
  CHECK(cuCtxDisablePeerAccess(peer) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK(cuCtxEnablePeerAccess(peer, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxEnablePeerAccess(peer, 0) == CUDA_SUCCESS);
  CHECK(cuCtxEnablePeerAccess(peer, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(cuCtxDisablePeerAccess(peer) == CUDA_SUCCESS);
  CHECK(cuCtxEnablePeerAccess(HandleOf(&first), 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxEnablePeerAccess(nullptr, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CUdeviceptr here = 0, there = 0;
  REQUIRE(cuMemAlloc_v2(&here, 1000) == CUDA_SUCCESS);
  ContextStack::OfThread().Push(&second);
  REQUIRE(cuMemAlloc_v2(&there, 1000) == CUDA_SUCCESS);
  int ordinal = 9;
  REQUIRE(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there) == CUDA_SUCCESS);
  CHECK(ordinal == 1);
  REQUIRE(cuMemsetD8Async(there, 4, 1000, nullptr) == CUDA_SUCCESS);
  ContextStack::OfThread().Pop();
  // After the work of both.
  REQUIRE(cuMemcpyPeer(here, HandleOf(&first), there, peer, 1000) == CUDA_SUCCESS);
  std::vector<unsigned char> out(1000);
  REQUIRE(cuMemcpyDtoH_v2(out.data(), here, 1000) == CUDA_SUCCESS);
  CHECK(out == std::vector<unsigned char>(1000, 4));
  CUDA_MEMCPY3D_PEER c = {};
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = here, c.dstDevice = there, c.srcContext = HandleOf(&first), c.dstContext = peer;
  c.srcPitch = 50, c.dstPitch = 30, c.srcHeight = 4, c.dstHeight = 3, c.WidthInBytes = 20, c.Height = 3,
  c.Depth = 2;
  REQUIRE(cuMemsetD8_v2(here, 9, 1000) == CUDA_SUCCESS);
  REQUIRE(cuMemcpy3DPeer(&c) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyPeerAsync(here, nullptr, there, nullptr, 180, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH_v2(out.data(), here, 180) == CUDA_SUCCESS);
  for (size_t i = 0; i < 180; ++i) CHECK(static_cast<int>(out[i]) == (i % 30 < 20 ? 9 : 4));
  c.dstContext = reinterpret_cast<CUcontext>(&c);
  CHECK(cuMemcpy3DPeer(&c) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuMemFree_v2(here) == CUDA_SUCCESS);
  REQUIRE(cuMemFree_v2(there) == CUDA_SUCCESS);
  second.End();
}

}  // namespace driver_memory_test
