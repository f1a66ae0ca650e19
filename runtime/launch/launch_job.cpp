#include "runtime/launch/launch_job.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/abi/launch_shape.h"
#include "runtime/abi/tensor_core.h"
#include "runtime/abi/thread_place.h"
#include "runtime/launch/swapped_axes.h"
#include "runtime/profile/profile.h"
#include "runtime/timeline/timeline.h"

namespace ptx2cpu::rt {

namespace {

constexpr const char* kByLanes = " (by a thread of warp";

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

const char* FaultText(uint32_t kind) {
  switch (static_cast<ptx2cpu_fault_kind>(kind)) {
    case PTX2CPU_FAULT_TRAP:
      return "trap";
    case PTX2CPU_FAULT_ASSERT:
      return "assertion failed";
    case PTX2CPU_FAULT_DIVERGENT_BRANCH:
      return "the lanes of a warp disagree on a branch that decides whether a warp collective or an aligned "
             "barrier is "
             "reached; where the PTX allows that, --exec=lanes runs it";
    case PTX2CPU_FAULT_DIVERGENT_BARRIER:
      return "the threads of a block disagree on a branch that decides whether a block barrier is reached; "
             "where the PTX "
             "allows that, --exec=lanes runs it";
    case PTX2CPU_FAULT_MISSING_MEMBERS:
      return "a warp collective names members that have not reached it; --exec=lanes joins lanes that reach "
             "it from "
             "different places";
    case PTX2CPU_FAULT_NOT_A_MEMBER:
      return "a lane executes a warp collective whose membermask does not name it, and others there name "
             "other masks";
    case PTX2CPU_FAULT_BAD_ADDRESS:
      return "bad address";
    case PTX2CPU_FAULT_MISALIGNED:
      return "misaligned or unbacked address";
    case PTX2CPU_FAULT_STACK:
      return "stack overflow";
    case PTX2CPU_FAULT_BAD_FUNCTION:
      return "indirect call of an address that is not a function of this type";
    case PTX2CPU_FAULT_BAD_DESCRIPTOR:
      return "a descriptor of a matrix or product that PTX does not define, or an operation of two blocks "
             "without the other block";
    case PTX2CPU_FAULT_UNREACHABLE:
      return "control reached a place that the PTX declares unreachable";
    case PTX2CPU_FAULT_DEADLOCK:
      return "deadlock";
    case PTX2CPU_FAULT_BAD_BARRIER:
      return "a barrier that PTX does not allow";
  }
  return "unknown fault";  // of a library that is newer
}

// Resume points and words, which are rows of a fixed length; the last row ends with the last thread.
uint64_t ThreadStateBytes(const ptx2cpu_kernel& kernel, uint64_t thread_padded) {
  if (kernel.run_step == nullptr) return 0;
  return sizeof(uint32_t) *
         (thread_padded + (PTX2CPU_WORDS_PER_THREAD - 1) * PTX2CPU_MAX_THREADS_PER_BLOCK + thread_padded);
}

uint64_t PaddedThreads(const Dim3& block) {
  const uint64_t threads = Volume(block);
  return (threads + PTX2CPU_WARP_SIZE - 1) / PTX2CPU_WARP_SIZE * PTX2CPU_WARP_SIZE;
}

// Rounded up so that resume points can follow.
uint64_t SlotBytes(const ptx2cpu_kernel& kernel, uint64_t thread_padded) {
  const uint64_t bytes = uint64_t{kernel.slot_bytes_per_thread} * thread_padded +
                         uint64_t{kernel.slot_bytes_per_warp} * (thread_padded / PTX2CPU_WARP_SIZE) +
                         kernel.slot_bytes_per_block + uint64_t{64} * kernel.slot_count;
  return (bytes + 63) / 64 * 64;
}

}  // namespace

LaunchShape WithCluster(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  LaunchShape result = shape;
  const uint32_t* need = kernel.required_cluster;
  if (need[0] != 0 && shape.cluster.x == 1 && shape.cluster.y == 1 && shape.cluster.z == 1) {
    result.cluster = {need[0], need[1] == 0 ? 1 : need[1], need[2] == 0 ? 1 : need[2]};
  }
  return result;
}

uint32_t WindowBytes(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  const uint32_t bytes = kernel.static_shared_bytes + shape.dynamic_shared_bytes;
  if ((kernel.flags & PTX2CPU_KERNEL_HAS_TENSOR_MEMORY) == 0) return bytes;
  return tensor_core::OffsetInWindow(bytes) + tensor_core::kWindowBytes;
}

uint64_t ResidentBytes(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), threads = PaddedThreads(shape.block);
  const auto mapped = [page](uint64_t bytes) { return (bytes / page + 3) * page; };
  return mapped(WindowBytes(kernel, shape)) + mapped(kernel.local_bytes * threads) +
         mapped(SlotBytes(kernel, threads) + ThreadStateBytes(kernel, threads));
}

