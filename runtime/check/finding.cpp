#include "runtime/check/finding.h"

#include <fnmatch.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "runtime/abi/thread_place.h"
#include "runtime/check/report_file.h"

namespace ptx2cpu::rt::check {

namespace {

constexpr size_t kMaxPrinted = 100;  // different ones; the report file has all

std::string At(const Party& party) {
  char text[128];
  if (!party.is_thread) {
    std::snprintf(text, sizeof text, "a thread of block (%u,%u,%u)", party.block[0], party.block[1],
                  party.block[2]);
    return text;
  }
  std::snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u)", party.thread[0], party.thread[1],
                party.thread[2], party.block[0], party.block[1], party.block[2]);
  return text;
}

std::string Lines(const Place& place, uint32_t ptx_line) {
  std::string text = "\n    ";
  if (place.line == 0 && ptx_line == 0) return {};
  if (place.line == 0) return text + "PTX line " + std::to_string(ptx_line);
  text += place.file + ":" + std::to_string(place.line) + ": " + place.excerpt;
  if (!place.source_file.empty())
    text += "\n    from " + place.source_file + ":" + std::to_string(place.source_line);
  return text;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

const char* WordOf(Error error) {
  switch (error) {
#define FINDING(name, kind, word, meaning) \
  case Error::k##name:                     \
    return word;
#include "runtime/check/findings.def"
#undef FINDING
  }
  return "";
}

const char* MeaningOf(Error error) {
  switch (error) {
#define FINDING(name, kind, word, meaning) \
  case Error::k##name:                     \
    return meaning;
#include "runtime/check/findings.def"
#undef FINDING
  }
  return "";
}

Party PartyOf(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line) {
  const Dim3 place = PlaceOfThread(block, thread);
  return {{block.ctaid[0], block.ctaid[1], block.ctaid[2]}, {place.x, place.y, place.z}, ptx_line};
}

std::string Render(const Finding& finding, const Place& place, const Place& other) {
  if (finding.kernel.empty()) {
    return std::string(WordOf(finding.error)) + ": " + finding.text +
           (finding.caller.empty() ? "" : "\n    by the call at " + finding.caller);
  }
  std::string text = std::string(WordOf(finding.error)) + ": " + finding.text + ", by " + At(finding.party) +
                     ", kernel '" + finding.kernel + "'" + Lines(place, finding.party.ptx_line);
  if (finding.other.ptx_line != 0) {
    text += "\n  after the " + finding.other_text + " by " + At(finding.other) +
            Lines(other, finding.other.ptx_line);
  }
  return text;
}

struct Findings::State {
  using Key = std::tuple<Error, std::string, uint32_t, uint32_t>;
  mutable std::mutex mutex;
  std::map<Key, size_t> places;  // of `all`; errors of the host by its call
  std::vector<Finding> all;
  struct Source {
    Locator locator;
    LineOfCode line_of_code;
  };
  std::map<std::string, Source> locators;
  std::vector<Suppression> suppressions;
  std::vector<std::function<void()>> before_finish;
  uint64_t suppressed = 0;

  Place Locate(const std::string& kernel, uint32_t ptx_line) const {
    const auto locator = locators.find(kernel);
    return locator == locators.end() || ptx_line == 0 ? Place() : locator->second.locator(ptx_line);
  }
  bool IsSuppressed(const Finding& finding) const {
    for (const Suppression& each : suppressions) {
      if ((each.error == "*" || each.error == WordOf(finding.error)) &&
          fnmatch(each.kernel.c_str(), finding.kernel.c_str(), 0) == 0 &&
          (each.ptx_line == 0 || each.ptx_line == finding.party.ptx_line))
        return true;
    }
    return false;
  }
};

bool ReportsOnlyJson() {
  static const bool wanted = Variable("PTX2CPU_CHECK_JSON") == "1";
  return wanted;
}

Findings& Findings::Get() {
  static Findings* const findings = new Findings;
  return *findings;
}

Findings::Findings() : state_(new State) {
  state_->suppressions = ReadSuppressions(Variable("PTX2CPU_CHECK_SUPPRESS"));
  std::atexit([] { Get().Finish(); });
}

void Findings::Locate(const std::string& kernel, Locator locator, LineOfCode line_of_code) {
  std::lock_guard lock(state_->mutex);
  state_->locators[kernel] = {std::move(locator), std::move(line_of_code)};
}

void Findings::Add(Finding finding) {
  std::lock_guard lock(state_->mutex);
  if (finding.party.ptx_line == 0 && finding.pc != 0) {
    const auto source = state_->locators.find(finding.kernel);
    if (source != state_->locators.end() && source->second.line_of_code)
      finding.party.ptx_line = source->second.line_of_code(finding.pc);
  }
  const std::string& site = finding.kernel.empty() ? finding.caller : finding.kernel;
  const State::Key key{finding.error, site, finding.party.ptx_line, finding.other.ptx_line};
  if (const auto known = state_->places.find(key); known != state_->places.end()) {
    ++state_->all[known->second].count;
    return;
  }
  if (state_->IsSuppressed(finding)) {
    ++state_->suppressed;
    return;
  }
  state_->places[key] = state_->all.size();
  state_->all.push_back(finding);
  if (state_->all.size() > kMaxPrinted || ReportsOnlyJson()) return;
  const Place place = state_->Locate(finding.kernel, finding.party.ptx_line);
  const Place other = state_->Locate(finding.kernel, finding.other.ptx_line);
  std::fprintf(stderr, "ptx2cpu: check: %s\n", Render(finding, place, other).c_str());
  if (state_->all.size() == kMaxPrinted)
    std::fputs("ptx2cpu: check: further findings are counted and not printed\n", stderr);
}

bool Findings::CountKnown(Error error, const std::string& kernel, uint32_t ptx_line, uint32_t other_line) {
  std::lock_guard lock(state_->mutex);
  const auto known = state_->places.find({error, kernel, ptx_line, other_line});
  if (known == state_->places.end()) return false;
  ++state_->all[known->second].count;
  return true;
}

std::vector<Finding> Findings::All() const {
  std::lock_guard lock(state_->mutex);
  return state_->all;
}

void Findings::Clear() {
  std::lock_guard lock(state_->mutex);
  state_->places.clear();
  state_->all.clear();
}

void Findings::BeforeFinish(std::function<void()> add) {
  std::lock_guard lock(state_->mutex);
  state_->before_finish.push_back(std::move(add));
}

void Findings::Finish() {
  for (const auto& add : state_->before_finish) add();
  std::vector<LocatedFinding> located;
  uint64_t times = 0, suppressed = 0;
  {
    std::lock_guard lock(state_->mutex);
    suppressed = state_->suppressed;
    for (const Finding& finding : state_->all) {
      times += finding.count;
      located.push_back({finding, state_->Locate(finding.kernel, finding.party.ptx_line),
                         state_->Locate(finding.kernel, finding.other.ptx_line)});
    }
  }
  if (const std::string path = Variable("PTX2CPU_CHECK_REPORT"); !path.empty() && !WriteReport(path, located))
    std::fprintf(stderr, "ptx2cpu: check: cannot write '%s'\n", path.c_str());
  if (ReportsOnlyJson())
    std::fputs(JsonReport(located).c_str(), stderr);
  else
    std::fprintf(stderr, "ptx2cpu: check: %zu errors, found %llu times; %llu suppressed\n", located.size(),
                 static_cast<unsigned long long>(times), static_cast<unsigned long long>(suppressed));
  const std::string code = Variable("PTX2CPU_CHECK_EXITCODE");
  if (located.empty() || code.empty()) return;
  std::fflush(nullptr);
  _exit(std::atoi(code.c_str()));
}

}  // namespace ptx2cpu::rt::check
