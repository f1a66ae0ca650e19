// The report as one HTML file: well-formed XML too, without scripts, fonts or other resources.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/ptx2cpu/profile/report.h"

namespace ptx2cpu::tool::profile {

std::string Digits(double value) {
  const double size = std::abs(value);
  return size >= 99.5 || size == 0 ? fmt::format("{:.0f}", value)
         : size >= 9.95            ? fmt::format("{:.1f}", value)
         : size >= 0.995           ? fmt::format("{:.2f}", value)
                                   : fmt::format("{:.3g}", value);
}

std::string Scaled(double value, std::string_view unit) {
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t prefix = 0;
  for (; std::abs(value) >= 999.5 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000;
  const std::string name = kPrefixes[prefix] + std::string(unit);
  return Digits(value) + (name.empty() ? "" : " " + name);
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else if (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f)
      out += c;
    else if (c == '\t')
      out += ' ';
    else
      out += '?';
  }
  return out;
}

namespace {

constexpr size_t kMaxSections = 64;  // kernels with details of their own

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/><title>ptx2cpu profile</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;margin:24px auto;max-width:1120px;padding:0 16px;color:#223}
h1{font-size:22px}h2{font-size:18px;margin-top:28px;border-top:1px solid #ccd;padding-top:12px}h3{font-size:15px;margin:14px 0 4px}
table{border-collapse:collapse;margin:6px 0}td,th{padding:2px 9px;text-align:left;vertical-align:top}
th{border-bottom:1px solid #99a;font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
code,pre,td.t{font:12px/1.4 ui-monospace,monospace;white-space:pre-wrap}
.bar{display:inline-block;height:9px;background:#d9634c;vertical-align:middle}
.note{color:#667;font-size:12px}li{margin:3px 0}summary{cursor:pointer;font-weight:600}
svg text.b{font:600 11px ui-monospace,monospace}svg text.c{font:10.5px ui-monospace,monospace;white-space:pre}
svg path.e{fill:none;stroke:#778;stroke-width:1.2}svg path.d{stroke:#b55;stroke-dasharray:4 2}
.scroll{overflow-x:auto}
</style></head><body>
)";

class Page {
 public:
  explicit Page(const Report& report) : r_(report) {}

  std::string Render() {
    out_ = kHead;
    Summary();
    KernelTable();
    Timeline();
    Calls();
    Compiles();
    for (size_t n = 0; n < r_.kernels.size(); ++n) Kernel(n);
    Method();
    return out_ + "</body></html>\n";
  }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...);
  }
  static std::string Bar(double part) {
    return fmt::format("<span class=\"bar\" style=\"width:{:.0f}px\"></span>",
                       90 * std::clamp(part, 0.0, 1.0));
  }
  static std::string Percent(double part) { return Digits(100 * part) + " %"; }

  void Summary() {
    Put("<h1>Profile of <code>{}</code></h1>\n<p>", Escaped(r_.command));
    if (!r_.ended.empty()) Put("The program ended with {}. ", Escaped(r_.ended));
    Put("{} launches of {} kernels in {} ms, of which kernels took {} ms; {} samples.", r_.launches,
        r_.kernels.size(), Digits(r_.milliseconds), Digits(r_.kernel_milliseconds), r_.samples);
    if (r_.roofline.bytes != 0)
      Put(" This machine, with {} workers: {} of copies, {} of multiply-adds (f32){}.", r_.roofline.workers,
          Scaled(r_.roofline.bytes, "B/s"), Scaled(r_.roofline.operations, "FLOP/s"),
          r_.roofline.disturbed    ? ", measured while other programs ran"
          : r_.roofline.from_cache ? ", as measured before"
                                   : "");
    if (r_.processes.size() > 1) Put(" {} processes.", r_.processes.size());
    Put("</p>\n");
  }

  void KernelTable() {
    constexpr size_t kMaxRows = 200;
    Put("<h2>Kernels</h2>\n<div class=\"scroll\"><table><tr><th>kernel</th><th class=\"n\">calls</th><th "
        "class=\"n\">time ms</th><th>share</th>"
        "<th class=\"n\">per call us</th><th>tier</th><th class=\"n\">vector</th><th "
        "class=\"n\">bytes/s</th><th class=\"n\">FLOP/s</th>"
        "<th class=\"n\">of the roofline</th></tr>\n");
    for (size_t n = 0; n < std::min(kMaxRows, r_.kernels.size()); ++n) {
      const KernelReport& k = r_.kernels[n];
      const std::string name = Escaped(Short(k.plain_name));
      Put("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{} "
          "{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td>",
          n < kMaxSections ? fmt::format("<a href=\"#k{}\">{}</a>", n, name) : name, k.launches,
          Digits(k.milliseconds), Bar(k.share), Percent(k.share),
          Digits(1e3 * k.milliseconds / static_cast<double>(k.launches)), k.tier,
          k.width == 0 ? "" : std::to_string(k.width));
      if (k.work && k.milliseconds != 0)
        Put("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            Scaled(k.work->total.global() / k.seconds(), "B"),
            Scaled(k.work->total.floats() / k.seconds(), ""), Percent(k.roofline_part));
      else
        Put("<td></td><td></td><td></td></tr>\n");
    }
    Put("</table></div>\n");
    if (r_.kernels.size() > kMaxRows)
      Put("<p class=\"note\">{} more kernels.</p>\n", r_.kernels.size() - kMaxRows);
    if (r_.kernels.size() > kMaxSections)
      Put("<p class=\"note\">The first {} kernels, which took most time, have sections below.</p>\n",
          kMaxSections);
  }
  static std::string Short(const std::string& name) {
    return name.size() <= 70 ? name : name.substr(0, 67) + "...";
  }

  void Timeline() {
    const auto process =
        std::ranges::max_element(r_.processes, {}, [](const auto& p) { return p->file().events; });
    if (process == r_.processes.end() || (*process)->file().events == 0) return;
    Put("<h2>Timeline</h2>\n<div class=\"scroll\">{}</div>\n", DrawTimeline(**process));
    const uint64_t events = (*process)->file().events;
    Put("<p class=\"note\">Threads have API calls, streams kernels, copies and fills, workers their shares "
        "of launches. {} bars{}.</p>\n",
        events, events > kMaxEvents ? fmt::format("; the picture ends after {}", kMaxEvents) : std::string());
  }

  void Calls() {
    std::map<std::pair<uint32_t, std::string>, CallRow> calls;
    for (const auto& process : r_.processes) {
      for (const CallRow& row : process->calls()) {
        CallRow& sum = calls[{row.group, std::string(process->Text(row.name))}];
        sum.count += row.count, sum.nanoseconds += row.nanoseconds, sum.bytes += row.bytes;
      }
    }
    std::vector<std::pair<std::pair<uint32_t, std::string>, CallRow>> sorted(calls.begin(), calls.end());
    std::ranges::sort(sorted, std::greater(), [](const auto& entry) { return entry.second.nanoseconds; });
    Put("<h2>CUDA calls, copies and fills</h2>\n<details><summary>{} "
        "kinds</summary><table><tr><th>what</th><th class=\"n\">count</th>"
        "<th class=\"n\">time ms</th><th class=\"n\">bytes</th><th class=\"n\">bytes/s</th></tr>\n",
        sorted.size());
    constexpr size_t kMaxRows = 60;
    for (size_t n = 0; n < std::min(kMaxRows, sorted.size()); ++n) {
      const auto& [key, row] = sorted[n];
      const double seconds = static_cast<double>(row.nanoseconds) * 1e-9;
      Put("<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td></tr>\n",
          key.first == static_cast<uint32_t>(Group::kHost) ? "" : "stream: ", Escaped(Short(key.second)),
          row.count, Digits(seconds * 1e3), row.bytes == 0 ? "" : Scaled(static_cast<double>(row.bytes), "B"),
          row.bytes == 0 || seconds == 0 ? "" : Scaled(static_cast<double>(row.bytes) / seconds, "B/s"));
    }
    Put("</table></details>\n");
  }

  void Compiles() {
    double milliseconds = 0;
    uint64_t compiled = 0, from_cache = 0;
    for (const CompileUse& use : r_.compiles)
      milliseconds += use.milliseconds, compiled += use.compiled, from_cache += use.from_cache;
    Put("<h2>Compiling</h2>\n<p>{} codes compiled, {} read from the cache, in {} "
        "ms.</p>\n<details><summary>by kernel</summary><table><tr><th>kernel</th>"
        "<th class=\"n\">compiled</th><th class=\"n\">from the cache</th><th class=\"n\">quick</th><th "
        "class=\"n\">counting</th><th class=\"n\">ms</th></tr>\n",
        compiled, from_cache, Digits(milliseconds));
    constexpr size_t kMaxRows = 60;
    for (size_t n = 0; n < std::min(kMaxRows, r_.compiles.size()); ++n) {
      const CompileUse& use = r_.compiles[n];
      Put("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
          Escaped(Short(use.kernel)), use.compiled, use.from_cache, use.quick, use.counting,
          Digits(use.milliseconds));
    }
    Put("</table></details>\n");
  }

  void Kernel(size_t number) {
    const KernelReport& k = r_.kernels[number];
    if (number >= kMaxSections) return;
    Put("<h2 id=\"k{}\">{}</h2>\n<p>{} calls, {} ms ({} of the kernels' time); a call takes {} to {} us; {} "
        "blocks, {} threads.",
        number, Escaped(k.plain_name), k.launches, Digits(k.milliseconds), Percent(k.share),
        Digits(k.least * 1e3), Digits(k.most * 1e3), k.blocks, k.threads);
    if (!k.tier.empty()) Put(" Tier {}: {}.", k.tier, Escaped(k.tier_text));
    if (k.width > 1) Put(" Vectors of {} threads.", k.width);
    Put("</p>\n");
    Reasons(k);
    WorkOf(k);
    Lines("Source lines", k.source_lines, k);
    Lines("PTX lines", k.ptx_lines, k);
    if (!k.picture.empty())
      Put("<details><summary>Blocks of code</summary><div class=\"scroll\">{}</div><p class=\"note\">As "
          "translated, the redder the more samples; "
          "dashed: threads of a warp may differ.</p></details>\n",
          k.picture);
    Forms(k);
  }

  void Reasons(const KernelReport& k) {
    if (k.reasons.empty()) return;
    Put("<h3>What it spends time on</h3><ul>\n");
    for (const std::string& reason : k.reasons) Put("<li>{}</li>\n", Escaped(reason));
    Put("</ul>\n");
  }

  void WorkOf(const KernelReport& k) {
    if (!k.work) {
      if (!k.tier.empty()) Put("<p class=\"note\">No block of it was counted.</p>\n");
      return;
    }
    const Work& w = k.work->total;
    const double counted = k.work->counted_threads / static_cast<double>(k.threads);
    Put("<h3>Work</h3><p>Global memory: {} read, {} written. Floats: {} operations", Scaled(w.loaded, "B"),
        Scaled(w.stored, "B"), Scaled(w.floats(), ""));
    if (w.matrix != 0) Put(" ({} in matrix instructions)", Scaled(w.matrix, ""));
    if (w.float64 != 0) Put(" ({} of f64)", Scaled(w.float64, ""));
    if (w.float16 != 0) Put(" ({} of 16 bits)", Scaled(w.float16, ""));
    Put(". {} integer instructions.", Scaled(w.integer, ""));
    if (w.shared != 0) Put(" Shared memory: {}.", Scaled(w.shared, "B"));
    if (w.local != 0) Put(" Local memory: {}.", Scaled(w.local, "B"));
    if (w.atomics != 0) Put(" {} atomics.", Scaled(w.atomics, ""));
    if (w.textures != 0) Put(" {} texture and surface accesses.", Scaled(w.textures, ""));
    if (w.barriers != 0) Put(" {} passages of barriers.", Scaled(w.barriers, ""));
    Put(" {} PTX instructions a thread.</p>\n", Digits(w.instructions / static_cast<double>(k.threads)));
    if (k.roofline_part != 0)
      Put("<p>{} and {}: {} of what the machine's {} allows.</p>\n", Scaled(w.global() / k.seconds(), "B/s"),
          Scaled(w.floats() / k.seconds(), "FLOP/s"), Percent(k.roofline_part),
          k.limited_by_memory ? "memory" : "arithmetic");
    Put("<p class=\"note\">{} {} ms of the kernel's time are blocks that were counted.</p>\n",
        counted > 0.9999
            ? std::string("Exact: all threads were counted.")
            : fmt::format("Estimated from {} of the threads, which were counted.", Percent(counted)),
        Digits(k.counted));
  }

  void Lines(std::string_view title, const std::vector<LineTime>& lines, const KernelReport& k) {
    if (lines.empty()) return;
    Put("<h3>{}</h3>\n<table><tr><th class=\"n\">samples</th><th>of the kernel</th><th "
        "class=\"n\">executed</th><th>line</th></tr>\n",
        title);
    for (const LineTime& line : lines) {
      const double part =
          static_cast<double>(line.samples) / static_cast<double>(std::max<uint64_t>(k.samples, 1));
      const std::string place =
          line.file.empty() ? std::to_string(line.line)
                            : line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line);
      Put("<tr><td class=\"n\">{}</td><td>{} {}</td><td class=\"n\">{}</td><td class=\"t\">{}  "
          "{}</td></tr>\n",
          line.samples, Bar(part), Percent(part), line.executed == 0 ? "" : Scaled(line.executed, ""),
          Escaped(place), Escaped(line.text.substr(0, 160)));
    }
    Put("</table>\n");
  }

  void Forms(const KernelReport& k) {
    Put("<details><summary>Code and launch shapes</summary>\n<table><tr><th>code</th><th "
        "class=\"n\">ms</th><th class=\"n\">bytes</th><th class=\"n\">launches</th>"
        "<th class=\"n\">samples</th></tr>\n");
    for (const CodeForm& form : k.codes)
      Put("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td></tr>\n",
          Escaped(form.what), Digits(form.milliseconds), form.bytes, form.launches, form.samples);
    Put("</table>\n<table><tr><th>grid</th><th>block</th><th class=\"n\">shared</th><th "
        "class=\"n\">launches</th><th class=\"n\">ms</th></tr>\n");
    const auto join = [](const std::array<uint32_t, 3>& extent) {
      return fmt::format("{} x {} x {}", extent[0], extent[1], extent[2]);
    };
    for (const ShapeUse& shape : k.shapes)
      Put("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td></tr>\n",
          join(shape.grid), join(shape.block), shape.shared, shape.launches, Digits(shape.milliseconds));
    Put("</table>\n");
    if (k.other_shapes != 0) Put("<p class=\"note\">{} launches of other shapes.</p>\n", k.other_shapes);
    Put("</details>\n");
  }

  void Method() {
    Put("<h2>How these figures are known</h2>\n<ul><li>Calls, times of launches, blocks and threads are "
        "exact.</li>"
        "<li>Times of lines and blocks of code are samples, one about every {} ms of each thread that runs "
        "blocks{}.</li>"
        "<li>Bytes and operations are those that PTX instructions request, whether caches serve them or not; "
        "so a kernel may reach more than the "
        "roofline. How often code is entered was counted in some blocks of some launches and scaled to all "
        "threads, where the page states so. "
        "Asynchronous copies of sizes known only at run time are left out.</li>"
        "<li>The roofline is the more limiting of bytes at the rate of copies and operations at the rate of "
        "multiply-adds of f32, both measured here.</li></ul>\n",
        Digits(static_cast<double>(r_.interval) * 1e-6),
        r_.lost_samples == 0 ? "" : fmt::format("; {} were lost", r_.lost_samples));
  }

  const Report& r_;
  std::string out_;
};

}  // namespace

std::string RenderPage(const Report& report) { return Page(report).Render(); }

}  // namespace ptx2cpu::tool::profile
