// Random statements of a warp that meet in shared memory without a barrier: every form of the code, and the
// interpreter in any order of lanes, executes each for all lanes before the next, as a GPU does.
//
//   PTX2CPU_RANDOM_SEED=N, _COUNT=N   of the kernels (1, 12)
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/random/campaign.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;

namespace {

// Stores that are 8 lanes apart, all of them, may be rows of narrow blocks, where the shape is not known.
constexpr uint32_t kLanes = 32, kWords = 64, kNear = 8;

// One statement of all lanes for which lane % modulus < below: a store of the running value, or an addition
// of what is loaded to three times that value.
struct Statement {
  bool stores = false, flips = false;  // the place: lane ^ number, or lane + number
  uint32_t number = 0, modulus = 1, below = 1;

  bool Has(uint32_t lane) const { return lane % modulus < below; }
  uint32_t Place(uint32_t lane) const { return flips ? lane ^ number : lane + number; }
};

std::vector<Statement> Choose(std::mt19937& random) {
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  std::vector<Statement> statements(4 + draw(8));
  for (Statement& s : statements) {
    s.stores = draw(2) == 0;
    s.flips = draw(3) == 0;
    s.number = draw(s.flips ? kLanes : kNear);
    if (draw(2) == 0) continue;
    s.modulus = 2u << draw(5);
    s.below = 1 + draw(s.modulus);
  }
  return statements;
}

std::string Text(const std::vector<Statement>& statements, uint32_t threads) {
  std::string body;
  for (size_t n = 0; n < statements.size(); ++n) {
    const Statement& s = statements[n];
    const std::string label = "L" + std::to_string(n), number = std::to_string(s.number);
    if (s.modulus != 1)
      body += "  and.b32 %m, %lane, " + std::to_string(s.modulus - 1) + ";\n  setp.ge.u32 %p, %m, " +
              std::to_string(s.below) + ";\n  @%p bra " + label + ";\n";
    body += (s.flips ? "  xor.b32 %a, %lane, " : "  add.u32 %a, %lane, ") + number + ";\n";
    body += "  shl.b32 %a, %a, 2;\n  add.u32 %a, %a, %s;\n";
    body +=
        s.stores ? "  st.shared.u32 [%a], %v;\n" : "  ld.shared.u32 %x, [%a];\n  mad.lo.u32 %v, %v, 3, %x;\n";
    body += label + ":\n  add.u32 %v, %v, 1;\n";
  }
  return R"(.version 8.3
.target sm_90
.address_size 64
.shared .align 16 .b8 words[1024];
.visible .entry meet(.param .u64 p_out)
{
  .reg .b32 %me, %lane, %s, %a, %v, %x, %m;
  .reg .b64 %out, %d;
  .reg .pred %p;
  ld.param.u64 %out, [p_out];
  mov.u32 %me, %tid.x;
  and.b32 %lane, %me, 31;
  shr.u32 %s, %me, 5;
  shl.b32 %s, %s, 8;
  mov.u32 %x, words;
  add.u32 %s, %s, %x;
  shl.b32 %a, %lane, 3;
  add.u32 %a, %a, %s;
  st.shared.v2.u32 [%a], {7, 9};
  bar.sync 0;
  mul.lo.u32 %v, %me, 1000;
)" + body +
         R"(  bar.sync 0;
  mad.wide.u32 %d, %me, 12, %out;
  shl.b32 %a, %lane, 3;
  add.u32 %a, %a, %s;
  st.global.u32 [%d], %v;
  ld.shared.u32 %x, [%a];
  st.global.u32 [%d+4], %x;
  ld.shared.u32 %x, [%a+4];
  st.global.u32 [%d+8], %x;
  exit;
}
// run: meet grid=1 block=)" +
         std::to_string(threads) + " compare=bits out:u32:" + std::to_string(3 * threads) + "\n";
}

Buffers InLockStep(const std::vector<Statement>& statements, uint32_t threads) {
  std::vector<uint32_t> out;
  for (uint32_t warp = 0; warp < threads / kLanes; ++warp) {
    uint32_t words[kWords], values[kLanes];
    for (uint32_t n = 0; n < kWords; ++n) words[n] = n % 2 == 0 ? 7 : 9;
    for (uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = (warp * kLanes + lane) * 1000;
    for (const Statement& s : statements) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (s.Has(lane) && s.stores) words[s.Place(lane)] = values[lane];
        if (s.Has(lane) && !s.stores) values[lane] = values[lane] * 3 + words[s.Place(lane)];
        ++values[lane];
      }
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      out.insert(out.end(), {values[lane], words[2 * lane], words[2 * lane + 1]});
  }
  Buffers buffers(1, std::vector<std::byte>(out.size() * 4));
  std::memcpy(buffers[0].data(), out.data(), buffers[0].size());
  return buffers;
}

std::vector<Engine> Engines() {
  constexpr const char* kFirst = "keep-statements-in-step";
  std::vector<Engine> engines{InterpretAfter(kFirst),
                              InterpretAfter(kFirst, {.slice = 7, .backwards = true}),
                              InterpretAfter(""),
                              InterpretForBlock(),
                              Compiled(3),
                              CompiledForBlock(3),
                              Compiled(0, lowering::Tier::kLanes),
                              Compiled(1, lowering::Tier::kResumable),
                              AsObject(1)};
  for (const uint32_t width : {1u, 8u, 16u}) {
    engines.push_back(Compiled(1, lowering::Tier::kAuto, {width, ""}));
    engines.push_back(CompiledForBlock(1, {width, ""}));
  }
  return engines;
}

}  // namespace

TEST_CASE("statements of a warp that meet in shared memory keep a GPU's order") {
  const uint64_t first = NumberOf("PTX2CPU_RANDOM_SEED", 1), count = NumberOf("PTX2CPU_RANDOM_COUNT", 12);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    const std::vector<Statement> statements = Choose(random);
    const uint32_t threads = seed % 3 == 0 ? 32 : 64;
    const std::string text = Text(statements, threads);
    INFO("seed " << seed << "\n" << text);
    const auto run = RunOf(text);
    REQUIRE(run);
    const auto ptx = lowering::PtxModule::Parse(text, "meet.ptx");
    REQUIRE(ptx);
    const Buffers expected = InLockStep(statements, threads);
    for (const Engine& engine : Engines()) {
      const Comparison comparison = Compare(engine, *ptx, *run, expected);
      INFO(comparison.what);
      CHECK(comparison.verdict == Verdict::kSame);
    }
  }
}
