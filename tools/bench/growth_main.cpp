// growth [--json] [--limit SECONDS] [--opt 0..3] [--no-code] [--quick] [--first N] [--sizes N] [SHAPE...]:
// times and memory of compiling texts of n, 2n, 4n, 8n and so on. growth --write DIR: the texts as files.
// growth --link KERNEL FILE...: times of the first launch of a kernel of a program that is linked from these
// PTX files.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/bench/growth.h"

namespace ptx2cpu::bench {

namespace {

constexpr double kWorthNaming = 5;  // milliseconds

struct Options {
  bool json = false;
  uint32_t limit = 60;  // seconds of processor time per text
  uint32_t first = 0;   // 0: that of the shape
  uint32_t sizes = 4;   // n, 2n, 4n, 8n
  CostOptions cost;
  std::string write_to;
  std::string kernel;              // --link
  std::vector<std::string> files;  // --link
  std::vector<std::string> shapes;
};

struct Run {
  std::optional<CompileCost> cost;
  std::string failure;
  bool is_slow = false;  // it was ended at the limit
  double megabytes = 0;  // most that was resident
};

// The child's side: a line per stage.
[[noreturn]] void ReportAndExit(int pipe, const std::string& text, const Options& options) {
  const rlimit limit{options.limit, options.limit};
  setrlimit(RLIMIT_CPU, &limit);
  const Result<CompileCost> cost = MeasureCompile(text, options.cost);
  std::string report;
  if (!cost) {
    report = "! " + cost.error().message + "\n";
  } else {
    report = fmt::format("= {} {}\n", cost->ir_instructions, cost->llvm_instructions);
    for (const StageCost& stage : cost->stages)
      report += fmt::format("{} {}\n", stage.milliseconds, stage.stage);
  }
  for (size_t written = 0; written < report.size();) {
    const ssize_t count = write(pipe, report.data() + written, report.size() - written);
    if (count <= 0) _exit(1);
    written += static_cast<size_t>(count);
  }
  _exit(0);
}

void Read(const std::string& report, Run& run) {
  CompileCost cost;
  for (size_t at = 0; at < report.size();) {
    const size_t end = report.find('\n', at);
    const std::string line = report.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("! ")) {
      run.failure = line.substr(2);
      return;
    }
    if (line.starts_with("= ")) {
      std::sscanf(line.c_str(), "= %lu %lu", &cost.ir_instructions, &cost.llvm_instructions);
    } else {
      cost.stages.push_back({line.substr(line.find(' ') + 1), std::strtod(line.c_str(), nullptr)});
    }
  }
  if (!cost.stages.empty()) run.cost = std::move(cost);
}

// In a process of its own: memory is that of this text, and what takes too long is ended.
Run Measure(const std::string& text, const Options& options) {
  int ends[2];
  Run run;
  if (pipe(ends) != 0) return run;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) ReportAndExit(ends[1], text, options);
  close(ends[1]);
  std::string report;
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = read(ends[0], buffer.data(), buffer.size())) > 0;)
    report.append(buffer.data(), static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  run.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  Read(report, run);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    run.is_slow = signal == SIGXCPU || signal == SIGKILL;
    run.failure = run.is_slow ? fmt::format("over {} s", options.limit) : fmt::format("signal {}", signal);
  }
  return run;
}

double Of(const CompileCost& cost, const std::string& stage) {
  const auto found = std::ranges::find(cost.stages, stage, &StageCost::stage);
  return found == cost.stages.end() ? 0 : found->milliseconds;
}

// The exponent of the last doubling: 1 is proportional, 2 quadratic.
std::string Exponent(double before, double after) {
  return before < kWorthNaming / 4 ? "" : fmt::format("{:.2f}", std::log2(after / before));
}