void SetExtent(ptx2cpu_block& block, const Dim3& ntid) {
  block.ntid[0] = ntid.x, block.ntid[1] = ntid.y, block.ntid[2] = ntid.z;
  block.thread_count = ntid.x * ntid.y * ntid.z;
  block.thread_padded = static_cast<uint32_t>(PaddedThreads(ntid));
  block.warp_count = block.thread_padded / PTX2CPU_WARP_SIZE;
}

void InitialiseLiveMasks(ptx2cpu_block& block) {
  for (uint32_t w = 0; w + 1 < block.warp_count; ++w) block.live[w] = ~0u;
  const uint32_t tail = block.thread_count % PTX2CPU_WARP_SIZE;
  block.live[block.warp_count - 1] = tail == 0 ? ~0u : (1u << tail) - 1;
}

void ClearTensorAllocator(ptx2cpu_block& block) {
  std::memset(block.shared + tensor_core::OffsetInWindow(block.shared_bytes) + tensor_core::kAllocatorAt, 0,
              sizeof(uint32_t));
}

LaunchJob::LaunchJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params,
                     const LaunchOptions& options)
    : kernel_(kernel),
      shape_(ShapeWithAxesOf(kernel, WithCluster(kernel, shape))),
      params_(params),
      cooperative_(options.cooperative) {
  launch_.options = &options;
  launch_.job = this;
  launch_.services = options.services != nullptr ? options.services : &DefaultServices();
}

void LaunchJob::Work(unsigned worker, Arena& arena) {
  const uint64_t begin = timeline::Wanted() ? timeline::Now() : 0;
  const profile::ShareScope share(kernel_);
  const bool ran = RunBlocks(worker, arena);
#ifdef __x86_64__
  __builtin_ia32_sfence();  // stores past the caches are visible before the launch has ended
#endif
  if (ran && begin != 0) timeline::AddWorker(worker, kernel_.name, begin, timeline::Now());
}

bool LaunchJob::FillBlock(ptx2cpu_block& block, BlockMemory& memory, ThreadIds& ids, unsigned worker,
                          uint32_t joined, const ptx2cpu_kernel* code) {
  const ptx2cpu_kernel& kernel = code == nullptr ? kernel_ : *code;
  const LaunchShape shape = SwapsAxes(kernel) == SwapsAxes(kernel_) ? shape_ : WithAxesExchanged(shape_);
  const Dim3 &ntid = shape.block, &cluster = shape.cluster;
  block = {};
  block.params = reinterpret_cast<const uint8_t*>(params_);
  SetExtent(block, {ntid.x * joined, ntid.y, ntid.z});
  block.dynamic_shared_bytes = shape_.dynamic_shared_bytes;
  block.shared_bytes = kernel.static_shared_bytes + shape_.dynamic_shared_bytes;
  block.local_stride = kernel.local_bytes;
  block.window_bytes = WindowBytes(kernel, shape_);
  block.shared = memory.shared.Ensure(block.window_bytes, 128);
  block.local = memory.local.Ensure(block.local_stride * block.thread_padded, 64);
  const uint64_t slot_bytes = SlotBytes(kernel, block.thread_padded);
  block.slots = memory.slots.Ensure(slot_bytes + ThreadStateBytes(kernel, block.thread_padded), 64);
  if (block.shared == nullptr || block.local == nullptr || block.slots == nullptr) return false;
  if (kernel.run_step != nullptr) {
    block.points = reinterpret_cast<uint32_t*>(block.slots + slot_bytes);
    block.words = block.points + block.thread_padded;
  }
  ids.Fill(ntid.x, ntid.y, ntid.z);
  block.tid = ids.tid;
  block.live = memory.live;
  block.nctaid[0] = shape.grid.x, block.nctaid[1] = shape.grid.y, block.nctaid[2] = shape.grid.z;
  block.worker = worker;
  block.worker_count = ThreadPool::Get().size();
  block.launch = &launch_;
  block.cluster_shared = &block.shared;
  block.cluster_nctaid[0] = cluster.x, block.cluster_nctaid[1] = cluster.y,
  block.cluster_nctaid[2] = cluster.z;
  block.cluster_nctarank = cluster.x * cluster.y * cluster.z;
  block.cluster_is_explicit = block.cluster_nctarank > 1 || kernel.required_cluster[0] != 0;
  if (cooperative_) block.grid_workspace = grid_workspace_;
  // Code for longer rows reads no masks (runtime/abi/joined_blocks.h).
  if (block.thread_count <= kMaxThreads) InitialiseLiveMasks(block);
  return true;
}

void LaunchJob::Fail(LaunchError error) {
  std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::move(error);
  failed_ = true;
}

void LaunchJob::Break(const Failure& failure) {
  const auto kind =
      failure.kind == Failure::Kind::kInternal ? LaunchError::Kind::kInternal : LaunchError::Kind::kResources;
  Fail({kind, Format("kernel '%s': ", kernel_.name) + failure.text});
}

