// Random kernels in the interpreter, with two orders of threads and after the passes, and as machine code.
//
//   PTX2CPU_RANDOM_...         as in campaign.h
//   PTX2CPU_FULL_TESTS         every kernel for all twenty shapes of blocks, not for two
//   PTX2CPU_RANDOM_FEATURES=L  classes of statements, as random_kernel takes them
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/corpus/block_shapes.h"
#include "tests/random/campaign.h"
#include "tests/random/generator/write.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace rk = ptx2cpu::random_kernels;

namespace {

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

Campaign<rk::Tree> Synchronising(double seconds) {
  return {seconds, [](uint64_t seed) { return rk::Grow(seed, FeaturesOf(seed)); }};
}

}  // namespace

TEST_CASE("random synchronising kernels do not depend on the order of threads") {
  Synchronising(1.5).Run([](uint64_t seed) {
    return std::vector{InterpretAfter("ir", {.slice = 3 + seed % 17, .backwards = true}),
                       InterpretAfter("ir", {.slice = 1 + seed % 5})};
  });
}

TEST_CASE("random synchronising kernels mean the same after each pass") {
  Synchronising(2.5).Run([](uint64_t seed) {
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
  Synchronising(4).Run([](uint64_t seed) {
    // Mostly without optimising: what is tested is our code, and it is compiled three times as fast.
    const int optimisation = seed % 32 == 0 ? 3 : seed % 8 == 1 ? 1 : 0;
    // Every second one at another width or for another machine.
    const auto& forms = harness::kVectorForms;
    const harness::VectorForm form = seed % 2 == 0 ? harness::VectorForm{} : forms[seed / 2 % forms.size()];
    std::vector<Engine> engines;
    for (const harness::VectorForm each : FormsOr(form))
      engines.push_back(Compiled(optimisation, lowering::Tier::kAuto, each));
    if (seed % 8 == 0) engines.push_back(Compiled(1, lowering::Tier::kLanes));
    return engines;
  });
}

TEST_CASE("random synchronising kernels give the same by code for their blocks' shape") {
  Synchronising(2).Run([](uint64_t seed) {
    std::vector<Engine> engines{InterpretForBlock()};
    for (const harness::VectorForm form : FormsOr({}))
      engines.push_back(CompiledForBlock(seed % 8 == 0 ? 1 : 0, form));
    return engines;
  });
}

TEST_CASE("random synchronising kernels compile for blocks of every shape") {
  const size_t shapes =
      std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? std::size(corpus_test::kBlockShapes) : 2;
  Synchronising(1.5).Run([=](uint64_t seed) {
    std::vector<analysis::LaunchShape> chosen;
    for (size_t n = 0; n < shapes; ++n)
      chosen.push_back(corpus_test::kBlockShapes[(7 * seed + n) % std::size(corpus_test::kBlockShapes)]);
    return std::vector{BuiltForShapes(chosen)};
  });
}
