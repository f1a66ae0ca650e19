// Lanes that reach one collective in different trips of a loop around it.
#include "analysis/regions/mixed_trips.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

// Blocks that begin with a ballot are boundaries; a cond_br on %lane_bit differs between lanes.
bool Mixes(const std::string& body) {
  const std::string head = R"(module "m" ptx 8.0 sm 80
kernel @k () phase simt {
^b0:
  %lane = special i32 laneid
  %zero = const i32 0x0
  %full = const i32 0xffffffff
  %bit = icmp i32 ne %lane, %zero
  %even = icmp i32 eq %zero, %zero
)";
  Result<ir::Module> module = ir::Parse(head + body + "}\n", "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  const auto boundary = [&](ir::BlockId b) {
    return f.at_inst(f.at_block(b).insts.front()).op == ir::Opcode::kBallot;
  };
  const auto differs = [&](ir::BlockId b) { return f.terminator(b).op == ir::Opcode::kCondBr; };
  const std::vector<bool> mixed = analysis::FindMixedTrips(f, boundary, differs);
  return std::ranges::find(mixed, true) != mixed.end();
}

}  // namespace

TEST_CASE("a plain loop, and a branch within a trip, mix nothing", "[analysis]") {
  CHECK_FALSE(
      Mixes("  br ^vote\n^vote:\n  %m = ballot %even, %full\n  br ^next\n^next:\n  cond_br %bit, ^vote, "
            "^end\n^end:\n  ret\n"));
  CHECK_FALSE(
      Mixes("  cond_br %bit, ^a, ^b\n^a:\n  br ^vote\n^b:\n  br ^vote\n^vote:\n  %m = ballot %even, %full\n  "
            "br ^next\n"
            "^next:\n  cond_br %bit, ^vote, ^end\n^end:\n  ret\n"));
}

TEST_CASE("a trip that leaves the collective out mixes trips", "[analysis]") {
  CHECK(Mixes(
      "  br ^head\n^head:\n  cond_br %bit, ^latch, ^vote\n^vote:\n  %m = ballot %even, %full\n  br ^latch\n"
      "^latch:\n  cond_br %even, ^head, ^end\n^end:\n  ret\n"));
}

TEST_CASE("a jump into the middle of a loop mixes trips", "[analysis]") {
  CHECK(
      Mixes("  cond_br %bit, ^second, ^first\n^first:\n  br ^vote\n^vote:\n  %m = ballot %even, %full\n  br "
            "^second\n"
            "^second:\n  cond_br %even, ^first, ^end\n^end:\n  ret\n"));
}

TEST_CASE("the next trip of an inner or of the outer loop are different ones", "[analysis]") {
  CHECK(Mixes(
      "  br ^outer\n^outer:\n  br ^vote\n^vote:\n  %m = ballot %even, %full\n  br ^inner\n"
      "^inner:\n  cond_br %bit, ^vote, ^leave\n^leave:\n  cond_br %even, ^outer, ^end\n^end:\n  ret\n"));
}