LaunchError LaunchJob::NoMemory() const {
  return {LaunchError::Kind::kResources,
          Format("kernel '%s': no memory for shared, local and slot storage of a block", kernel_.name)};
}

void LaunchJob::AddTurned(const ptx2cpu_block& block) {
  std::lock_guard lock(turned_mutex_);
  turned_.push_back(&block);
}

void LaunchJob::ForgetTurned(const ptx2cpu_block& block) {
  std::lock_guard lock(turned_mutex_);
  std::erase(turned_, &block);
}

bool LaunchJob::HasAxesExchanged(const ptx2cpu_block& block) const {
  std::lock_guard lock(turned_mutex_);
  return SwapsAxes(kernel_) != (std::ranges::find(turned_, &block) != turned_.end());
}

Dim3 LaunchJob::OfProgram(const ptx2cpu_block& block, Dim3 extent) const {
  if (HasAxesExchanged(block)) std::swap(extent.x, extent.y);
  return extent;
}

std::string LaunchJob::WhereText(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line) const {
  const Dim3 at = OfProgram(block, {block.ctaid[0], block.ctaid[1], block.ctaid[2]});
  std::string text = Format("kernel '%s', block (%u,%u,%u)", kernel_.name, at.x, at.y, at.z);
  if (thread != ~0u && thread < block.thread_padded) {
    const Dim3 place = OfProgram(block, PlaceOfThread(block, thread));
    text += Format(", thread (%u,%u,%u)", place.x, place.y, place.z);
  }
  if (ptx_line != 0) text += Format(", PTX line %u", ptx_line);
  return text + ": ";
}

// The number, in the program's block, of a thread with this number in the block as it runs.
uint32_t LaunchJob::NumberOfThread(const ptx2cpu_block& block, uint32_t thread) const {
  if (!HasAxesExchanged(block) || thread >= block.thread_count) return thread;
  const Dim3 place = PlaceOfThread(block, thread);
  return (place.z * block.ntid[0] + place.x) * block.ntid[1] + place.y;
}

LaunchError LaunchJob::Fault(FaultRecord record, const ptx2cpu_block& block, const BlockMemory& memory,
                             WarpLanes lanes) const {
  if (block.thread_count == 1) lanes = {0, 1};
  const bool lanes_help = record.thread == ~0u && lanes.mask != 0;
  if (lanes_help && std::has_single_bit(lanes.mask))
    record.thread = lanes.warp * PTX2CPU_WARP_SIZE + static_cast<uint32_t>(std::countr_zero(lanes.mask));
  const auto* address = reinterpret_cast<const void*>(record.address);
  const GuardedMemory outside_of = memory.shared.InGuard(address)  ? GuardedMemory::kShared
                                   : memory.local.InGuard(address) ? GuardedMemory::kLocal
                                                                   : GuardedMemory::kNone;
  std::string text = WhereText(block, record.thread, record.ptx_line) + FaultText(record.kind);
  if (record.text[0] != 0) text += std::string(": ") + record.text;
  if (record.pc != 0) {
    text += Format(" 0x%" PRIxPTR, record.address);
    if (outside_of == GuardedMemory::kShared) text += " (just outside shared memory)";
    if (outside_of == GuardedMemory::kLocal) text += " (just outside local memory)";
  }
  if (lanes_help && record.thread == ~0u)
    text += Format("%s %u, lanes 0x%08x)", kByLanes, lanes.warp, lanes.mask);
  LaunchError error{LaunchError::Kind::kFault, std::move(text), record.kind};
  error.block = OfProgram(block, {block.ctaid[0], block.ctaid[1], block.ctaid[2]});
  error.joined = record.joined;
  error.thread = NumberOfThread(block, record.thread);
  error.ptx_line = record.ptx_line;
  error.pc = record.pc;
  error.address = record.address;
  error.outside_of = outside_of;
  return error;
}

void NameAccess(LaunchError& error, const Dim3& ntid, const Dim3& block, uint32_t thread, uintptr_t address) {
  std::string& text = error.message;
  const auto replace = [&](const std::string& begin, const std::string& end, const std::string& by) {
    const size_t first = text.find(begin);
    const size_t last = first == std::string::npos ? first : text.find(end, first);
    if (last != std::string::npos) text.replace(first, last + end.size() - first, by);
  };
  replace(", block (", ")",
          Format(", block (%u,%u,%u), thread (%u,%u,%u)", block.x, block.y, block.z, thread % ntid.x,
                 thread / ntid.x % ntid.y, thread / ntid.x / ntid.y));
  const std::string before = Format(" 0x%" PRIxPTR, error.address);
  if (text.ends_with(before) && address != error.address)
    text.replace(text.size() - before.size(), before.size(), Format(" 0x%" PRIxPTR, address));
  replace(kByLanes, ")", "");
  error.block = block;
  error.thread = thread;
  error.joined = 1;
  error.address = address;
}

}  // namespace ptx2cpu::rt
