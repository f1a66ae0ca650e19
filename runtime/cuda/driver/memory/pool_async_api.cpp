// cuMemAllocAsync and cuMemFreeAsync.
#include "driver_api.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/graph/graph_memory.h"
#include "runtime/cuda/driver/memory/checked_memory.h"
#include "runtime/cuda/driver/memory/memory.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

namespace {

// During capture the memory belongs to the graph, and has its address from now on.
CUresult AllocateInCapture(MemoryPool& pool, size_t bytes, StreamObject& stream, CUdeviceptr* made) {
  CUgraphNodeParams node = {};
  node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node.alloc.poolProps = pool.properties();
  node.alloc.bytesize = bytes;
  std::shared_ptr<const void> memory = AllocateForGraph(pool.properties(), bytes, &node.alloc.dptr);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = node.alloc.dptr;
  return AppendToCapture(stream, node, rt::CallWork{[memory] {}});
}

CUresult Allocate(CUdeviceptr* dptr, size_t bytes, MemoryPool* pool, CUstream handle) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) return *dptr = 0, CUDA_SUCCESS;
  MemoryPool& from = pool != nullptr ? *pool : CurrentPool(stream->context().device().ordinal());
  if (stream->capturing()) return AllocateInCapture(from, bytes, *stream, dptr);
  if (const CUresult error = AllowedDuringCapture()) return error;
  return AllocateFromPool(from, bytes, stream, dptr);
}

// Done when everything that was queued before is, by the stream's rules.
rt::Ticket TicketOfNow(StreamObject& stream) {
  // A blocking stream and the legacy stream wait for each other where something is submitted.
  if (stream.queue().kind() != rt::StreamKind::kNonBlocking && !stream.context().streams().Idle())
    stream.queue().Submit(rt::CallWork{[] {}});
  return stream.queue().Idle() ? rt::Ticket{} : stream.queue().Last();
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  return Allocate(dptr, bytesize, nullptr, hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Allocate(dptr, bytesize, found, hStream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (!stream->capturing()) {
    if (const CUresult error = AllowedDuringCapture()) return error;
  }
  if (dptr == 0) return CUDA_SUCCESS;
  const auto freeable = [](const Range& range) {
    return range.kind == RangeKind::kPool || range.kind == RangeKind::kDevice ||
           range.kind == RangeKind::kPitched || range.kind == RangeKind::kManaged;
  };
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(dptr));
  if (!range || range->base != dptr || !freeable(*range)) return RefuseFree("cuMemFreeAsync", dptr);
  if (stream->capturing()) {
    CUgraphNodeParams node = {};
    node.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    node.free.dptr = dptr;
    return AppendToCapture(*stream, node, rt::CallWork{[] {}});
  }
  if (IsGraphMemory(*range)) return FreeGraphMemory(dptr);  // it goes with its graph
  // Before it is no allocation any more: kernels that are in front of this in the stream look for it.
  if (CheckedMemory::Get().keeps_freed()) CheckedMemory::Get().FreedInStream(*range, TicketOfNow(*stream));
  const auto gone = Allocations::Get().Remove(static_cast<uintptr_t>(dptr), freeable);
  if (!gone) return CUDA_ERROR_INVALID_VALUE;
  if (gone->kind == RangeKind::kPool) {
    FreePoolMemory(*gone, TicketOfNow(*stream));
    return CUDA_SUCCESS;
  }
  // Memory of cuMemAlloc goes when its turn comes.
  const CUresult queued = Enqueue(*stream, rt::CallWork{[range = *gone] { ReleaseMemory(range); }, true});
  if (queued != CUDA_SUCCESS) Allocations::Get().Insert(*gone);
  return queued;
}

}  // namespace ptx2cpu::driver
