#include <cstring>
#include <memory>
#include <vector>

#include "runtime/check/written_bytes.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/copy/copy.h"
#include "runtime/cuda/driver/stream/submit.h"
#include "runtime/stream/turns.h"
#include "runtime/timeline/timeline.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// Pageable sources up to this size are read at once, so that the caller need not wait for the stream.
constexpr size_t kStaged = 64 * 1024;
// Up to this size a copy between idle streams is done at once by the caller: less than what waking a worker
// costs.
constexpr size_t kInline = 64 * 1024;

bool OnHost(EndKind kind) { return kind == EndKind::kPageable || kind == EndKind::kPinned; }

// Row after row into memory without gaps.
void Pack(const rt::CopyWork& work, std::byte* packed) {
  for (size_t z = 0; z < work.depth; ++z) {
    for (size_t y = 0; y < work.height; ++y, packed += work.width)
      std::memcpy(packed, work.from + z * work.from_slice + y * work.from_pitch, work.width);
  }
}

void CopyNow(const rt::CopyWork& work) {
  for (size_t z = 0; z < work.depth; ++z) {
    for (size_t y = 0; y < work.height; ++y) {
      std::byte* const to = work.to + z * work.to_slice + y * work.to_pitch;
      const std::byte* const from = work.from + z * work.from_slice + y * work.from_pitch;
      rt::check::NoteHostWrite(to, from, work.width);
      std::memmove(to, from, work.width);
    }
  }
}

size_t BytesOf(const rt::CopyWork& work) { return work.width * work.height * work.depth; }

// A copy whose source is in memory of its own.
CUresult EnqueueStaged(StreamObject& stream, rt::CopyWork work) {
  const std::shared_ptr<std::byte[]> staged = std::make_unique_for_overwrite<std::byte[]>(BytesOf(work));
  Pack(work, staged.get());
  work.from = staged.get();
  work.from_pitch = work.width;
  work.from_slice = work.width * work.height;
  return Enqueue(stream, rt::CallWork{[staged, work] { CopyNow(work); }});
}

// Nothing is queued that the copy would have to wait for.
bool NothingBefore(StreamObject& stream) {
  if (stream.queue().kind() == rt::StreamKind::kNonBlocking) return stream.queue().Idle();
  return stream.context().blocking_captures.load(std::memory_order_acquire) == 0 &&
         stream.context().streams().Idle();
}

// Whether the caller waits until the copy is done.
bool Waits(const CopyPlan& plan, CopyMode mode) {
  const bool on_host = OnHost(plan.from) || OnHost(plan.to);
  switch (mode) {
    case CopyMode::kSynchronous:
      return on_host || plan.sync_memops;
    case CopyMode::kAsynchronous:
      // Into pageable memory, and between host memory; out of it when it is too much to be staged.
      return plan.to == EndKind::kPageable || (OnHost(plan.from) && OnHost(plan.to)) ||
             (plan.from == EndKind::kPageable && BytesOf(plan.work) > kStaged);
    case CopyMode::kFromCall:
      return BytesOf(plan.work) > kStaged;
    case CopyMode::kFree:
      return false;
  }
  return true;
}

bool Stages(const CopyPlan& plan, CopyMode mode) {
  return mode == CopyMode::kFromCall || (mode == CopyMode::kAsynchronous && plan.from == EndKind::kPageable);
}

}  // namespace

CUresult RunCopy(const CopyRequest& request, CUstream handle, CopyMode mode) {
  StreamObject* stream = nullptr;
  if (const CUresult error = StreamOf(handle, stream)) return error;
  CopyPlan plan;
  if (const CUresult error = PlanCopy(request, &plan)) return error;
  if (plan.nothing) return CUDA_SUCCESS;
  if (stream->capturing()) {
    CUgraphNodeParams node = {};
    node.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    node.memcpy.copyCtx = HandleOf(&stream->context());
    node.memcpy.copyParams = NodeParametersOf(request);
    return AppendToCapture(*stream, node, plan.work);
  }
  // A timeline shows copies in their streams; work that takes turns does so there.
  if (BytesOf(plan.work) <= kInline && !rt::timeline::Wanted() && !rt::OneAtATime() &&
      NothingBefore(*stream)) {
    CopyNow(plan.work);
    return CUDA_SUCCESS;
  }
  if (Waits(plan, mode)) {
    if (const CUresult error = Enqueue(*stream, plan.work)) return error;
    return SynchronizeStream(*stream);
  }
  return Stages(plan, mode) ? EnqueueStaged(*stream, plan.work) : Enqueue(*stream, plan.work);
}

CUresult MakeCopyWork(const CUDA_MEMCPY3D& copy, rt::CopyWork* work) {
  CopyPlan plan;
  if (const CUresult error = PlanCopy(RequestOf(copy), &plan)) return error;
  *work = plan.work;
  if (plan.nothing) work->width = work->height = work->depth = 0;
  return CUDA_SUCCESS;
}

CUDA_MEMCPY3D NodeParametersOf(const CopyRequest& r) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = r.from.type, copy.dstMemoryType = r.to.type;
  copy.srcXInBytes = r.from.x, copy.srcY = r.from.y, copy.srcZ = r.from.z;
  copy.dstXInBytes = r.to.x, copy.dstY = r.to.y, copy.dstZ = r.to.z;
  copy.srcArray = r.from.array, copy.dstArray = r.to.array;
  copy.srcPitch = r.from.pitch, copy.srcHeight = r.from.height;
  copy.dstPitch = r.to.pitch, copy.dstHeight = r.to.height;
  copy.WidthInBytes = r.width, copy.Height = r.height, copy.Depth = r.depth;
  if (r.from.type == CU_MEMORYTYPE_HOST) {
    copy.srcHost = r.from.pointer;
  } else {
    copy.srcDevice = reinterpret_cast<CUdeviceptr>(r.from.pointer);
  }
  if (r.to.type == CU_MEMORYTYPE_HOST) {
    copy.dstHost = const_cast<void*>(r.to.pointer);
  } else {
    copy.dstDevice = reinterpret_cast<CUdeviceptr>(r.to.pointer);
  }
  return copy;
}

CUresult MakeFillWork(const CUDA_MEMSET_NODE_PARAMS_v2& fill, rt::FillWork* work) {
  FillPlan plan;
  if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error =
          PlanFill(fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height, &plan))
    return error;
  *work = plan.work;
  if (plan.nothing) work->width = work->height = 0;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
