#include "tools/bench/suite/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptx2cpu::suite {

namespace {

constexpr Who kOthers[] = {Who::kOpenMp, Who::kOpenMpFast, Who::kOpenCl};

std::string Milliseconds(const std::optional<Figures>& figures) {
  return figures ? fmt::format("{:.3f}", figures->seconds * 1e3) : "-";
}

std::string RatioText(const Measured& measured, Who who) {
  const auto ratio = measured.Ratio(who);
  return ratio ? fmt::format("{:.2f}", *ratio) : "-";
}

std::string ShareText(const Measured& measured, const Limits& limits) {
  if (measured.bytes + measured.flops == 0) return "-";
  return fmt::format("{:.0f} % {}", 100 * measured.Share(limits),
                     measured.MemoryBound(limits) ? "copy" : "FMA");
}

std::vector<double> Ratios(const Report& report, bool all_threads, Who who) {
  std::vector<double> ratios;
  for (const Measured& measured : report.measured) {
    if (measured.all_threads != all_threads) continue;
    if (const auto ratio = measured.Ratio(who)) ratios.push_back(*ratio);
  }
  return ratios;
}

bool Holds(const Report& report, bool all_threads) {
  return std::ranges::any_of(report.measured,
                             [=](const Measured& measured) { return measured.all_threads == all_threads; });
}

}  // namespace

std::string TableHeader(bool all_threads) {
  return fmt::format("{:<20}{:>12}{:>8}{:>12}{:>12}{:>12}{:>9}{:>9}{:>9}{:>12}\n",
                     all_threads ? "all threads" : "one thread", "ours ms", "spread", "OpenMP", "-ffast-math",
                     "OpenCL", "ratio", "fast", "OpenCL", "of limit");
}

std::string TableLine(const Measured& measured, const Limits& limits) {
  const auto& ours = *measured.Of(Who::kOurs);
  return fmt::format("{:<20}{:>12}{:>8}{:>12}{:>12}{:>12}{:>9}{:>9}{:>9}{:>12}\n", measured.row->name,
                     Milliseconds(ours), fmt::format("{:.0f} %", 100 * ours.spread),
                     Milliseconds(measured.Of(Who::kOpenMp)), Milliseconds(measured.Of(Who::kOpenMpFast)),
                     Milliseconds(measured.Of(Who::kOpenCl)), RatioText(measured, Who::kOpenMp),
                     RatioText(measured, Who::kOpenMpFast), RatioText(measured, Who::kOpenCl),
                     ShareText(measured, limits));
}

std::string Summary(const Report& report, bool all_threads) {
  const Limits& limits = report.limits[all_threads];
  std::string text;
  for (const Who who : kOthers) {
    const auto ratios = Ratios(report, all_threads, who);
    if (ratios.empty()) continue;
    text += fmt::format("time of {} / ours: geometric mean {:.2f}, lowest {:.2f}, {} of {} below 1\n",
                        NameOf(who), GeometricMean(ratios), *std::ranges::min_element(ratios),
                        std::ranges::count_if(ratios, [](double ratio) { return ratio < 1; }), ratios.size());
  }
  // Libraries also compute products of matrices.
  for (const Measured& measured : report.measured) {
    const auto& other = measured.Of(Who::kOneDnn);
    if (measured.all_threads != all_threads || !measured.is_product) continue;
    const double rate = measured.flops / measured.Of(Who::kOurs)->seconds / 1e9;
    text += fmt::format("{}: {:.1f} GFLOP/s", measured.row->name, rate);
    if (other)
      text += fmt::format(", {:.0f} % of oneDNN's {:.1f}", 100 * *measured.Ratio(Who::kOneDnn),
                          measured.flops / other->seconds / 1e9);
    text += "\n";
  }
  return text + fmt::format("limits: copy {:.1f} GB/s, {:.0f} GFLOP/s float, {:.0f} GFLOP/s double\n",
                            limits.copy_bytes / 1e9, limits.floats / 1e9, limits.doubles / 1e9);
}

