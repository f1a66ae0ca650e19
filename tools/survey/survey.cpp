// survey [--every=N] [--seconds=S] FILE ...: how much of the PTX in files of any kind parses, matches the
// instruction table, and translates through every pass; refusals counted by reason. For robustness runs over
// large libraries; nothing is written.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "lowering/compile.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/translate/translate.h"

using namespace ptx2cpu;

namespace {

// The choice of images to examine, and the time limit.
struct Sample {
  size_t every = 1;
  double seconds = 1e9;
};

struct Tally {
  size_t seen = 0, images = 0, parsed = 0, matched = 0, kernels = 0, translated = 0, collapsed = 0;
  uint64_t bytes = 0;
  double parse_seconds = 0, build_seconds = 0;
  std::map<std::string, std::pair<size_t, std::string>> reasons;  // count and first place
};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A message without the names and numbers that differ from kernel to kernel.
std::string Reason(const Error& error) {
  static const std::regex quoted("'[^']*'"), numbers("[0-9]+"),
      names("\\b(kernel|function) [A-Za-z_$][A-Za-z0-9_$]*");
  std::string text = fmt::format("{}: {}", Name(error.code), error.message.substr(0, 160));
  text = std::regex_replace(text, quoted, "'...'");
  return std::regex_replace(text, names, "$1 ...");
}

void Count(Tally& tally, const Error& error, const std::string& where) {
  auto& [count, first] = tally.reasons[Reason(error)];
  if (count++ == 0)
    first = fmt::format("{} {}:{} {}", where, error.at.file, error.at.line, error.excerpt.substr(0, 100));
}

void SurveyImage(Tally& tally, const ptx::Image& image, const std::string& name) {
  ++tally.images;
  auto text = image.Decode();
  if (!text) return Count(tally, text.error(), name);
  tally.bytes += text->size();
  const double start = Now();
  auto module = lowering::PtxModule::Parse(std::move(*text), name);
  tally.parse_seconds += Now() - start;
  if (!module) return Count(tally, module.error(), name);
  ++tally.parsed;
  if (const Status status = ptx::CheckInstructions(*module->modules()[0]); !status)
    Count(tally, status.error(), name);
  else
    ++tally.matched;
  for (const std::string& kernel : module->Kernels()) {
    ++tally.kernels;
    const double build = Now();
    lowering::BuildOptions options;
    options.pipeline.stop_after = "ir";
    auto simt = module->Build(kernel, options);
    if (simt) {
      ++tally.translated;
      options.pipeline.stop_after.clear();
      options.pipeline.verify_each = false;
      auto collapsed = module->Build(kernel, options);
      if (collapsed)
        ++tally.collapsed;
      else
        Count(tally, collapsed.error(), kernel);
    } else {
      Count(tally, simt.error(), kernel);
    }
    tally.build_seconds += Now() - build;
  }
}

void Print(const Tally& t) {
  const auto share = [](size_t part, size_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  fmt::print("images     {:>8}  of {} ({:.1f} MB of PTX)\n", t.images, t.seen,
             static_cast<double>(t.bytes) / 1e6);
  fmt::print("parse      {:>8}  {:.2f}%  at {:.1f} MB/s\n", t.parsed, share(t.parsed, t.images),
             static_cast<double>(t.bytes) / 1e6 / std::max(t.parse_seconds, 1e-9));
  fmt::print("match      {:>8}  {:.2f}%\n", t.matched, share(t.matched, t.images));
  fmt::print("kernels    {:>8}\n", t.kernels);
  fmt::print("translate  {:>8}  {:.2f}%\n", t.translated, share(t.translated, t.kernels));
  fmt::print("collapse   {:>8}  {:.2f}%  (translate and passes: {:.1f} s)\n", t.collapsed,
             share(t.collapsed, t.kernels), t.build_seconds);
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [reason, entry] : t.reasons)
    sorted.push_back({entry.first, reason + "\n             first: " + entry.second});
  std::sort(sorted.rbegin(), sorted.rend());
  for (const auto& [count, reason] : sorted) fmt::print("{:>8}  {}\n", count, reason);
}

void SurveyFile(Tally& tally, const char* path, const Sample& sample, double start) {
  auto extraction = ptx::ExtractFile(path);
  if (!extraction) {
    if (extraction.error().code != ErrorCode::kNoPtx) fmt::print(stderr, "{}", extraction.error().Render());
    return;
  }
  const std::string_view name = std::string_view(path).substr(std::string_view(path).rfind('/') + 1);
  for (const ptx::Container& container : extraction->containers) {
    for (const ptx::Image& image : container.images) {
      if (image.kind != ptx::Image::Kind::kPtx || tally.seen++ % sample.every != 0) continue;
      if (Now() - start < sample.seconds) SurveyImage(tally, image, std::string(name));
    }
  }
  fmt::print(stderr, "{:>7.1f} s  {} done: {} kernels so far\n", Now() - start, path, tally.kernels);
}

// The number of an option `NAME=NUMBER`.
std::optional<size_t> NumberOf(std::string_view word, std::string_view name) {
  size_t number = 0;
  if (!word.starts_with(name)) return std::nullopt;
  const auto result = std::from_chars(word.data() + name.size(), word.data() + word.size(), number);
  if (result.ec != std::errc() || result.ptr != word.data() + word.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace

int main(int count, char** words) {
  Sample sample;
  Tally tally;
  const double start = Now();
  for (int i = 1; i < count; ++i) {
    if (const auto every = NumberOf(words[i], "--every="))
      sample.every = *every;
    else if (const auto seconds = NumberOf(words[i], "--seconds="))
      sample.seconds = static_cast<double>(*seconds);
    else
      SurveyFile(tally, words[i], sample, start);
  }
  Print(tally);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("in all     {:>8.1f} s, {:.2f} GB at most\n", Now() - start,
             static_cast<double>(usage.ru_maxrss) / 1e6);
  return 0;
}
