// Random kernels by engines: a difference is reported with its seed and a reduced kernel.
//
//   PTX2CPU_RANDOM_SEED=N      first seed (1)
//   PTX2CPU_RANDOM_COUNT=N     so many seeds, however long it takes; without it some seconds' worth
//   PTX2CPU_RANDOM_SHARD=I/N   every N-th seed only, from the I-th on
//   PTX2CPU_RANDOM_FORMS=all   machine code in every form: this machine's own, all widths, all processors
#pragma once

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/quick.h"
#include "tests/random/engines.h"

namespace ptx2cpu::random_test {

// Whether the compiler may refuse a legal kernel.
constexpr bool kAllowRefused = false;

inline uint64_t NumberOf(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The forms in which a kernel becomes machine code: `usual`, or every form on request.
inline std::vector<harness::VectorForm> FormsOr(harness::VectorForm usual) {
  const char* text = std::getenv("PTX2CPU_RANDOM_FORMS");
  if (text == nullptr || std::string_view(text) != "all") return {usual};
  std::vector<harness::VectorForm> forms(harness::kVectorForms.begin(), harness::kVectorForms.end());
  forms.insert(forms.begin(), harness::VectorForm{});
  return forms;
}

// A kernel that does not end is named. The limit is one of processor time, since machines are busy; the other
// is for threads that sleep.
inline char current_seed[64];
inline void OnTimer(int) {
  static_cast<void>(!write(STDERR_FILENO, current_seed, std::strlen(current_seed)));
  _exit(3);
}
inline void LimitTime(time_t seconds) {  // 0: no limit
  signal(SIGPROF, OnTimer);
  signal(SIGALRM, OnTimer);
  const itimerval limit = {.it_interval = {}, .it_value = {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(static_cast<unsigned>(10 * seconds));
}

// `Tree` is a random kernel; its namespace has WriteModule, Reduce and CountNodes.
template <typename Tree>
class Campaign {
 public:
  Campaign(double seconds, std::function<Tree(uint64_t seed)> grow)
      : seconds_(ptx2cpu::test::QuickPart(seconds)), grow_(std::move(grow)) {
    if (const char* shard = std::getenv("PTX2CPU_RANDOM_SHARD"))
      std::sscanf(shard, "%lu/%lu", &shard_, &shards_);
  }
  ~Campaign() { LimitTime(0); }

  // `engines` for a seed; all are compared with the interpreter's result for the kernel as translated.
  void Run(const std::function<std::vector<Engine>(uint64_t seed)>& engines) {
    const uint64_t first = NumberOf("PTX2CPU_RANDOM_SEED", 1), count = NumberOf("PTX2CPU_RANDOM_COUNT", 0);
    for (uint64_t seed = first; count == 0 ? !TimeIsUp() : seed < first + count; ++seed) {
      if (seed % shards_ != shard_ % shards_) continue;
      std::snprintf(current_seed, sizeof current_seed, "random kernel, seed %lu: does not end\n", seed);
      LimitTime(60);
      const Tree tree = grow_(seed);
      Check(tree, engines(seed));
      if (++kernels_ % 1000 == 0) std::fprintf(stderr, "%s\n", Tally().c_str());
      if (problems_ >= 3) break;
    }
    LimitTime(0);
    WARN(Tally());
    CHECK(kernels_ >= (count == 0 ? 20 : 1));
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  bool TimeIsUp() const { return kernels_ >= 20 && Seconds() > seconds_; }

  static Comparison CompareTree(const Tree& tree, const Engine& engine) {
    const std::string text = WriteModule(tree);
    const auto run = RunOf(text);
    const auto ptx = lowering::PtxModule::Parse(text, "random.ptx");
    if (!run || !ptx) return {Verdict::kFailed, "parsing: " + (run ? ptx.error() : run.error()).Render()};
    const auto expected = InterpretAfter("ir").run(*ptx, *run);
    if (!expected) return {Verdict::kFailed, "reference: " + expected.error().Render()};
    return Compare(engine, *ptx, *run, *expected);
  }

  void Check(const Tree& tree, const std::vector<Engine>& engines) {
    const std::string text = WriteModule(tree);
    const auto run = RunOf(text);
    REQUIRE(run);
    const auto ptx = lowering::PtxModule::Parse(text, "random.ptx");
    if (!ptx) return Report(tree, InterpretAfter("ir"), {Verdict::kFailed, ptx.error().Render()});
    const auto expected = InterpretAfter("ir").run(*ptx, *run);
    if (!expected)
      return Report(tree, InterpretAfter("ir"),
                    {Verdict::kFailed, "reference: " + expected.error().Render()});
    for (const Engine& engine : engines) {
      const Comparison comparison = Compare(engine, *ptx, *run, *expected);
      ++verdicts_[comparison.verdict];
      if (comparison.verdict == Verdict::kRefused)
        ++refusals_[comparison.what.substr(0, comparison.what.find('\n'))];
      if (comparison.verdict == Verdict::kSame || (comparison.verdict == Verdict::kRefused && kAllowRefused))
        continue;
      return Report(tree, engine, comparison);
    }
  }

  void Report(const Tree& tree, const Engine& engine, const Comparison& comparison) {
    ++problems_;
    struct Question {
      const Engine& engine;
      Verdict verdict;
      std::chrono::steady_clock::time_point until;
    } question{engine, comparison.verdict, std::chrono::steady_clock::now() + std::chrono::seconds(20)};
    const auto keep = [](const Tree& smaller, void* context) {
      const auto& asked = *static_cast<Question*>(context);
      return std::chrono::steady_clock::now() < asked.until &&
             CompareTree(smaller, asked.engine).verdict == asked.verdict;
    };
    const Tree small = Reduce(tree, keep, &question);
    FAIL_CHECK("seed " << tree.seed << ", " << comparison.what << "\nreduced from " << CountNodes(tree)
                       << " to " << CountNodes(small) << " statements: " << CompareTree(small, engine).what
                       << "\n"
                       << WriteModule(small));
  }

  std::string Tally() const {
    std::string text = std::to_string(kernels_) + " kernels in " + std::to_string(Seconds()) +
                       " s, runs the same: " + std::to_string(CountOf(Verdict::kSame)) +
                       ", refused: " + std::to_string(CountOf(Verdict::kRefused));
    size_t shown = 0;
    for (const auto& [what, count] : refusals_) {
      if (++shown <= 4) text += "\n  " + std::to_string(count) + " " + what;
    }
    return text;
  }
  uint64_t CountOf(Verdict verdict) const {
    const auto found = verdicts_.find(verdict);
    return found == verdicts_.end() ? 0 : found->second;
  }

  double seconds_;
  std::function<Tree(uint64_t seed)> grow_;
  uint64_t shard_ = 0, shards_ = 1, kernels_ = 0, problems_ = 0;
  std::map<Verdict, uint64_t> verdicts_;
  std::map<std::string, uint64_t> refusals_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ptx2cpu::random_test
