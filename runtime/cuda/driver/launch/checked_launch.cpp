#include "runtime/cuda/driver/launch/checked_launch.h"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/abi/check.h"
#include "runtime/check/checks.h"
#include "runtime/check/finding.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/checked_memory.h"
#include "runtime/cuda/driver/memory/pool.h"

namespace ptx2cpu::driver {

namespace {

// The variables of modules. The table of allocations has only those that the program has requested.
class ModuleVariables {
 public:
  static ModuleVariables& Get() {
    static auto* const variables = new ModuleVariables;  // kernels may run until the process ends
    return *variables;
  }
  void Add(rt::KernelModule& module) {
    std::lock_guard lock(mutex_);
    if (!modules_.insert(&module).second) return;
    const auto variables = module.Variables();
    if (!variables) return;
    for (const rt::ModuleVariable& variable : *variables) {
      const auto storage = module.Variable(variable.name);
      if (storage && !storage->empty())
        ranges_[reinterpret_cast<uintptr_t>(storage->data())] = storage->size();
    }
  }
  std::optional<rt::check::MemoryRange> Find(uintptr_t address) {
    std::lock_guard lock(mutex_);
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin()) return std::nullopt;
    --next;
    if (address - next->first >= next->second) return std::nullopt;
    return rt::check::MemoryRange{next->first, next->second};
  }

 private:
  std::mutex mutex_;
  std::set<const rt::KernelModule*> modules_;
  std::map<uintptr_t, size_t> ranges_;
};

std::optional<rt::check::MemoryRange> FindMemory(uintptr_t address) {
  if (const auto range = Allocations::Get().Find(address)) {
    CheckedMemory::Rows rows;
    if (range->kind == RangeKind::kPitched) rows = CheckedMemory::Get().RowsOf(range->base);
    const bool by_host =
        range->kind == RangeKind::kPinned || range->kind == RangeKind::kRegistered || IsManaged(*range);
    return rt::check::MemoryRange{range->base, range->size, rows.pitch, rows.width, by_host};
  }
  if (const auto variable = ModuleVariables::Get().Find(address)) return variable;
  const auto leaving = CheckedMemory::Get().FindLeaving(address);
  return leaving ? std::optional(rt::check::MemoryRange{leaving->base, leaving->size}) : std::nullopt;
}

// Describes an address that is in no allocation, or in one and beyond its row.
std::string TextOfNear(uintptr_t address) {
  const auto range = FindMemory(address);
  if (!range || range->pitch == 0) return Allocations::Get().Near(address);
  const size_t at = (address - range->base) % range->pitch;
  const size_t row = (address - range->base) / range->pitch;
  char text[128];
  std::snprintf(text, sizeof text, "%zu bytes into row %zu of %zu bytes (pitch %zu) at 0x%" PRIxPTR, at, row,
                range->width, range->pitch, range->base);
  return text;
}

// Blocks of device malloc that are left when their context or the process ends.
class DeviceHeaps {
 public:
  static DeviceHeaps& Get() {
    static DeviceHeaps* const heaps = [] {
      auto* made = new DeviceHeaps;  // contexts may end as late as the process
      rt::check::Findings::Get().BeforeFinish([made] { made->ReportAll(); });
      return made;
    }();
    return *heaps;
  }

  void Watch(Context& context) {
    {
      std::lock_guard lock(mutex_);
      if (!contexts_.insert(&context).second) return;
    }
    context.Own(&context, [](void* ended) { Get().End(*static_cast<Context*>(ended)); });
  }

 private:
  static void Report(Context& context) {
    const auto blocks = context.services().heap.BlocksInUse();
    if (blocks.empty()) return;
    uint64_t bytes = 0;
    for (const rt::DeviceHeap::Block& block : blocks) bytes += block.bytes;
    rt::check::Finding finding;
    finding.error = rt::check::Error::kLeak;
    finding.text = std::to_string(bytes) + " bytes of device malloc in " + std::to_string(blocks.size()) +
                   " blocks have not been freed";
    rt::check::Findings::Get().Add(std::move(finding));
  }
  void End(Context& context) {
    Report(context);
    std::lock_guard lock(mutex_);
    contexts_.erase(&context);
  }
  void ReportAll() {
    std::lock_guard lock(mutex_);
    for (Context* context : contexts_) {
      if (context->streams().Idle()) Report(*context);  // else kernels run that may change it
    }
  }

  std::mutex mutex_;
  std::set<Context*> contexts_;
};

}  // namespace

void PrepareChecks(const rt::KernelCode& code, std::shared_ptr<const void> keep, Context& context) {
  static std::once_flag once;
  std::call_once(once, [] {
    rt::check::SetMemorySource(
        {FindMemory, TextOfNear,
         [] { return Allocations::Get().version() + CheckedMemory::Get().LeavingVersion(); },
         [](uintptr_t address) { return CheckedMemory::Get().Describe(address); }});
  });
  if ((rt::check::WantedKinds() & PTX2CPU_CHECKS_LEAK) != 0) DeviceHeaps::Get().Watch(context);
  ModuleVariables::Get().Add(code.module());
  const auto place_of = [&code, keep = std::move(keep)](uint32_t ptx_line) {
    rt::LaunchError at;
    at.ptx_line = ptx_line;
    rt::FaultPlace place = code.module().Locate(at);
    return rt::check::Place{std::move(place.file), std::move(place.excerpt), std::move(place.source_file),
                            place.line, place.source_line};
  };
  rt::check::Findings::Get().Locate(code.name(), place_of,
                                    [&code](uintptr_t pc) { return code.module().PtxLineOf(pc); });
}

}  // namespace ptx2cpu::driver