std::string Json(const Report& report) {
  std::string text =
      fmt::format("{{\n  \"machine\": \"{}\", \"date\": \"{}\", \"command\": \"{}\",\n  \"limits\": [",
                  report.machine, report.date, report.command);
  for (const bool all_threads : {false, true}) {
    const Limits& limits = report.limits[all_threads];
    if (limits.copy_bytes == 0) continue;
    text += fmt::format(
        "{}\n    {{\"threads\": \"{}\", \"copy_bytes_per_s\": {:.4g}, \"float_flops\": {:.4g}, "
        "\"double_flops\": {:.4g}}}",
        text.ends_with("[") ? "" : ",", all_threads ? "all" : "one", limits.copy_bytes, limits.floats,
        limits.doubles);
  }
  text += "\n  ],\n  \"kernels\": [";
  for (const Measured& measured : report.measured) {
    const Limits& limits = report.limits[measured.all_threads];
    text += fmt::format(
        "{}\n    {{\"kernel\": \"{}\", \"threads\": \"{}\", \"size\": \"{}\", \"limit\": \"{}\", \"share\": "
        "{:.4f}",
        text.ends_with("[") ? "" : ",", measured.row->name, measured.all_threads ? "all" : "one",
        measured.size, measured.MemoryBound(limits) ? "copy" : "fma", measured.Share(limits));
    for (size_t who = 0; who < kContenders; ++who) {
      if (!measured.figures[who]) continue;
      const Figures& figures = *measured.figures[who];
      text += fmt::format(
          ",\n     \"{}\": {{\"ns\": {:.0f}, \"spread\": {:.4f}, \"wall_ns\": {:.0f}, \"process_ns\": "
          "{:.0f}, "
          "\"samples\": {}}}",
          NameOf(static_cast<Who>(who)), figures.seconds * 1e9, figures.spread, figures.wall * 1e9,
          figures.process * 1e9, figures.samples);
    }
    text += "}";
  }
  return text + "\n  ]\n}\n";
}

std::string Markdown(const Report& report) {
  std::string text = fmt::format(
      "# Benchmarks\n\nEvery kernel of `tools/bench/suite`, compared with C++ and OpenMP (clang -O3, vectors "
      "of {},\nwith and without `-ffast-math`) and, where installed, with the same kernel in "
      "OpenCL on "
      "PoCL. Times are medians in\nmilliseconds of alternating runs: processor time of one thread, wall "
      "clock time of all "
      "threads. A ratio is the time of\nanother divided by ours: above 1, ptx2cpu is faster. The last column "
      "is the share "
      "of the measured copy bandwidth or\npeak of fused multiply-adds that ours reaches.\n\n- machine: {}\n- "
      "date: {}\n- command: "
      "`{}`\n",
      report.held == Held::kNative ? "the machine's full width" : "AVX2's width (x86-64-v3, ours too)",
      report.machine, report.date, report.command);
  if (!report.chart.empty()) text += fmt::format("\n![Ratios of all kernels]({})\n", report.chart);
  for (const bool all_threads : {false, true}) {
    if (!Holds(report, all_threads)) continue;
    text += fmt::format("\n## {}\n\n", all_threads ? "All threads" : "One thread");
    text +=
        "| kernel | size | ours | spread | OpenMP | fast | OpenCL | OpenMP / ours | fast / ours | OpenCL / "
        "ours | of limit "
        "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (const Measured& measured : report.measured) {
      if (measured.all_threads != all_threads) continue;
      text +=
          fmt::format("| `{}` | {} | {} | {:.0f} % | {} | {} | {} | {} | {} | {} | {} |\n",
                      measured.row->name, measured.size, Milliseconds(measured.Of(Who::kOurs)),
                      100 * measured.Of(Who::kOurs)->spread, Milliseconds(measured.Of(Who::kOpenMp)),
                      Milliseconds(measured.Of(Who::kOpenMpFast)), Milliseconds(measured.Of(Who::kOpenCl)),
                      RatioText(measured, Who::kOpenMp), RatioText(measured, Who::kOpenMpFast),
                      RatioText(measured, Who::kOpenCl), ShareText(measured, report.limits[all_threads]));
    }
    std::string summary = Summary(report, all_threads);
    for (size_t at = 0; (at = summary.find('\n', at)) != std::string::npos && at + 1 < summary.size();
         at += 3)
      summary.replace(at, 1, "\n- ");
    text += "\n- " + summary;
  }
  return text;
}

}  // namespace ptx2cpu::suite
