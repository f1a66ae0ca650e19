// The report as JSON, for scripts: the figures of the page, in milliseconds, bytes and operations.
#include <fmt/format.h>

#include "ptx-parser/fatbin/json_writer.h"
#include "tools/ptx2cpu/profile/report.h"

namespace ptx2cpu::tool::profile {

namespace {

using ptx::fatbin::JsonWriter;

// JSON as text: the writer's numbers are whole.
class Numbers {
 public:
  std::string Render(const Report& r) {
    out_ = "{";
    Text("command", r.command), Text("ended", r.ended);
    Number("milliseconds", r.milliseconds), Number("kernel_milliseconds", r.kernel_milliseconds);
    Number("launches", static_cast<double>(r.launches)), Number("samples", static_cast<double>(r.samples));
    Number("lost_samples", static_cast<double>(r.lost_samples)),
        Number("events", static_cast<double>(r.events));
    Number("roofline_bytes", r.roofline.bytes), Number("roofline_operations", r.roofline.operations);
    List("kernels", r.kernels, [&](const KernelReport& k) { Kernel(k); });
    List("compiles", r.compiles, [&](const CompileUse& use) {
      Text("kernel", use.kernel), Number("compiled", static_cast<double>(use.compiled));
      Number("from_cache", static_cast<double>(use.from_cache)), Number("milliseconds", use.milliseconds);
    });
    Close('}');
    return out_ + "\n";
  }

 private:
  void Kernel(const KernelReport& k) {
    Text("name", k.name), Number("launches", static_cast<double>(k.launches));
    Number("blocks", static_cast<double>(k.blocks)), Number("threads", static_cast<double>(k.threads));
    Number("milliseconds", k.milliseconds), Number("least", k.least), Number("most", k.most),
        Number("share", k.share);
    Number("busy_milliseconds", k.busy), Number("counted_milliseconds", k.counted);
    Number("samples", static_cast<double>(k.samples)),
        Number("samples_outside", static_cast<double>(k.outside));
    Text("tier", k.tier), Number("width", k.width);
    if (k.work) {
      const Work& w = k.work->total;
      Number("counted_threads", k.work->counted_threads);
      Number("bytes_read", w.loaded), Number("bytes_written", w.stored), Number("bytes_shared", w.shared);
      Number("bytes_local", w.local), Number("float_operations", w.floats()),
          Number("matrix_operations", w.matrix);
      Number("integer_instructions", w.integer), Number("atomics", w.atomics),
          Number("instructions", w.instructions);
      Number("roofline_part", k.roofline_part),
          Text("limited_by", k.limited_by_memory ? "memory" : "arithmetic");
    }
    const auto lines = [&](const LineTime& line) {
      if (!line.file.empty()) Text("file", line.file);
      Number("line", line.line), Number("samples", static_cast<double>(line.samples)),
          Number("executed", line.executed);
    };
    List("ptx_lines", k.ptx_lines, lines), List("source_lines", k.source_lines, lines);
    Begin("reasons", '[');
    for (const std::string& reason : k.reasons) Separate(), out_ += Quoted(reason);
    Close(']');
  }

  static std::string Quoted(std::string_view text) {
    JsonWriter json;
    json.String(text);
    std::string quoted = json.Take();
    quoted.pop_back();  // the line's end
    return quoted;
  }
  void Separate() {
    if (out_.back() != '{' && out_.back() != '[') out_ += ",";
  }
  void Key(std::string_view key) {
    Separate();
    out_ += fmt::format("\n\"{}\": ", key);
  }
  void Text(std::string_view key, std::string_view value) { Key(key), out_ += Quoted(value); }
  void Number(std::string_view key, double value) { Key(key), out_ += fmt::format("{}", value); }
  void Begin(std::string_view key, char bracket) { Key(key), out_ += bracket; }
  void Close(char bracket) { out_ += bracket; }
  template <typename Rows, typename Write>
  void List(std::string_view key, const Rows& rows, const Write& write) {
    Begin(key, '[');
    for (const auto& row : rows) {
      Separate();
      out_ += "{";
      write(row);
      Close('}');
    }
    Close(']');
  }

  std::string out_;
};

}  // namespace

std::string RenderNumbers(const Report& report) { return Numbers().Render(report); }

}  // namespace ptx2cpu::tool::profile
