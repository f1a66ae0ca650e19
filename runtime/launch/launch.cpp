#include "runtime/launch/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/abi/launch_shape.h"
#include "runtime/abi/lone_launches.h"
#include "runtime/check/checks.h"
#include "runtime/launch/atomic_order.h"
#include "runtime/launch/launch_job.h"
#include "runtime/launch/run_children.h"
#include "runtime/launch/swapped_axes.h"
#include "runtime/profile/profile.h"

namespace ptx2cpu::rt {

namespace {

// The limit comes from mappings: a worker could take turns over far more blocks, but each takes six mappings,
// of which a process has 65530.
constexpr uint64_t kCooperativePerWorker = 64, kCooperativeLeast = 1024, kCooperativeMost = 8192;

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

LaunchError ShapeError(std::string message) { return {LaunchError::Kind::kShape, std::move(message)}; }

std::optional<LaunchError> CheckCluster(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  const Dim3 &g = shape.grid, c = WithCluster(kernel, shape).cluster;
  if (c.x == 0 || c.y == 0 || c.z == 0 || c.x > kMaxClusterBlocks || c.y > kMaxClusterBlocks ||
      c.z > kMaxClusterBlocks || Volume(c) > kMaxClusterBlocks) {
    return ShapeError(Format("kernel '%s': cluster %ux%ux%u is outside 1..%u blocks", kernel.name, c.x, c.y,
                             c.z, kMaxClusterBlocks));
  }
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0) {
    return ShapeError(Format("kernel '%s': grid %ux%ux%u is not a multiple of the cluster %ux%ux%u",
                             kernel.name, g.x, g.y, g.z, c.x, c.y, c.z));
  }
  const uint32_t* need = kernel.required_cluster;
  if (need[0] != 0 && (need[0] != c.x || std::max(1u, need[1]) != c.y || std::max(1u, need[2]) != c.z)) {
    return ShapeError(Format("kernel '%s' requires clusters of %ux%ux%u (.reqnctapercluster), got %ux%ux%u",
                             kernel.name, need[0], std::max(1u, need[1]), std::max(1u, need[2]), c.x, c.y,
                             c.z));
  }
  return std::nullopt;
}

// Checks the limits of grid, block and shared memory, which MaxCooperativeBlocks also needs.
std::optional<LaunchError> CheckLimits(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  const Dim3& g = shape.grid;
  const Dim3& b = shape.block;
  if (kernel.abi_version != PTX2CPU_ABI_VERSION) {
    return ShapeError(Format("kernel was compiled for ABI version %u, this runtime has %u",
                             kernel.abi_version, PTX2CPU_ABI_VERSION));
  }
  if (!IsLegalGrid(g)) {
    return ShapeError(Format("kernel '%s': grid %ux%ux%u is outside 1..%u x 1..%u x 1..%u", kernel.name, g.x,
                             g.y, g.z, kMaxGridX, kMaxGridYZ, kMaxGridYZ));
  }
  if (!IsLegalBlock(b)) {
    return ShapeError(Format("kernel '%s': block %ux%ux%u is outside %u x %u x %u with at most %u threads",
                             kernel.name, b.x, b.y, b.z, kMaxBlockXY, kMaxBlockXY, kMaxBlockZ, kMaxThreads));
  }
  const uint32_t* need = kernel.required_threads;
  if (need[0] != 0 && (need[0] != b.x || std::max(1u, need[1]) != b.y || std::max(1u, need[2]) != b.z)) {
    return ShapeError(Format("kernel '%s' requires blocks of %ux%ux%u (.reqntid), got %ux%ux%u", kernel.name,
                             need[0], std::max(1u, need[1]), std::max(1u, need[2]), b.x, b.y, b.z));
  }
  const uint32_t* most = kernel.max_threads;
  const uint64_t limit = uint64_t{most[0]} * std::max(1u, most[1]) * std::max(1u, most[2]);
  if (most[0] != 0 && Volume(b) > limit) {
    return ShapeError(Format("kernel '%s' allows at most %u threads per block (.maxntid), got %u",
                             kernel.name, static_cast<uint32_t>(limit), b.x * b.y * b.z));
  }
  const uint64_t shared = uint64_t{kernel.static_shared_bytes} + shape.dynamic_shared_bytes;
  if (shared > kMaxSharedBytes) {
    return ShapeError(
        Format("kernel '%s': %u bytes of static and %u bytes of dynamic shared memory exceed the limit of %u",
               kernel.name, kernel.static_shared_bytes, shape.dynamic_shared_bytes, kMaxSharedBytes));
  }
  return CheckCluster(kernel, shape);
}

}  // namespace

