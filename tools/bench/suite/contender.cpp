#include "tools/bench/suite/contender.h"

#include <map>
#include <thread>
#include <utility>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "runtime/check/memory.h"

namespace ptx2cpu::suite {

namespace {

// A launch with its kernel found and its arguments packed.
struct Packed {
  Kernel kernel;
  Shape shape;
  std::vector<std::byte> arguments;
};

Result<Packed> Pack(const Kernel& kernel, const Problem& problem, const KernelLaunch& launch,
                    unsigned workers) {
  const auto parameters = kernel.parameters();
  if (parameters.size() != launch.arguments.size())
    return Fail(ErrorCode::kInternal, launch.kernel + ": the table's launch has another number of arguments");
  std::vector<std::byte> buffer(kernel.parameter_bytes());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Datum& datum = problem.data[launch.arguments[i]];
    if (parameters[i].size != datum.bytes)
      return Fail(ErrorCode::kInternal, launch.kernel + ": size of argument " + std::to_string(i));
    std::memcpy(&buffer[parameters[i].offset], datum.value.data(), datum.bytes);
  }
  return Packed{
      kernel,
      {.grid = launch.grid, .block = launch.block, .max_workers = workers, .cooperative = launch.cooperative},
      std::move(buffer)};
}

}  // namespace

std::string_view NameOf(Who who) {
  switch (who) {
    case Who::kOurs:
      return "ours";
    case Who::kOpenMp:
      return "openmp";
    case Who::kOpenMpFast:
      return "openmp_fast";
    case Who::kOpenCl:
      return "opencl";
    case Who::kOneDnn:
      return "onednn";
    case Who::kChecked:
      return "checked";
    case Who::kWithout:
      return "without";
  }
  return "";
}

Result<Contender> Ours(const Row& row, const Problem& problem, unsigned workers, const Setting& setting,
                       Who who) {
  LoadOptions options;
  options.checks = who == Who::kChecked;
  if (who == Who::kWithout) options.omit = setting.omit;
  options.matrix_sums = problem.matrix_sums;
  const Program program =
      TRY(Program::Load(setting.suite + "/bin/" + std::string(row.family) + ".fatbin", options));
  std::map<std::string, Kernel> kernels;
  std::vector<Packed> packed;
  for (const KernelLaunch& launch : problem.launches) {
    auto found = kernels.find(launch.kernel);
    if (found == kernels.end()) found = kernels.emplace(launch.kernel, TRY(program.Get(launch.kernel))).first;
    packed.push_back(TRY(Pack(found->second, problem, launch, workers)));
  }
  return Contender{who, [packed = std::move(packed)]() -> Status {
                     for (const Packed& launch : packed)
                       TRY_STATUS(launch.kernel.LaunchPacked(launch.shape, launch.arguments));
                     return {};
                   }};
}

unsigned OpenMpThreads(unsigned workers) {
#ifdef _OPENMP
  return workers == 0 ? std::thread::hardware_concurrency() : workers;
#else
  return 1;
#endif
}

// Sets the threads of regions that the calling thread begins from now on. Without OpenMP they run on that
// thread.
void SetOpenMpThreads(unsigned workers) {
#ifdef _OPENMP
  omp_set_num_threads(static_cast<int>(OpenMpThreads(workers)));
#endif
}

Contender OpenMp(const Row& row, const Problem& problem, unsigned workers, Held held, bool fast_math) {
  const OpenMpBuilds& builds = row.openmp[static_cast<size_t>(held)];
  const OpenMpFunction function = fast_math ? builds.fast : builds.plain;
  return {fast_math ? Who::kOpenMpFast : Who::kOpenMp, [&problem, function, workers]() -> Status {
            SetOpenMpThreads(workers);
            function(Data(problem.data));
            return {};
          }};
}

namespace {

// What checked kernels may access: the buffers of this problem from now on.
void AllowData(const Problem& problem) {
  std::map<uintptr_t, size_t> buffers;
  for (const Datum& datum : problem.data) {
    if (datum.buffer != nullptr)
      buffers[reinterpret_cast<uintptr_t>(datum.buffer->data())] = datum.buffer->size();
  }
  const auto find = [buffers](uintptr_t address) -> std::optional<rt::check::MemoryRange> {
    const auto next = buffers.upper_bound(address);
    if (next == buffers.begin()) return std::nullopt;
    const auto& [base, bytes] = *std::prev(next);
    return address - base < bytes ? std::optional(rt::check::MemoryRange{base, bytes}) : std::nullopt;
  };
  rt::check::SetMemorySource(
      {find, {}, [version = reinterpret_cast<uintptr_t>(&problem)] { return version; }});
}

}  // namespace

Result<std::vector<Contender>> Contenders(const Row& row, const Problem& problem, unsigned workers,
                                          const Setting& setting) {
  std::vector<Contender> contenders{TRY(Ours(row, problem, workers, setting))};
  if (setting.checks) {
    AllowData(problem);
    contenders.push_back(TRY(Ours(row, problem, workers, setting, Who::kChecked)));
    return contenders;
  }
  if (!setting.omit.empty()) {
    contenders.push_back(TRY(Ours(row, problem, workers, setting, Who::kWithout)));
    return contenders;
  }
  if (workers == 1 || OpenMpThreads(workers) > 1 || std::thread::hardware_concurrency() == 1) {
    contenders.push_back(OpenMp(row, problem, workers, setting.held, false));
    contenders.push_back(OpenMp(row, problem, workers, setting.held, true));
  }
  if (setting.opencl != nullptr && row.opencl)
    contenders.push_back(TRY(setting.opencl->Contend(row, problem, workers, setting.suite)));
  if (setting.onednn != nullptr && problem.product) {
    const unsigned threads = workers == 0 ? std::thread::hardware_concurrency() : workers;
    if (auto product = setting.onednn->Product(problem, threads))
      contenders.push_back({Who::kOneDnn, std::move(*product)});
  }
  return contenders;
}

}  // namespace ptx2cpu::suite
