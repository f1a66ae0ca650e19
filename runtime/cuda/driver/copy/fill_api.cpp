// cuMemset*: the caller waits only for memory that the host can see at once.
#include "driver_api.h"
#include "runtime/cuda/driver/copy/copy_plan.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

namespace {

struct Fill {
  CUdeviceptr to;
  size_t pitch;
  uint32_t value;
  unsigned value_bytes;
  size_t width, height;
};

CUresult Run(const Fill& fill, CUstream handle, bool synchronous) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  FillPlan plan;
  if (const CUresult error =
          PlanFill(fill.to, fill.pitch, fill.value, fill.value_bytes, fill.width, fill.height, &plan))
    return error;
  if (plan.nothing) return CUDA_SUCCESS;
  const CUresult queued = Submit(*stream, plan.work, [&](CUgraphNodeParams& node) {
    node.type = CU_GRAPH_NODE_TYPE_MEMSET;
    node.memset = {fill.to,
                   fill.pitch,
                   fill.value,
                   fill.value_bytes,
                   fill.width,
                   fill.height,
                   HandleOf(&stream->context())};
  });
  if (queued != CUDA_SUCCESS || !synchronous || stream->capturing()) return queued;
  const bool waits = plan.to == EndKind::kPinned || plan.to == EndKind::kManaged || plan.sync_memops;
  return waits ? SynchronizeStream(*stream) : CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return Run({dstDevice, 0, uc, 1, N, 1}, nullptr, true);
}
CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return Run({dstDevice, 0, us, 2, N, 1}, nullptr, true);
}
CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return Run({dstDevice, 0, ui, 4, N, 1}, nullptr, true);
}
CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return Run({dstDevice, 0, uc, 1, N, 1}, hStream, false);
}
CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return Run({dstDevice, 0, us, 2, N, 1}, hStream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return Run({dstDevice, 0, ui, 4, N, 1}, hStream, false);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                         size_t Height) {
  return Run({dstDevice, dstPitch, uc, 1, Width, Height}, nullptr, true);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                          size_t Height) {
  return Run({dstDevice, dstPitch, us, 2, Width, Height}, nullptr, true);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                          size_t Height) {
  return Run({dstDevice, dstPitch, ui, 4, Width, Height}, nullptr, true);
}
CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                           size_t Height, CUstream hStream) {
  return Run({dstDevice, dstPitch, uc, 1, Width, Height}, hStream, false);
}
CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                            size_t Height, CUstream hStream) {
  return Run({dstDevice, dstPitch, us, 2, Width, Height}, hStream, false);
}
CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                            size_t Height, CUstream hStream) {
  return Run({dstDevice, dstPitch, ui, 4, Width, Height}, hStream, false);
}

}  // namespace ptx2cpu::driver
