// The program bench: kUsage has its options.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "runtime/check/finding.h"
#include "runtime/check/wanted.h"
#include "tools/bench/suite/ablation.h"
#include "tools/bench/suite/check_cost.h"

namespace ptx2cpu::suite {

namespace {

constexpr std::string_view kUsage =
    "usage: bench [OPTION...] [NAME...]\n"
    "Times the kernels of the suite (all, or those named) by ptx2cpu, OpenMP and OpenCL, in turns.\n"
    "  --threads one|all|both  default: both\n"
    "  --seconds S             processor time of a contender for a kernel (default 0.3); at least 5 samples\n"
    "  --json FILE, --markdown FILE, --svg FILE  also write these; - is standard output\n"
    "  --note TEXT             added to the machine in what is written\n"
    "  --small                 compare the results of small problems, without times\n"
    "  --list                  the kernels\n"
    "  --target native|x86-64-v3  hold ours and OpenMP to this processor's vectors; without OpenCL, which "
    "cannot be held\n"
    "  --check KINDS           what checks cost in place of the comparison (KINDS as of exec --check), one "
    "thread\n"
    "  --omit PASSES           what passes gain in place of the comparison: names with commas, or all; one "
    "thread\n"
    "  --no-opencl             without OpenCL, also where PoCL is installed\n"
    "  --suite DIR             where the suite's kernels are (default: the source tree)\n";

struct Options {
  bool one = true, all = true, small = false, list = false, help = false;
  double seconds = 0.3;
  std::string json = {}, markdown = {}, svg = {}, note = {}, command = {}, check = {}, omit = {};
  Setting setting = {.suite = PTX2CPU_SUITE_DIR};
  bool opencl = true;
  std::vector<const Row*> rows = {};
};

Result<const Row*> RowOf(std::string_view name) {
  for (const Row& row : Rows()) {
    if (row.name == name) return &row;
  }
  return Fail(ErrorCode::kUsage, fmt::format("no kernel '{}' (bench --list)", name));
}

Status ParseThreads(std::string_view value, Options& options) {
  options.one = value != "all", options.all = value != "one";
  if (value == "one" || value == "all" || value == "both") return {};
  return Fail(ErrorCode::kUsage, std::string(kUsage));
}

Status HoldTo(std::string_view value, Options& options) {
  if (value == "native") return {};
  if (value != "x86-64-v3" || Rows()[0].openmp[static_cast<size_t>(Held::kV3)].plain == nullptr)
    return Fail(ErrorCode::kUsage, std::string(kUsage));
  options.setting.held = Held::kV3;
  options.opencl = false;
  setenv("PTX2CPU_TARGET", "x86-64-v3", 1);
  return {};
}

Result<Options> Parse(int count, char** arguments) {
  Options options{.command = "tools/bench/run"};
  const std::pair<std::string_view, std::string*> texts[] = {
      {"--json", &options.json}, {"--markdown", &options.markdown}, {"--svg", &options.svg},
      {"--note", &options.note}, {"--check", &options.check},       {"--suite", &options.setting.suite},
      {"--omit", &options.omit}};
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    const auto text = std::ranges::find(texts, argument, [](const auto& pair) { return pair.first; });
    options.command += fmt::format(" {}", argument);
    if (argument == "--small") {
      options.small = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument == "--no-opencl") {
      options.opencl = false;
    } else if (argument == "--help") {
      options.help = true;
    } else if (!argument.starts_with("-")) {
      options.rows.push_back(TRY(RowOf(argument)));
    } else if (value.empty()) {
      return Fail(ErrorCode::kUsage, std::string(kUsage));
    } else {
      options.command += argument == "--note" ? fmt::format(" '{}'", value) : fmt::format(" {}", value);
      ++i;
      if (text != std::end(texts)) {
        *text->second = value;
      } else if (argument == "--threads") {
        TRY_STATUS(ParseThreads(value, options));
      } else if (argument == "--target") {
        TRY_STATUS(HoldTo(value, options));
      } else if (argument != "--seconds" ||
                 std::from_chars(value.data(), value.data() + value.size(), options.seconds).ec !=
                     std::errc()) {
        return Fail(ErrorCode::kUsage, std::string(kUsage));
      }
    }
  }
  if (options.rows.empty()) {
    for (const Row& row : Rows()) options.rows.push_back(&row);
  }
  return options;
}

std::string Machine() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  return fmt::format("{}, {} threads", model, std::thread::hardware_concurrency());
}

