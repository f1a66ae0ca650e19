// Random kernels in the interpreter, with two orders of threads and after the passes, and as machine code.
//
//   PTX2CPU_RANDOM_SEED=N      first seed (1)
//   PTX2CPU_RANDOM_COUNT=N     so many seeds, however long it takes; without it some seconds' worth
//   PTX2CPU_RANDOM_SHARD=I/N   every N-th seed only, from the I-th on
//   PTX2CPU_FULL_TESTS         every kernel for all twenty shapes of blocks, not for two
//   PTX2CPU_RANDOM_FEATURES=L  classes of statements, as random_kernel takes them
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/corpus/block_shapes.h"
#include "tests/quick.h"
#include "tests/random/engines.h"
#include "tests/random/generator/write.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace rk = ptx2cpu::random_kernels;

namespace {

// Whether the compiler may refuse a legal kernel.
constexpr bool kAllowRefused = false;

uint64_t NumberOf(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// The classes of a seed: all, or what cheaper tiers can run.
rk::Features FeaturesOf(uint64_t seed) {
  if (const char* list = std::getenv("PTX2CPU_RANDOM_FEATURES")) {
    const auto features = rk::ParseFeatures(list);
    REQUIRE(features);
    return *features;
  }
  constexpr const char* kClasses[] = {
      "all",
      "alu,branch,loop,switch,leave,irreducible,exit,call,atomic,barrier,exchange,block_branch",
      "alu,shuffle,vote,match,redux,warp_sync,elect,branch,loop,switch,leave,exit,call,barrier,barrier_"
      "reduce,exchange,block_branch",
      "all,-split,-appointment,-split_barrier,-lock,-lane_ticket",
      "alu,shuffle,vote,branch,barrier,exchange,warp_branch,warp_switch,warp_exit,named,arrive,barrier_"
      "reduce,block_call",
      "alu,shuffle,redux,vote,branch,loop,split,appointment,split_barrier,barrier,named,lock,lane_ticket,"
      "warp_ticket,chain",
  };
  return *rk::ParseFeatures(kClasses[seed % std::size(kClasses)]);
}

// A kernel that does not end is named.
char current_seed[64];
void OnAlarm(int) {
  static_cast<void>(!write(STDERR_FILENO, current_seed, std::strlen(current_seed)));
  _exit(3);
}

class Campaign {
 public:
  explicit Campaign(double seconds) : seconds_(ptx2cpu::test::QuickPart(seconds)) {
    if (const char* shard = std::getenv("PTX2CPU_RANDOM_SHARD"))
      std::sscanf(shard, "%lu/%lu", &shard_, &shards_);
    signal(SIGALRM, OnAlarm);
  }
  ~Campaign() { alarm(0); }

  // `engines` for a seed; all are compared with the interpreter's result for the kernel as translated.
  void Run(const std::function<std::vector<Engine>(uint64_t seed)>& engines) {
    const uint64_t first = NumberOf("PTX2CPU_RANDOM_SEED", 1), count = NumberOf("PTX2CPU_RANDOM_COUNT", 0);
    for (uint64_t seed = first; count == 0 ? !TimeIsUp() : seed < first + count; ++seed) {
      if (seed % shards_ != shard_ % shards_) continue;
      std::snprintf(current_seed, sizeof current_seed, "random kernel, seed %lu: does not end\n", seed);
      alarm(60);
      const rk::Tree tree = rk::Grow(seed, FeaturesOf(seed));
      Check(tree, engines(seed));
      if (++kernels_ % 1000 == 0) std::fprintf(stderr, "%s\n", Tally().c_str());
      if (problems_ >= 3) break;
    }
    alarm(0);
    WARN(Tally());
    CHECK(kernels_ >= (count == 0 ? 20 : 1));
  }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  bool TimeIsUp() const { return kernels_ >= 20 && Seconds() > seconds_; }

  static Comparison CompareTree(const rk::Tree& tree, const Engine& engine) {
    const std::string text = rk::WriteModule(tree);
    const auto run = RunOf(text);
    const auto ptx = lowering::PtxModule::Parse(text, "random.ptx");
    if (!run || !ptx) return {Verdict::kFailed, "parsing: " + (run ? ptx.error() : run.error()).Render()};
    const auto expected = InterpretAfter("ir").run(*ptx, *run);
    if (!expected) return {Verdict::kFailed, "reference: " + expected.error().Render()};
    return Compare(engine, *ptx, *run, *expected);
  }

  void Check(const rk::Tree& tree, const std::vector<Engine>& engines) {
    const std::string text = rk::WriteModule(tree);
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

  void Report(const rk::Tree& tree, const Engine& engine, const Comparison& comparison) {
    ++problems_;
    struct Question {
      const Engine& engine;
      Verdict verdict;
      std::chrono::steady_clock::time_point until;
    } question{engine, comparison.verdict, std::chrono::steady_clock::now() + std::chrono::seconds(20)};
    const auto keep = [](const rk::Tree& smaller, void* context) {
      const auto& asked = *static_cast<Question*>(context);
      return std::chrono::steady_clock::now() < asked.until &&
             CompareTree(smaller, asked.engine).verdict == asked.verdict;
    };
    const rk::Tree small = rk::Reduce(tree, keep, &question);
    FAIL_CHECK("seed " << tree.seed << ", " << comparison.what << "\nreduced from " << rk::CountNodes(tree)
                       << " to " << rk::CountNodes(small)
                       << " statements: " << CompareTree(small, engine).what << "\n"
                       << rk::WriteModule(small));
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
  uint64_t shard_ = 0, shards_ = 1, kernels_ = 0, problems_ = 0;
  std::map<Verdict, uint64_t> verdicts_;
  std::map<std::string, uint64_t> refusals_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

TEST_CASE("random synchronising kernels do not depend on the order of threads") {
  Campaign(1.5).Run([](uint64_t seed) {
    return std::vector{InterpretAfter("ir", {.slice = 3 + seed % 17, .backwards = true}),
                       InterpretAfter("ir", {.slice = 1 + seed % 5})};
  });
}

TEST_CASE("random synchronising kernels mean the same after each pass") {
  Campaign(2.5).Run([](uint64_t seed) {
    std::vector<Engine> engines;
    const auto stages = lowering::StageNames();
    // All stages for some kernels, one for the others.
    for (size_t i = 1; i < stages.size(); ++i) {
      if (seed % 16 == 0 || seed % stages.size() == i) engines.push_back(InterpretAfter(stages[i]));
    }
    engines.push_back(InterpretAfter(""));
    if (seed % 2 == 0) engines.push_back(InterpretAfter("", {}, lowering::Tier::kLanes));
    return engines;
  });
}

TEST_CASE("random synchronising kernels give the same as machine code") {
  Campaign(4).Run([](uint64_t seed) {
    // Mostly without optimising: what is tested is our code, and it is compiled three times as fast.
    const int optimisation = seed % 32 == 0 ? 3 : seed % 8 == 1 ? 1 : 0;
    // Every second one at another width or for another machine.
    const auto& forms = harness::kVectorForms;
    const harness::VectorForm form = seed % 2 == 0 ? harness::VectorForm{} : forms[seed / 2 % forms.size()];
    std::vector<Engine> engines{Compiled(optimisation, lowering::Tier::kAuto, form)};
    if (seed % 8 == 0) engines.push_back(Compiled(1, lowering::Tier::kLanes));
    return engines;
  });
}

TEST_CASE("random synchronising kernels give the same by code for their blocks' shape") {
  Campaign(2).Run([](uint64_t seed) {
    return std::vector{InterpretForBlock(), CompiledForBlock(seed % 8 == 0 ? 1 : 0)};
  });
}

TEST_CASE("random synchronising kernels compile for blocks of every shape") {
  const size_t shapes =
      std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? std::size(corpus_test::kBlockShapes) : 2;
  Campaign(1.5).Run([=](uint64_t seed) {
    std::vector<analysis::LaunchShape> chosen;
    for (size_t n = 0; n < shapes; ++n)
      chosen.push_back(corpus_test::kBlockShapes[(7 * seed + n) % std::size(corpus_test::kBlockShapes)]);
    return std::vector{BuiltForShapes(chosen)};
  });
}
