#include "runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "runtime/fault.h"
#include "runtime/launch_state.h"
#include "runtime/thread_pool.h"

namespace ptx2cpu::rt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kChunkSeconds = 50e-6;  // aim of one claim: long against an atomic add, short against a launch
constexpr double kHelpSeconds = 20e-6;   // work left that is worth waking other threads for

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

LaunchError ShapeError(std::string message) { return {LaunchError::Kind::kShape, std::move(message)}; }

const char* FaultText(uint32_t kind) {
  switch (kind) {
    case PTX2CPU_FAULT_TRAP: return "trap";
    case PTX2CPU_FAULT_ASSERT: return "assertion failed";
    case PTX2CPU_FAULT_DIVERGENT_BRANCH:
      return "the lanes of a warp disagree on a branch that decides whether a warp collective is reached; this needs "
             "divergent collectives (tier T3), which this version does not run";
    case PTX2CPU_FAULT_DIVERGENT_BARRIER:
      return "the threads of a block disagree on a branch that decides whether a block barrier is reached; this needs "
             "resumable warps (tier T2), which this version does not run";
    case PTX2CPU_FAULT_MISSING_MEMBERS:
      return "a warp collective names members that are not here; this needs divergent collectives (tier T3), which "
             "this version does not run";
    case PTX2CPU_FAULT_BAD_ADDRESS: return "bad address";
    case PTX2CPU_FAULT_MISALIGNED: return "misaligned or unbacked address";
    case PTX2CPU_FAULT_STACK: return "stack overflow";
    case PTX2CPU_FAULT_UNREACHABLE: return "control reached a place that PTX says is never reached";
    default: return "unknown fault";
  }
}

// All blocks of one launch.
class GridJob final : public Job, public std::enable_shared_from_this<GridJob> {
 public:
  GridJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const std::byte* params, const LaunchOptions& options)
      : kernel_(kernel), shape_(shape), params_(params),
        total_(uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z) {
    launch_.options = &options;
  }

  void Work(unsigned worker, Arena& arena) override;
  bool Exhausted() const override { return next_.load(std::memory_order_relaxed) >= total_ || failed_.load(); }
  std::optional<LaunchError>& error() { return error_; }
  ptx2cpu_launch& launch() { return launch_; }

 private:
  bool FillBlock(ptx2cpu_block& block, Arena& arena, unsigned worker);
  void RunChunk(ptx2cpu_block& block, uint64_t first, uint64_t count);
  void RunOne(ptx2cpu_block& block, uint64_t index);
  void Fail(LaunchError error);
  std::string FaultMessage(const FaultRecord& record, const ptx2cpu_block& block, const Arena& arena) const;

  const ptx2cpu_kernel& kernel_;
  const LaunchShape shape_;
  const std::byte* params_;
  const uint64_t total_;
  ptx2cpu_launch launch_;
  alignas(64) std::atomic<uint64_t> next_{0};
  alignas(64) std::atomic<bool> failed_{false};
  std::mutex error_mutex_;
  std::optional<LaunchError> error_;
};

void InitialiseLiveMasks(ptx2cpu_block& block) {
  for (uint32_t w = 0; w + 1 < block.warp_count; ++w) block.live[w] = ~0u;
  const uint32_t tail = block.thread_count % PTX2CPU_WARP_SIZE;
  block.live[block.warp_count - 1] = tail == 0 ? ~0u : (1u << tail) - 1;
}