std::string Today() {
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return fmt::format("{}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

Status Write(const std::string& file, const std::string& text) {
  if (file.empty()) return {};
  if (file == "-") return fmt::print("{}", text), Status();
  std::ofstream out(file);
  out << text;
  return out.good() ? Status() : Fail(ErrorCode::kUsage, "cannot write " + file);
}

Status MeasureAll(const Options& options, bool all_threads, Report& report) {
  report.limits[all_threads] = MeasureLimits(all_threads);
  fmt::print("{}", TableHeader(all_threads));
  for (const Row* row : options.rows) {
    report.measured.push_back(TRY(
        Measure(*row, {.all_threads = all_threads, .seconds = options.seconds, .setting = options.setting})));
    fmt::print("{}", TableLine(report.measured.back(), report.limits[all_threads]));
    std::fflush(stdout);
  }
  fmt::print("{}\n", Summary(report, all_threads));
  return {};
}

// Errors: kInternal if checks find what a kernel does not have, or not what it has (suite.def); all are
// measured before.
Status MeasureChecks(const Options& options, Report& report) {
  setenv("PTX2CPU_CHECK", options.check.c_str(), 1);
  if (rt::check::WantedKinds() == 0) return Fail(ErrorCode::kUsage, "bench --check: no kind of checks");
  Setting setting = options.setting;
  setting.checks = true;
  fmt::print("{}", CheckHeader(options.check));
  Status found;
  for (const Row* row : options.rows) {
    report.measured.push_back(TRY(Measure(*row, {.seconds = options.seconds, .setting = setting})));
    fmt::print("{}", CheckLine(report.measured.back()));
    std::fflush(stdout);
    std::vector<std::string_view> errors;
    for (const rt::check::Finding& finding : rt::check::Findings::Get().All())
      errors.emplace_back(rt::check::WordOf(finding.error));
    rt::check::Findings::Get().Clear();
    const Status expected = CheckFound(*row, errors, rt::check::WantedKinds());
    if (!expected) fmt::print(stderr, "{}\n", expected.error().Render());
    if (found) found = expected;
  }
  fmt::print("{}\n", CheckSummary(report));
  TRY_STATUS(Write(options.markdown, CheckMarkdown(report, options.check, true)));
  return found;
}

Status MeasureGains(const Options& options, const Report& head) {
  const std::vector<std::string> passes = TRY(PassesNamed(options.omit));
  fmt::print("{}", GainHeader());
  std::vector<Gain> gains;
  for (const Row* row : options.rows) {
    const std::set<std::string> changing = TRY(PassesThatChange(*row, options.setting.suite));
    for (const std::string& pass : passes) {
      if (!changing.contains(pass)) continue;
      Setting setting = options.setting;
      setting.omit = pass;
      gains.push_back({pass, TRY(Measure(*row, {.seconds = options.seconds, .setting = setting}))});
      fmt::print("{}", GainLine(gains.back()));
      std::fflush(stdout);
    }
  }
  return Write(options.markdown, GainMarkdown(head, passes, gains));
}

Status Run(int count, char** arguments) {
  Options options = TRY(Parse(count, arguments));
  if (options.help) return fmt::print("{}", kUsage), Status();
  if (options.list) {
    for (const Row* row : options.rows) fmt::print("{:<20}{:<12}{}\n", row->name, row->family, row->shows);
    return {};
  }
  if (options.opencl && options.check.empty() && options.omit.empty()) {
    const auto opened = OpenCl::Open();
    if (opened) options.setting.opencl = *opened;
    fmt::print(stderr, "bench: {}\n", opened ? "OpenCL: " + (*opened)->version() : opened.error().Render());
  }
  if (const auto opened = OneDnn::Open()) options.setting.onednn = *opened;
  if (options.small) {
    for (const Row* row : options.rows) {
      for (const bool all_threads : {false, true})
        TRY_STATUS(Check(*row, Size::kSmall, all_threads, options.setting));
      fmt::print("{:<20}results agree\n", row->name);
    }
    return {};
  }
  if (options.all && std::thread::hardware_concurrency() > 1 && OpenMpThreads(0) == 1)
    fmt::print(stderr,
               "bench: built without OpenMP's library (Debian: libomp-19-dev): C++ runs on one thread\n");
  Report report{.machine = Machine() + (options.note.empty() ? "" : "; " + options.note),
                .date = Today(),
                .command = options.command,
                .held = options.setting.held,
                .chart = options.svg,
                .limits = {},
                .measured = {}};
  if (!options.check.empty()) return MeasureChecks(options, report);
  if (!options.omit.empty()) return MeasureGains(options, report);
  for (const bool all_threads : {false, true}) {
    if (all_threads ? options.all : options.one) TRY_STATUS(MeasureAll(options, all_threads, report));
  }
  TRY_STATUS(Write(options.json, Json(report)));
  TRY_STATUS(Write(options.markdown, Markdown(report)));
  return Write(options.svg, Chart(report));
}

}  // namespace

}  // namespace ptx2cpu::suite

int main(int count, char** arguments) {
  // Threads of OpenMP sleep soon after their work, so that they take nothing from the next contender.
  setenv("KMP_BLOCKTIME", "1", 0);
  // What is timed is the best code of this build, from the first launch on.
  setenv("PTX2CPU_QUICK", "0", 0);
  setenv("CUDA_CACHE_DISABLE", "1", 0);
  const auto status = ptx2cpu::suite::Run(count, arguments);
  if (status) return 0;
  fmt::print(stderr, "{}\n", status.error().Render());
  return 1;
}
