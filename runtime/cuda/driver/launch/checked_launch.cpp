#include "runtime/cuda/driver/launch/checked_launch.h"

#include <mutex>
#include <utility>

#include "runtime/check/checks.h"
#include "runtime/check/finding.h"
#include "runtime/cuda/driver/memory/allocations.h"

namespace ptx2cpu::driver {

void PrepareChecks(const rt::KernelCode& code, std::shared_ptr<const void> keep) {
  static std::once_flag once;
  std::call_once(once, [] {
    rt::check::SetMemorySource({[](uintptr_t address) -> std::optional<rt::check::MemoryRange> {
                                  const auto range = Allocations::Get().Find(address);
                                  if (!range) return std::nullopt;
                                  return rt::check::MemoryRange{range->base, range->size};
                                },
                                [](uintptr_t address) { return Allocations::Get().Near(address); },
                                [] { return Allocations::Get().version(); }});
  });
  rt::check::Findings::Get().Locate(code.name(), [&code, keep = std::move(keep)](uint32_t ptx_line) {
    rt::LaunchError at;
    at.ptx_line = ptx_line;
    rt::FaultPlace place = code.module().Locate(at);
    return rt::check::Place{std::move(place.file), std::move(place.excerpt), std::move(place.source_file),
                            place.line, place.source_line};
  });
}

}  // namespace ptx2cpu::driver
