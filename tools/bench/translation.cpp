// translation [--block X,Y,Z] [--opt N] [--width N] [--quick] [--ptxas PATH] [--stages] [--repeat N] FILE...:
// processor time and memory of compiling all kernels of PTX modules on one thread, beside those of `ptxas
// -O3`. Each run is a process of its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/growth.h"

extern char** environ;

namespace ptx2cpu::bench {

namespace {

struct Options {
  CostOptions cost = {.verify = false};
  std::string ptxas;
  bool stages = false;
  int repeat = 1;  // the least of so many
  std::vector<std::string> files;
};

// What a process took.
struct Usage {
  double milliseconds = 0;  // of all its threads
  double megabytes = 0;     // most that was resident
  bool ended_well = false;
};

Usage WaitFor(pid_t child) {
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const auto milliseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return {milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime),
          static_cast<double>(usage.ru_maxrss) / 1024, WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

std::string ContentOf(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "sm_90" of the directive .target.
std::string TargetOf(std::string_view text) {
  const size_t directive = text.find(".target");
  if (directive == std::string_view::npos) return "sm_90";
  const size_t from = text.find("sm_", directive), to = text.find_first_of(", \t\r\n", from);
  return std::string(text.substr(from, to - from));
}

Usage RunPtxas(const std::string& ptxas, const std::string& file) {
  const std::string target = "-arch=" + TargetOf(ContentOf(file));
  const std::array<const char*, 7> arguments = {ptxas.c_str(), "-O3",        target.c_str(), "-o",
                                                "/dev/null",   file.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, ptxas.c_str(), &actions, nullptr, const_cast<char**>(arguments.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? WaitFor(child) : Usage();
}

struct Ours {
  Usage usage;
  std::map<std::string, double> stages;  // milliseconds
  uint64_t ir = 0, llvm = 0;             // instructions
  std::vector<std::string> failures;
};

[[noreturn]] void Report(int pipe, const std::string& text, CostOptions options) {
  std::vector<std::string> failed;
  options.failed_kernels = &failed;
  const Result<CompileCost> cost = MeasureCompile(text, options);
  std::FILE* out = fdopen(pipe, "w");
  if (!cost) {
    fmt::print(out, "! {}\n", cost.error().message);
  } else {
    fmt::print(out, "= {} {}\n", cost->ir_instructions, cost->llvm_instructions);
    for (const StageCost& stage : cost->stages) fmt::print(out, "{} {}\n", stage.milliseconds, stage.stage);
    for (const std::string& kernel : failed) fmt::print(out, "! {}\n", kernel);
  }
  std::fclose(out);
  _exit(0);
}

Ours RunOurs(const std::string& file, const CostOptions& options) {
  const std::string text = ContentOf(file);
  int ends[2];
  Ours ours;
  if (pipe(ends) != 0) return ours;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) Report(ends[1], text, options);
  close(ends[1]);
  std::FILE* in = fdopen(ends[0], "r");
  std::array<char, 4096> line;
  while (std::fgets(line.data(), line.size(), in) != nullptr) {
    std::string_view read(line.data());
    read.remove_suffix(read.ends_with('\n') ? 1 : 0);
    if (read.starts_with("! ")) {
      ours.failures.emplace_back(read.substr(2));
    } else if (read.starts_with("= ")) {
      std::sscanf(line.data(), "= %lu %lu", &ours.ir, &ours.llvm);
    } else {
      ours.stages[std::string(read.substr(read.find(' ') + 1))] += std::strtod(line.data(), nullptr);
    }
  }
  std::fclose(in);
  ours.usage = WaitFor(child);
  return ours;
}

template <typename Run>
auto Least(int repeat, const Run& run, const auto& time) {
  auto least = run();
  for (int n = 1; n < repeat; ++n) {
    auto next = run();
    if (time(next) < time(least)) least = std::move(next);
  }
  return least;
}

// Geometric means of what all modules gave.
struct Means {
  double time = 0, memory = 0;
  int count = 0;
};

void MeasureFile(const Options& options, const std::string& file, Means& means,
                 std::map<std::string, double>& stages) {
  const double kilobytes = static_cast<double>(std::filesystem::file_size(file)) / 1024;
  const Ours ours = Least(
      options.repeat, [&] { return RunOurs(file, options.cost); },
      [](const Ours& run) { return run.usage.milliseconds; });
  Usage theirs;
  if (!options.ptxas.empty())
    theirs = Least(
        options.repeat, [&] { return RunPtxas(options.ptxas, file); },
        [](const Usage& run) { return run.milliseconds; });
  fmt::print("{:<34}{:>8.1f}{:>10.1f}{:>8.2f}{:>8.0f}{:>9}{:>9}",
             std::filesystem::path(file).filename().string().substr(0, 33), kilobytes,
             ours.usage.milliseconds, kilobytes / 1.024 / ours.usage.milliseconds, ours.usage.megabytes,
             ours.ir, ours.llvm);
  if (theirs.ended_well && ours.usage.ended_well && ours.failures.empty()) {
    const double times = ours.usage.milliseconds / theirs.milliseconds;
    fmt::print("{:>10.1f}{:>8.0f}{:>8.2f}", theirs.milliseconds, theirs.megabytes, times);
    means.time += std::log(times);
    means.memory += std::log(ours.usage.megabytes / theirs.megabytes);
    ++means.count;
  }
  fmt::print("\n");
  for (const std::string& failure : ours.failures) fmt::print("  {}\n", failure);
  if (!ours.usage.ended_well) fmt::print("  ended badly\n");
  for (const auto& [stage, milliseconds] : ours.stages) stages[stage] += milliseconds;
}

void PrintStages(const std::map<std::string, double>& stages) {
  std::vector<std::pair<std::string, double>> rows(stages.begin(), stages.end());
  std::ranges::sort(rows, std::greater(), &std::pair<std::string, double>::second);
  double all = 0;
  for (const auto& [stage, milliseconds] : rows) all += milliseconds;
  for (const auto& [stage, milliseconds] : rows)
    fmt::print("{:<34}{:>10.1f} ms{:>7.1f} %\n", stage, milliseconds, 100 * milliseconds / all);
}

void MeasureAll(const Options& options) {
  fmt::print("{:<34}{:>8}{:>10}{:>8}{:>8}{:>9}{:>9}{:>10}{:>8}{:>8}\n", "module", "KB", "ms", "MB/s", "MB",
             "IR", "LLVM", "ptxas ms", "MB", "ratio");
  Means means;
  std::map<std::string, double> stages;
  for (const std::string& file : options.files) MeasureFile(options, file, means, stages);
  if (means.count > 0) {
    fmt::print("geometric mean of {} modules: {:.2f} times the time of ptxas -O3, {:.2f} times its memory\n",
               means.count, std::exp(means.time / means.count), std::exp(means.memory / means.count));
  }
  if (options.stages) PrintStages(stages);
}

bool ReadArguments(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--quick") {
      options.cost.scalar_from = kScalarFrom;
      options.cost.quick_from = kQuickFrom;
    } else if (argument == "--stages") {
      options.stages = true;
    } else if (argument == "--block" && i + 1 < count) {
      analysis::LaunchShape shape{};
      if (std::sscanf(arguments[++i], "%u,%u,%u", &shape.x, &shape.y, &shape.z) != 3) return false;
      options.cost.shape = shape;
    } else if (argument == "--ptxas" && i + 1 < count) {
      options.ptxas = arguments[++i];
    } else if (argument == "--opt" && i + 1 < count) {
      options.cost.optimisation = std::atoi(arguments[++i]);
    } else if (argument == "--width" && i + 1 < count) {
      options.cost.lane_width = static_cast<uint32_t>(std::atoi(arguments[++i]));
    } else if (argument == "--repeat" && i + 1 < count) {
      options.repeat = std::atoi(arguments[++i]);
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      options.files.emplace_back(argument);
    }
  }
  return !options.files.empty();
}

}  // namespace

}  // namespace ptx2cpu::bench

int main(int count, char** arguments) {
  ptx2cpu::bench::Options options;
  if (!ptx2cpu::bench::ReadArguments(count, arguments, options)) {
    fmt::print(stderr,
               "usage: translation [--block X,Y,Z] [--opt N] [--width N] [--quick] [--ptxas PATH] [--stages] "
               "[--repeat N] FILE...\n");
    return 2;
  }
  ptx2cpu::bench::MeasureAll(options);
}
