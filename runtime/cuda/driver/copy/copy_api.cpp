// The copies of one dimension.
#include "driver_api.h"
#include "runtime/cuda/driver/copy/copy.h"

namespace ptx2cpu::driver {

namespace {

constexpr CopyMode kSync = CopyMode::kSynchronous, kAsync = CopyMode::kAsynchronous;

CUresult Copy(const CopyEnd& to, const CopyEnd& from, size_t bytes, CUstream stream, CopyMode mode) {
  CopyRequest request;
  request.from = from, request.to = to, request.width = bytes;
  return RunCopy(request, stream, mode);
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return Copy(CopyEnd::Unified(dst), CopyEnd::Unified(src), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return Copy(CopyEnd::Unified(dst), CopyEnd::Unified(src), ByteCount, hStream, kAsync);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return Copy(CopyEnd::Device(dstDevice), CopyEnd::Host(srcHost), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  return Copy(CopyEnd::Device(dstDevice), CopyEnd::Host(srcHost), ByteCount, hStream, kAsync);
}
CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return Copy(CopyEnd::Host(dstHost), CopyEnd::Device(srcDevice), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return Copy(CopyEnd::Host(dstHost), CopyEnd::Device(srcDevice), ByteCount, hStream, kAsync);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return Copy(CopyEnd::Device(dstDevice), CopyEnd::Device(srcDevice), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  return Copy(CopyEnd::Device(dstDevice), CopyEnd::Device(srcDevice), ByteCount, hStream, kAsync);
}

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount) {
  return Copy(CopyEnd::Elements(dstArray, dstOffset), CopyEnd::Host(srcHost), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  return Copy(CopyEnd::Elements(dstArray, dstOffset), CopyEnd::Host(srcHost), ByteCount, hStream, kAsync);
}
CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return Copy(CopyEnd::Host(dstHost), CopyEnd::Elements(srcArray, srcOffset), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream) {
  return Copy(CopyEnd::Host(dstHost), CopyEnd::Elements(srcArray, srcOffset), ByteCount, hStream, kAsync);
}
CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount) {
  return Copy(CopyEnd::Elements(dstArray, dstOffset), CopyEnd::Device(srcDevice), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return Copy(CopyEnd::Device(dstDevice), CopyEnd::Elements(srcArray, srcOffset), ByteCount, nullptr, kSync);
}
CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
  return Copy(CopyEnd::Elements(dstArray, dstOffset), CopyEnd::Elements(srcArray, srcOffset), ByteCount,
              nullptr, kSync);
}

}  // namespace ptx2cpu::driver
