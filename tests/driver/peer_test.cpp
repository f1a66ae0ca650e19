// Peer access between contexts of two devices, asked of a process that has them.
#include "tests/driver/driver_session.h"

using namespace driver_test;

TEST_CASE("peer access is asked for once, and only between devices") {
  Session session;
  CUcontext same;
  CHECK(cuCtxEnablePeerAccess(session.context, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxEnablePeerAccess(nullptr, 0) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuCtxCreate_v2(&same, 0, 0) == CUDA_SUCCESS);
  CHECK(cuCtxEnablePeerAccess(session.context, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxEnablePeerAccess(session.context, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  CHECK(cuCtxDisablePeerAccess(session.context) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK(cuCtxDestroy_v2(same) == CUDA_SUCCESS);
}
