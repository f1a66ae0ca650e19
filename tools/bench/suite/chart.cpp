// Ratios as horizontal bars from 1, on a logarithmic scale.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/bench/suite/report.h"

namespace ptx2cpu::suite {

namespace {

constexpr double kLeft = 190, kWidth = 560, kRow = 30, kBar = 8, kTop = 70;
constexpr double kMinRatio = 1.0 / 32, kMaxRatio = 32;

struct Series {
  Who who;
  const char* label;
  const char* colour;
};
constexpr Series kSeries[] = {{Who::kOpenMp, "OpenMP", "#2f6f9f"},
                              {Who::kOpenMpFast, "OpenMP -ffast-math", "#8fb9d9"},
                              {Who::kOpenCl, "OpenCL", "#c98a2b"}};

double XOf(double ratio) {
  const double clamped = std::clamp(ratio, kMinRatio, kMaxRatio);
  return kLeft + kWidth * std::log(clamped / kMinRatio) / std::log(kMaxRatio / kMinRatio);
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                 std::string_view style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, style,
                     text);
}

std::string Panel(const Report& report, bool all_threads, double top, double& bottom) {
  std::vector<const Measured*> shown;
  for (const Measured& measured : report.measured) {
    if (measured.all_threads == all_threads) shown.push_back(&measured);
  }
  bottom = top;
  if (shown.empty()) return "";
  const double height = kRow * static_cast<double>(shown.size());
  bottom = top + kTop + height + 30;
  std::string text =
      Text(kLeft, top + 24, "start",
           all_threads ? "All threads: time of the other / ours" : "One thread: time of the other / ours",
           " font-weight=\"bold\"");
  double x = kLeft;
  for (const Series& series : kSeries) {
    text += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", x,
                        top + 36, series.colour);
    text += Text(x + 15, top + 45, "start", series.label);
    x += 150;
  }
  for (double ratio = kMinRatio; ratio <= kMaxRatio; ratio *= 2) {
    text +=
        fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\"/>\n",
                    XOf(ratio), top + kTop - 6, top + kTop + height, ratio == 1 ? "#333" : "#ddd");
    text += Text(XOf(ratio), top + kTop + height + 16, "middle",
                 ratio >= 1 ? fmt::format("{:.0f}", ratio) : fmt::format("1/{:.0f}", 1 / ratio));
  }
  for (size_t i = 0; i < shown.size(); ++i) {
    double y = top + kTop + kRow * static_cast<double>(i);
    text += Text(kLeft - 10, y + kRow / 2, "end", shown[i]->row->name);
    for (const Series& series : kSeries) {
      if (const auto ratio = shown[i]->Ratio(series.who)) {
        const double from = std::min(XOf(1), XOf(*ratio)), to = std::max(XOf(1), XOf(*ratio));
        text += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
            "fill=\"{}\"><title>{:.2f}</title></rect>\n",
            from, y, std::max(to - from, 1.0), kBar, series.colour, *ratio);
      }
      y += kBar + 1;
    }
  }
  return text;
}

}  // namespace

std::string Chart(const Report& report) {
  double middle = 0, bottom = 0;
  const std::string one = Panel(report, false, 20, middle), all = Panel(report, true, middle, bottom);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n{2}{3}{4}</svg>\n",
      kLeft + kWidth + 40, bottom + 30, one, all,
      Text(kLeft, bottom + 16, "start", fmt::format("{}, {}", report.machine, report.date)));
}

}  // namespace ptx2cpu::suite