std::optional<LaunchError> CheckShape(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                      size_t param_bytes) {
  if (auto error = CheckLimits(kernel, shape)) return error;
  if (param_bytes != kernel.parameter_bytes) {
    return ShapeError(Format("kernel '%s' takes %u bytes of parameters, got %zu", kernel.name,
                             kernel.parameter_bytes, param_bytes));
  }
  return std::nullopt;
}

uint64_t MaxCooperativeBlocks(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  if (CheckLimits(kernel, shape)) return 0;
  const uint64_t memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t by_memory = memory / 2 / ResidentBytes(kernel, shape);
  const uint64_t by_count =
      std::clamp(kCooperativePerWorker * ThreadPool::Get().size(), kCooperativeLeast, kCooperativeMost);
  const uint64_t cluster = Volume(WithCluster(kernel, shape).cluster);
  return std::min(by_memory, by_count) / cluster * cluster;
}

namespace {

bool BlocksWait(const ptx2cpu_kernel& kernel, const LaunchShape& shape) {
  return kernel.run_step != nullptr || Volume(WithCluster(kernel, shape).cluster) > 1;
}

std::shared_ptr<LaunchJob> MakeJob(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                   const std::byte* params, const LaunchOptions& options) {
  if (!BlocksWait(kernel, shape)) return MakePlainJob(kernel, shape, params, options);
  // Blocks that wait for each other run one code: the first launch is counted as a whole.
  const ptx2cpu_kernel* counting =
      profile::Wanted() ? profile::TakeCounting(kernel, profile::Counted::kLaunch) : nullptr;
  return MakeResidentJob(counting == nullptr ? kernel : *counting, shape, params, options);
}

void Write(const LaunchOptions& options, std::string_view text) {
  if (text.empty()) return;
  if (options.print) return options.print(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// What the grid's threads printed, when all blocks have ended.
void Print(LaunchJob& job, const LaunchOptions& options) {
  const auto order =
      BlocksWait(job.kernel(), job.shape()) ? PrintLog::Order::kByTime : PrintLog::Order::kByBlock;
  Write(options, job.launch().prints.Take(order, job.launch().services->limits.printf_bytes));
  const std::string errors = job.launch().prints.TakeErrors();
  std::fwrite(errors.data(), 1, errors.size(), stderr);
}

// Where jobs run: with the caller's arena, or with one of the pool.
struct Runner {
  unsigned worker = 0;
  Arena* arena = nullptr;
  void Run(const std::shared_ptr<LaunchJob>& job, unsigned max_workers) const {
    if (arena != nullptr)
      ThreadPool::Get().Run(job, max_workers, worker, *arena);
    else
      ThreadPool::Get().Run(job, max_workers);
  }
};

std::optional<LaunchError> RunGrid(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                   const std::byte* params, const LaunchOptions& options, uint32_t depth,
                                   const Runner& runner);

void MoveRows(const ChildOperation& rows) {
  for (uint64_t y = 0; y < rows.height; ++y) {
    std::byte* to = rows.to + y * rows.to_pitch;
    if (rows.kind == ChildOperation::Kind::kFill)
      std::memset(to, rows.value, rows.width);
    else
      std::memcpy(to, rows.from + y * rows.from_pitch, rows.width);
  }
}

std::optional<LaunchError> RunOperation(const ChildOperation& operation, const LaunchOptions& options,
                                        uint32_t depth, const Runner& runner) {
  if (operation.kind == ChildOperation::Kind::kLaunch) {
    const ChildLaunch& child = *operation.launch;
    return RunGrid(*child.kernel, child.shape, child.parameters, options, depth + 1, runner);
  }
  LandingPoint landing;
  LandingScope scope(landing);
  if (sigsetjmp(landing.jump, 0) != 0) {
    UnblockFaultSignals();
    LaunchError error{LaunchError::Kind::kFault, "a copy or fill that a kernel requested: bad address",
                      landing.record.kind};
    error.pc = landing.record.pc, error.address = landing.record.address;
    return error;
  }
  MoveRows(operation);
  return std::nullopt;
}

// Ends the checks even if the launch throws.
struct ChecksEnd {
  const ptx2cpu_launch* launch;
  ~ChecksEnd() { check::EndLaunch(launch); }
};

// Runs the grid of a job; with its checks, if any are wanted.
void Run(const std::shared_ptr<LaunchJob>& job, const Runner& runner, unsigned max_workers) {
  const LaunchShape launched = ShapeWithAxesOf(job->kernel(), job->shape());
  const profile::LaunchScope seen(job->kernel(), launched.grid, launched.block,
                                  launched.dynamic_shared_bytes);
  const bool may_be_alone =
      (job->kernel().flags & PTX2CPU_KERNEL_MAY_RUN_ALONE) != 0 && !BlocksWait(job->kernel(), job->shape());
  RunningLaunches::Scope running(ThreadPool::Get().launches(), may_be_alone);
  job->set_running(&running);
  if (!check::Checks(job->kernel())) [[likely]]
    return runner.Run(job, max_workers);
  check::BeginLaunch(&job->launch(), job->kernel(), job->launch().services->heap,
                     [queue = &job->launch().children](uint64_t address, uint64_t bytes) {
                       return queue->Holds(address, bytes);
                     });
  const ChecksEnd end{&job->launch()};
  runner.Run(job, check::NeedsOneWorker() ? 1 : max_workers);
  const std::optional<LaunchError>& error = job->error();
  if (!error || error->kind != LaunchError::Kind::kFault) return;
  const bool is_thread = error->thread != ~0u;
  const uint32_t thread = is_thread ? error->thread : 0;
  const Dim3& block = launched.block;
  check::AddFault(&job->launch(),
                  {{error->block.x, error->block.y, error->block.z},
                   {thread % block.x, thread / block.x % block.y, thread / block.x / block.y},
                   error->ptx_line,
                   is_thread},
                  error->ptx_line == 0 ? error->pc : 0, error->message);
}

LaunchOptions OptionsOfChildren(const LaunchOptions& options) {
  return {.max_workers = options.max_workers,
          .print = options.print,
          .services = options.services,
          .order = options.order,
          .zeroed = options.zeroed};
}

// The grid and what its threads launched. The last tail launch takes the grid's place.
std::optional<LaunchError> RunGrid(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                   const std::byte* params, const LaunchOptions& options, uint32_t depth,
                                   const Runner& runner) {
  if ((NeedsBlockOrder(kernel) || options.order) && options.max_workers != 1) [[unlikely]] {
    LaunchOptions ordered = options;
    ordered.max_workers = 1;
    return RunGrid(kernel, shape, params, ordered, depth, runner);
  }
  std::shared_ptr<LaunchJob> job = MakeJob(kernel, shape, params, options);
  LaunchOptions plain;                 // of children
  std::unique_ptr<ChildLaunch> place;  // what the job in hand reads
  for (bool first = true;; first = false) {
    job->launch().children.depth = depth;
    Run(job, runner, job->launch().options->max_workers);
    Print(*job, options);
    if (std::optional<LaunchError>& error = job->error()) {
      error->of_child = depth != 0 || !first;
      return std::move(error);
    }
    if (job->launch().children.empty()) return std::nullopt;
    if (first) plain = OptionsOfChildren(options);
    std::vector<ChildOperation> operations = job->launch().children.TakeAll();
    std::unique_ptr<ChildLaunch> last;
    if (operations.back().tail && operations.back().launch != nullptr) {
      last = std::move(operations.back().launch);
      operations.pop_back();
    }
    for (const ChildOperation& operation : operations) {
      if (auto error = RunOperation(operation, plain, depth, runner)) return error;
    }
    if (last == nullptr) return std::nullopt;
    place = std::move(last);
    if (NeedsBlockOrder(*place->kernel)) plain.max_workers = 1;
    job = MakeJob(*place->kernel, place->shape, place->parameters, plain);
  }
}

}  // namespace

std::optional<LaunchError> Launch(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                  std::span<const std::byte> params, const LaunchOptions& options) {
  if (auto error = CheckShape(kernel, shape, params.size())) return error;
  if (options.cooperative) {
    const uint64_t most = MaxCooperativeBlocks(kernel, shape), blocks = Volume(shape.grid);
    if (blocks > most) {
      return LaunchError{
          LaunchError::Kind::kResources,
          Format(
              "kernel '%s': a cooperative grid of %llu blocks cannot be resident at once; the limit is %llu "
              "blocks of this shape",
              kernel.name, static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(most))};
    }
  }
  return RunGrid(kernel, shape, params.data(), options, 0, {});
}

std::optional<LaunchError> LaunchOn(const ptx2cpu_kernel& kernel, const LaunchShape& shape,
                                    const std::byte* params, const LaunchOptions& options, unsigned worker,
                                    Arena& arena) {
  return RunGrid(kernel, shape, params, options, 0, {worker, &arena});
}

std::optional<LaunchError> RunOperations(std::vector<ChildOperation> operations, const LaunchOptions& options,
                                         uint32_t depth) {
  const LaunchOptions plain = OptionsOfChildren(options);
  for (const ChildOperation& operation : operations) {
    if (auto error = RunOperation(operation, plain, depth, {})) return error;
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::rt