bool GridJob::FillBlock(ptx2cpu_block& block, Arena& arena, unsigned worker) {
  const Dim3& ntid = shape_.block;
  block = {};
  block.params = reinterpret_cast<const uint8_t*>(params_);
  block.thread_count = ntid.x * ntid.y * ntid.z;
  block.warp_count = (block.thread_count + PTX2CPU_WARP_SIZE - 1) / PTX2CPU_WARP_SIZE;
  block.thread_padded = block.warp_count * PTX2CPU_WARP_SIZE;
  block.dynamic_shared_bytes = shape_.dynamic_shared_bytes;
  block.shared_bytes = kernel_.static_shared_bytes + shape_.dynamic_shared_bytes;
  block.local_stride = kernel_.local_bytes;
  const uint64_t slot_bytes = uint64_t{kernel_.slot_bytes_per_thread} * block.thread_padded +
                              uint64_t{kernel_.slot_bytes_per_warp} * block.warp_count + kernel_.slot_bytes_per_block +
                              uint64_t{64} * kernel_.slot_count;
  block.shared = arena.shared.Ensure(block.shared_bytes, 128);
  block.local = arena.local.Ensure(block.local_stride * block.thread_padded, 64);
  block.slots = arena.slots.Ensure(slot_bytes, 64);
  if (block.shared == nullptr || block.local == nullptr || block.slots == nullptr) return false;
  arena.FillThreadIds(ntid.x, ntid.y, ntid.z);
  block.tid = arena.tid;
  block.live = arena.live;
  block.nctaid[0] = shape_.grid.x, block.nctaid[1] = shape_.grid.y, block.nctaid[2] = shape_.grid.z;
  block.ntid[0] = ntid.x, block.ntid[1] = ntid.y, block.ntid[2] = ntid.z;
  block.worker = worker;
  block.worker_count = ThreadPool::Get().size();
  block.launch = &launch_;
  InitialiseLiveMasks(block);
  return true;
}

void GridJob::RunOne(ptx2cpu_block& block, uint64_t index) {
  const uint64_t plane = uint64_t{shape_.grid.x} * shape_.grid.y;
  block.ctaid[2] = static_cast<uint32_t>(index / plane);
  const uint64_t rest = index % plane;
  block.ctaid[1] = static_cast<uint32_t>(rest / shape_.grid.x);
  block.ctaid[0] = static_cast<uint32_t>(rest % shape_.grid.x);
  if ((kernel_.flags & PTX2CPU_KERNEL_HAS_EARLY_EXIT) != 0) InitialiseLiveMasks(block);
  kernel_.run_block(&block);
}

void GridJob::RunChunk(ptx2cpu_block& block, uint64_t first, uint64_t count) {
  for (uint64_t index = first; index < first + count; ++index) RunOne(block, index);
}

void GridJob::Work(unsigned worker, Arena& arena) {
  ptx2cpu_block block;
  if (!FillBlock(block, arena, worker)) {
    return Fail({LaunchError::Kind::kResources,
                 Format("kernel '%s': no memory for shared, local and slot storage of a block", kernel_.name)});
  }
  LandingPoint landing;
  landing.block = &block;
  LandingScope scope(landing);
  // No signal mask is saved: the handlers run without blocking their signal (see fault.cpp).
  if (sigsetjmp(landing.jump, 0) != 0) {
    UnblockFaultSignals();
    const FaultRecord record = landing.record;
    LaunchError error{LaunchError::Kind::kFault, FaultMessage(record, block, arena), record.kind,
                      {block.ctaid[0], block.ctaid[1], block.ctaid[2]}, record.thread, record.ptx_line, record.pc, record.address};
    return Fail(std::move(error));
  }
  uint64_t grain = 1;
  bool asked = worker != 0;
  while (!failed_.load(std::memory_order_relaxed)) {
    const uint64_t first = next_.fetch_add(grain, std::memory_order_relaxed);
    if (first >= total_) break;
    const uint64_t count = std::min(grain, total_ - first);
    if (!asked && total_ == 1) asked = true;
    const Clock::time_point start = total_ == 1 ? Clock::time_point{} : Clock::now();
    RunChunk(block, first, count);
    if (total_ == 1) break;
    const double per_block = std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(count) + 1e-9;
    const uint64_t left = total_ - std::min(total_, next_.load(std::memory_order_relaxed));
    if (!asked && per_block * static_cast<double>(left) > kHelpSeconds) {
      asked = true;
      ThreadPool::Get().RequestHelp(shared_from_this());
    }
    const uint64_t fair = std::max<uint64_t>(1, left / (4 * block.worker_count));
    grain = std::clamp<uint64_t>(static_cast<uint64_t>(kChunkSeconds / per_block), 1, fair);
  }
}

void GridJob::Fail(LaunchError error) {
  std::lock_guard lock(error_mutex_);
  if (!error_) error_ = std::move(error);
  failed_ = true;
}

