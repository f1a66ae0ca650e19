// replay: launches of a recording, without their program.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "runtime/check/checks.h"
#include "runtime/check/finding.h"
#include "tools/ptx2cpu/atomics_option.h"
#include "tools/ptx2cpu/order_option.h"
#include "tools/ptx2cpu/replay_session.h"
#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

using namespace rt::recording;

namespace {

Result<rt::ModuleOptions> ReadModuleOptions(const Arguments& arguments) {
  const lowering::BuildOptions build = TRY(ReadBuildOptions(arguments, {}));
  rt::ModuleOptions options;
  options.quick_tier = false;  // each launch runs the code that long programs have
  options.optimisation = static_cast<int>(TRY(arguments.Number("--opt", 3, 3)));
  options.tier = build.pipeline.passes.tier;
  options.collapse = build.pipeline.passes.collapse;
  options.lane_width = TRY(ReadLaneWidth(arguments));
  if (arguments.Has("--check-alignment")) options.alignment = lowering::AlignmentChecks::kAtAccess;
  return options;
}

// The recorded areas are what checked code may access.
void ReportChecks(const LaunchRecord& launch, const std::shared_ptr<const rt::KernelCode>& code) {
  const auto find = [&launch](uintptr_t address) -> std::optional<rt::check::MemoryRange> {
    const auto next = std::ranges::upper_bound(launch.areas, address, {}, &Area::address);
    if (next == launch.areas.begin()) return std::nullopt;
    const Area& area = *std::prev(next);
    if (address - area.address >= area.bytes) return std::nullopt;
    return rt::check::MemoryRange{area.address, area.bytes};
  };
  rt::check::SetMemorySource(
      {find, [](uintptr_t) { return std::string(); }, [&launch] { return launch.number + 1; }});
  rt::check::Findings::Get().Locate(launch.kernel, [code](uint32_t ptx_line) {
    rt::LaunchError at;
    at.ptx_line = ptx_line;
    rt::FaultPlace place = code->module().Locate(at);
    return rt::check::Place{std::move(place.file), std::move(place.excerpt), std::move(place.source_file),
                            place.line, place.source_line};
  });
}

Status Measure(const ReplaySession& session, Replay& replay, uint64_t repeats, unsigned workers) {
  for (const LaunchRecord& launch : session.launches) {
    const auto code = TRY(replay.CodeOf(launch));
    std::vector<double> times;
    for (uint64_t i = 0; i <= repeats; ++i) {  // the first is not measured: pages and caches are cold
      TRY_STATUS(replay.Enter(launch));
      const auto start = std::chrono::steady_clock::now();
      if (const auto error = TRY(replay.Run(launch, *code, {.max_workers = workers})))
        return Fail(ErrorCode::kFault, error->message);
      if (i != 0)
        times.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::ranges::sort(times);
    fmt::print("{}: {:.4f} ms, median {:.4f} ms of {} runs\n", NameOf(launch), times.front(),
               times[times.size() / 2], times.size());
  }
  return {};
}

// Each launch from its recorded memory, in index order and in others.
Status TryOrders(const ReplaySession& session, Replay& replay, const Orders& orders) {
  size_t depend = 0;
  for (const LaunchRecord& launch : session.launches) {
    const auto code = TRY(replay.CodeOf(launch));
    TRY_STATUS(replay.Enter(launch));
    std::vector<OrderedMemory> memory;
    for (const Area& area : launch.areas)
      memory.push_back({ReplayMemory::At(area), [&area](uint64_t offset) { return Describe(area, offset); }});
    const std::string text = TRY(CompareOrders(
        orders, memory, [&](std::optional<uint64_t> seed) -> Result<std::optional<std::string>> {
          const auto error =
              TRY(replay.Run(launch, *code, {.max_workers = 1, .order = seed, .zeroed = true}));
          return error ? std::optional(error->message) : std::nullopt;
        }));
    fmt::print("{}: {}", NameOf(launch),
               text.empty() ? fmt::format("the same in {} other orders\n", orders.count) : text);
    depend += text.empty() ? 0 : 1;
  }
  if (depend == 0) return {};
  return Fail(kDiffers, fmt::format("{} of {} launches depend on the order of threads or blocks", depend,
                                    session.launches.size()));
}

}  // namespace

Status RunReplay(const Arguments& arguments) {
  const auto orders = TRY(ReadOrders(arguments));
  if (arguments.Has("--interpret")) {
    for (const char* option : {"--bench", "--check", "--opt", "--width"}) {
      if (arguments.Has(option))
        return Fail(ErrorCode::kUsage, fmt::format("--interpret and {} contradict each other", option));
    }
    return RunInObject("replay", arguments);
  }
  const std::vector<Setting> checks = TRY(CheckSettings(arguments));
  for (const Setting& setting : checks) setenv(setting.name.c_str(), setting.value.c_str(), 1);
  for (const Setting& setting : TRY(AtomicsSettings(arguments)))
    setenv(setting.name.c_str(), setting.value.c_str(), 1);
  rt::ModuleOptions options = TRY(ReadModuleOptions(arguments));
  if (orders) options.RunInAnyOrder();
  const uint64_t repeats = TRY(arguments.Number("--repeat", 10, 1000000));
  const auto workers = static_cast<unsigned>(TRY(arguments.Number("--threads", 0, 4096)));
  if (repeats == 0) return Fail(ErrorCode::kUsage, "--repeat must be at least 1");
  ReplaySession session = TRY(OpenReplay(arguments));
  Replay replay(session.reader, std::move(session.memory), options);
  if (orders) return TryOrders(session, replay, *orders);
  if (arguments.Has("--bench")) return Measure(session, replay, repeats, workers);
  return CompareWithRecording(session, replay,
                              [&](const LaunchRecord& launch) -> Result<std::optional<std::string>> {
                                const auto code = TRY(replay.CodeOf(launch));
                                TRY_STATUS(replay.Enter(launch));
                                if (!checks.empty()) ReportChecks(launch, code);
                                const auto error = TRY(replay.Run(launch, *code, {.max_workers = workers}));
                                return error ? std::optional(error->message) : std::nullopt;
                              });
}

}  // namespace ptx2cpu::tool