void PrintRow(std::string_view name, const std::vector<double>& values, uint32_t sizes) {
  fmt::print("  {:<32}", name);
  for (double value : values) fmt::print("{:>11.1f}", value);
  for (size_t n = values.size(); n < sizes; ++n) fmt::print("{:>11}", "-");
  fmt::print("{:>8}\n", values.size() < 2 ? "" : Exponent(values[values.size() - 2], values.back()));
}

template <typename Value>
std::vector<double> Column(const std::vector<Run>& runs, const Value& value) {
  std::vector<double> column;
  for (const Run& run : runs) {
    if (run.cost) column.push_back(value(run));
  }
  return column;
}

void PrintTable(const GrowthShape& shape, uint32_t first, uint32_t sizes, const std::vector<Run>& runs) {
  fmt::print("{}: {}\n  {:<32}", shape.name, shape.what, "ms");
  for (size_t n = 0; n < sizes; ++n) fmt::print("{:>11}", first << n);
  fmt::print("{:>8}\n", "n^");
  const Run* last = nullptr;
  for (const Run& run : runs) {
    if (run.cost) last = &run;
  }
  if (last != nullptr) {
    for (const StageCost& stage : last->cost->stages) {
      if (stage.milliseconds < kWorthNaming) continue;
      PrintRow(stage.stage, Column(runs, [&](const Run& run) { return Of(*run.cost, stage.stage); }), sizes);
    }
    PrintRow("all", Column(runs, [](const Run& run) { return run.cost->Total(); }), sizes);
    PrintRow("(IR instructions)", Column(runs, [](const Run& r) { return double(r.cost->ir_instructions); }),
             sizes);
    PrintRow("(LLVM instructions)",
             Column(runs, [](const Run& r) { return double(r.cost->llvm_instructions); }), sizes);
    PrintRow("(MB)", Column(runs, [](const Run& run) { return run.megabytes; }), sizes);
  }
  for (size_t n = 0; n < runs.size(); ++n) {
    if (!runs[n].failure.empty()) fmt::print("  {}: {}\n", first << n, runs[n].failure);
  }
}

void PrintJson(const GrowthShape& shape, uint32_t n, const Run& run, bool is_first) {
  fmt::print("{}\n  {{\"shape\": \"{}\", \"n\": {}, \"megabytes\": {:.1f}", is_first ? "[" : ",", shape.name,
             n, run.megabytes);
  if (!run.failure.empty()) fmt::print(", \"failure\": \"{}\"", run.failure);
  if (run.cost) {
    fmt::print(", \"ir_instructions\": {}, \"llvm_instructions\": {}, \"ms\": {:.2f}, \"stages\": {{",
               run.cost->ir_instructions, run.cost->llvm_instructions, run.cost->Total());
    const char* comma = "";
    for (const StageCost& stage : run.cost->stages) {
      fmt::print("{}\"{}\": {:.2f}", comma, stage.stage, stage.milliseconds);
      comma = ", ";
    }
    fmt::print("}}");
  }
  fmt::print("}}");
}

bool Wanted(const Options& options, std::string_view shape) {
  return options.shapes.empty() || std::ranges::find(options.shapes, shape) != options.shapes.end();
}

void WriteTexts(const Options& options) {
  std::filesystem::create_directories(options.write_to);
  for (const GrowthShape& shape : GrowthShapes()) {
    if (!Wanted(options, shape.name)) continue;
    for (size_t n = 0; n < options.sizes; ++n) {
      const uint32_t count = (options.first != 0 ? options.first : shape.first) << n;
      std::ofstream(fmt::format("{}/{}.{}.ptx", options.write_to, shape.name, count)) << shape.text(count);
    }
  }
}

