// Every pattern between the threads of a kernel: no forbidden result, and no lost update of the sums.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "runtime/worker/thread_pool.h"
#include "tests/litmus/patterns.h"

using namespace ptx2cpu;
using namespace ptx2cpu::litmus;

namespace {

// One worker for each block, whatever the machine has: those of IRIW are four.
const bool kFourWorkers = setenv("PTX2CPU_THREADS", "4", 0) == 0;

void CheckSums(const Litmus& litmus, const Plan& plan, const Tally& tally) {
  if (litmus.roles[0].ptx.find("%lock") == std::string::npos) return;
  const auto wanted = plan.times * static_cast<uint32_t>(litmus.roles.size());
  CHECK(tally.shared[kTotal] == wanted);
  CHECK(tally.shared[kSum] == wanted);
  CHECK(tally.shared[kLock] == 0);
}

template <typename Run>
void CheckAll(Run run, const Plan& plan) {
  for (const Litmus& litmus : Patterns()) {
    INFO(litmus.name);
    auto tally = run(litmus, plan);
    if (!tally) {
      FAIL_CHECK(tally.error().Render());
      continue;
    }
    INFO(tally->Text());
    CHECK(tally->forbidden == 0);
    CheckSums(litmus, plan, *tally);
  }
}

}  // namespace

TEST_CASE("litmus: blocks on their own workers") {
  REQUIRE(kFourWorkers);
  REQUIRE(rt::ThreadPool::Get().size() >= 2);
  CheckAll(RunJit, {.scope = Scope::kGpu, .times = Times(2048)});
}

TEST_CASE("litmus: blocks on one worker") {
  CheckAll(RunJit, {.scope = Scope::kGpu, .times = Times(16), .batch = 8, .workers = 1});
}

TEST_CASE("litmus: warps of a block") {
  CheckAll(RunJit, {.scope = Scope::kCta, .times = Times(64), .batch = 16});
  CheckAll(RunJit, {.scope = Scope::kCta, .times = Times(16), .batch = 8, .tier = lowering::Tier::kLanes});
}

TEST_CASE("litmus: interpreter") {
  CheckAll(RunInterpreter, {.scope = Scope::kCta, .times = Times(20), .batch = 1});
  CheckAll(RunInterpreter, {.scope = Scope::kGpu, .times = Times(20), .batch = 1});
}

// Whether a machine shows what a missing fence allows is a matter of luck; that it would be counted is not.
TEST_CASE("litmus: forbidden results are counted") {
  for (const auto& [name, outcome] :
       std::vector<std::pair<std::string, Outcome>>{{"MP fence.acq_rel", {1, 0}},
                                                    {"MP wait", {1, 0}},
                                                    {"SB fence.sc", {0, 0}},
                                                    {"LB ld.acquire", {1, 1}},
                                                    {"LB data", {1, 1}},
                                                    {"CoRR relaxed", {2, 1}},
                                                    {"WRC", {1, 1, 0}},
                                                    {"IRIW fence.sc", {1, 0, 1, 0}}}) {
    CAPTURE(name);
    CHECK(Pattern(name).forbidden(outcome));
  }
  // A message that is never the right one.
  Litmus wrong = Pattern("MP wait");
  wrong.roles[0].ptx = "st.relaxed.$S.global.u32 [%x], 6; st.release.$S.global.u32 [%y], 1;";
  auto tally = RunJit(wrong, {.scope = Scope::kGpu, .times = 256});
  REQUIRE(tally);
  CHECK(tally->forbidden == 256);
}
