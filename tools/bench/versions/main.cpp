// bench_versions [--json] [--against OTHER] CORPUS_BIN, or bench_versions --textures
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "tools/bench/versions/versions.h"

namespace ptx2cpu::bench {

namespace {

enum class Form : uint8_t { kTable, kJson, kPlain };

Status PrintTimes(const std::string& corpus_bin, Form form) {
  const std::vector<Subject> subjects = TRY(LoadSubjects(corpus_bin));
  if (form == Form::kTable) {
    fmt::print("{:<32}{:>12}{:>10}{:>8}{:>10}{:>8}\n", "kernel", "us", "tree us", "ratio", "sum us", "ratio");
  }
  const char* before = "[";
  for (const Subject& subject : subjects) {
    const Timing timing = TRY(Measure(subject));
    if (form == Form::kPlain) fmt::print("{} {:.1f}\n", timing.name, timing.nanoseconds);
    if (form == Form::kJson) {
      fmt::print("{}\n  {{\"kernel\": \"{}\", \"ns\": {:.0f}", before, timing.name, timing.nanoseconds);
      if (timing.tree != 0) fmt::print(", \"tree_ns\": {:.0f}, \"sum_ns\": {:.0f}", timing.tree, timing.sum);
      fmt::print("}}");
      before = ",";
    }
    if (form != Form::kTable) continue;
    fmt::print("{:<32}{:>12.2f}", timing.name, timing.nanoseconds / 1e3);
    if (timing.tree != 0) {
      fmt::print("{:>10.2f}{:>8.2f}{:>10.2f}{:>8.2f}", timing.tree / 1e3, timing.nanoseconds / timing.tree,
                 timing.sum / 1e3, timing.nanoseconds / timing.sum);
    }
    fmt::print("\n");
  }
  if (form == Form::kJson) fmt::print("\n]\n");
  return {};
}

Status Run(int count, char** arguments) {
  Form form = Form::kTable;
  std::string other, corpus_bin;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json")
      form = Form::kJson;
    else if (argument == "--textures")
      return PrintTextureTimes(), Status{};
    else if (argument == "--plain")
      form = Form::kPlain;
    else if (argument == "--against" && i + 1 < count)
      other = arguments[++i];
    else
      corpus_bin = argument;
  }
  if (corpus_bin.empty() || corpus_bin.starts_with("-"))
    return Fail(ErrorCode::kUsage,
                "usage: bench_versions [--json] [--against OTHER] CORPUS_BIN, or bench_versions --textures");
  if (other.empty()) return PrintTimes(corpus_bin, form);
  return Compare(std::filesystem::read_symlink("/proc/self/exe"), other, corpus_bin, form == Form::kJson);
}

}  // namespace

}  // namespace ptx2cpu::bench

int main(int count, char** arguments) {
  const auto status = ptx2cpu::bench::Run(count, arguments);
  if (status) return 0;
  fmt::print(stderr, "{}\n", status.error().Render());
  return 1;
}