// False: one did not end, or failed, for another reason than time.
bool MeasureAll(const Options& options) {
  bool is_first = true, is_well = true;
  for (const GrowthShape& shape : GrowthShapes()) {
    if (!Wanted(options, shape.name)) continue;
    const uint32_t first = options.first != 0 ? options.first : shape.first;
    std::vector<Run> runs;
    for (size_t n = 0; n < options.sizes; ++n) {
      runs.push_back(Measure(shape.text(first << n), options));
      if (options.json) PrintJson(shape, first << n, runs.back(), std::exchange(is_first, false));
      is_well &= runs.back().cost || runs.back().is_slow;
      if (!runs.back().cost) break;
    }
    if (!options.json) PrintTable(shape, first, options.sizes, runs);
  }
  if (options.json) fmt::print("\n]\n");
  return is_well;
}

std::optional<uint32_t> Number(std::string_view text) {
  uint32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ptr != text.data() + text.size() || parsed.ec != std::errc()) return std::nullopt;
  return value;
}

Status MeasureFiles(const Options& options) {
  std::vector<lowering::PtxModule::Source> texts;
  for (const std::string& file : options.files) {
    std::ifstream in(file, std::ios::binary);
    texts.push_back({std::string(std::istreambuf_iterator<char>(in), {}), file});
  }
  const CompileCost cost = TRY(MeasureLinked(std::move(texts), options.kernel, options.cost));
  for (const StageCost& stage : cost.stages)
    fmt::print("  {:<32}{:>11.1f}\n", stage.stage, stage.milliseconds);
  fmt::print("  {:<32}{:>11.1f}\n", "all", cost.Total());
  fmt::print("  {:<32}{:>9}\n  {:<32}{:>9}\n", "(IR instructions)", cost.ir_instructions,
             "(LLVM instructions)", cost.llvm_instructions);
  return {};
}

bool IsShape(std::string_view name) {
  return std::ranges::find(GrowthShapes(), name, &GrowthShape::name) != GrowthShapes().end();
}

bool ReadArguments(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const bool takes_value = argument == "--limit" || argument == "--first" || argument == "--sizes" ||
                             argument == "--opt" || argument == "--write";
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--link") {
      if (++i == count) return false;
      options.kernel = arguments[i];
      options.files.assign(arguments + i + 1, arguments + count);
      break;
    } else if (argument == "--no-code") {
      options.cost.code = false;
    } else if (argument == "--quick") {
      options.cost.quick_from = kQuickFrom;
      options.cost.scalar_from = kScalarFrom;
    } else if (takes_value) {
      if (++i == count) return false;
      if (argument == "--write") {
        options.write_to = arguments[i];
        continue;
      }
      const auto value = Number(arguments[i]);
      if (!value) return false;
      if (argument == "--limit") options.limit = *value;
      if (argument == "--first") options.first = *value;
      if (argument == "--sizes") options.sizes = *value;
      if (argument == "--opt") options.cost.optimisation = static_cast<int>(*value);
    } else if (IsShape(argument)) {
      options.shapes.emplace_back(argument);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

}  // namespace ptx2cpu::bench

int main(int count, char** arguments) {
  ptx2cpu::bench::Options options;
  if (!ptx2cpu::bench::ReadArguments(count, arguments, options)) {
    fmt::print(
        stderr,
        "usage: growth [--json] [--no-code] [--quick] [--opt 0..3] [--limit SECONDS] [--first N] [--sizes N] "
        "[--write DIR] [SHAPE...]\n       growth [--no-code] [--quick] [--opt 0..3] --link KERNEL "
        "FILE...\nshapes:\n");
    for (const auto& shape : ptx2cpu::bench::GrowthShapes())
      fmt::print(stderr, "  {:<28}{}\n", shape.name, shape.what);
    return 2;
  }
  if (!options.kernel.empty()) {
    if (const auto done = ptx2cpu::bench::MeasureFiles(options); !done) {
      fmt::print(stderr, "{}\n", done.error().Render());
      return 1;
    }
    return 0;
  }
  if (options.write_to.empty()) return ptx2cpu::bench::MeasureAll(options) ? 0 : 1;
  ptx2cpu::bench::WriteTexts(options);
}