std::string GridJob::FaultMessage(const FaultRecord& record, const ptx2cpu_block& block, const Arena& arena) const {
  std::string text = Format("kernel '%s', block (%u,%u,%u)", kernel_.name, block.ctaid[0], block.ctaid[1], block.ctaid[2]);
  if (record.thread != ~0u && record.thread < block.thread_padded) {
    const uint32_t tid = block.tid[record.thread];
    text += Format(", thread (%u,%u,%u)", tid & 1023, tid >> PTX2CPU_TID_Y_SHIFT & 1023, tid >> PTX2CPU_TID_Z_SHIFT);
  }
  if (record.ptx_line != 0) text += Format(", PTX line %u", record.ptx_line);
  text += std::string(": ") + FaultText(record.kind);
  if (record.text[0] != 0) text += std::string(": ") + record.text;
  if (record.pc != 0) {
    text += Format(" 0x%" PRIxPTR, record.address);
    const void* address = reinterpret_cast<const void*>(record.address);
    if (arena.shared.InGuard(address)) text += " (just outside shared memory)";
    if (arena.local.InGuard(address)) text += " (just outside local memory)";
  }
  return text;
}

}  // namespace

std::optional<LaunchError> CheckShape(const ptx2cpu_kernel& kernel, const LaunchShape& shape, size_t param_bytes) {
  const Dim3& g = shape.grid;
  const Dim3& b = shape.block;
  if (kernel.abi_version != PTX2CPU_ABI_VERSION) {
    return ShapeError(Format("kernel was compiled for ABI version %u, this runtime has %u", kernel.abi_version, PTX2CPU_ABI_VERSION));
  }
  if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > kMaxGridX || g.y > kMaxGridYZ || g.z > kMaxGridYZ) {
    return ShapeError(Format("kernel '%s': grid %ux%ux%u is outside 1..%u x 1..%u x 1..%u", kernel.name, g.x, g.y, g.z,
                             kMaxGridX, kMaxGridYZ, kMaxGridYZ));
  }
  if (b.x == 0 || b.y == 0 || b.z == 0 || b.x > kMaxBlockXY || b.y > kMaxBlockXY || b.z > kMaxBlockZ ||
      uint64_t{b.x} * b.y * b.z > kMaxThreads) {
    return ShapeError(Format("kernel '%s': block %ux%ux%u is outside %u x %u x %u with at most %u threads", kernel.name,
                             b.x, b.y, b.z, kMaxBlockXY, kMaxBlockXY, kMaxBlockZ, kMaxThreads));
  }
  const uint32_t* need = kernel.required_threads;
  if (need[0] != 0 && (need[0] != b.x || std::max(1u, need[1]) != b.y || std::max(1u, need[2]) != b.z)) {
    return ShapeError(Format("kernel '%s' requires blocks of %ux%ux%u (.reqntid), got %ux%ux%u", kernel.name, need[0],
                             std::max(1u, need[1]), std::max(1u, need[2]), b.x, b.y, b.z));
  }
  const uint32_t* most = kernel.max_threads;
  const uint64_t limit = uint64_t{most[0]} * std::max(1u, most[1]) * std::max(1u, most[2]);
  if (most[0] != 0 && uint64_t{b.x} * b.y * b.z > limit) {
    return ShapeError(Format("kernel '%s' allows at most %u threads per block (.maxntid), got %u", kernel.name,
                             static_cast<uint32_t>(limit), b.x * b.y * b.z));
  }
  const uint64_t shared = uint64_t{kernel.static_shared_bytes} + shape.dynamic_shared_bytes;
  if (shared > kMaxSharedBytes) {
    return ShapeError(Format("kernel '%s': %u bytes of static and %u bytes of dynamic shared memory exceed the limit of %u",
                             kernel.name, kernel.static_shared_bytes, shape.dynamic_shared_bytes, kMaxSharedBytes));
  }
  if (param_bytes != kernel.parameter_bytes) {
    return ShapeError(Format("kernel '%s' takes %u bytes of parameters, got %zu", kernel.name, kernel.parameter_bytes, param_bytes));
  }
  return std::nullopt;
}

std::optional<LaunchError> Launch(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                  std::span<const std::byte> params, const LaunchOptions& options) {
  if (auto error = CheckShape(kernel, shape, params.size())) return error;
  auto job = std::make_shared<GridJob>(kernel, shape, params.data(), options);
  ThreadPool::Get().Run(job, options.max_workers);
  if (const std::string& text = job->launch().printed; !text.empty()) {
    if (options.print) {
      options.print(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
  }
  return std::move(job->error());
}

}  // namespace ptx2cpu::rt
