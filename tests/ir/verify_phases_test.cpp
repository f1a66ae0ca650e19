// The rules of each phase (ir/verify/verify.h).
#include <catch2/catch.hpp>

#include "ir/verify/verify.h"
#include "tests/ir/broken.h"
#include "tests/ir/sample_modules.h"

using namespace ptx2cpu;
using namespace ptx2cpu::ir;
using namespace ptx2cpu::test;

TEST_CASE("rules of the phase Simt", "[verify]") {
  CheckAll("simt", {
                       {"^b:\n  %p = undef i1\n  %q = agree %p\n  ret",
                        "the phase simt does not have this row (rule phase)"},
                       {"  slot #0 i32 lane\n^b:\n  %x = slot_load i32 #0\n  ret", "does not have this row"},
                       {"^b:\n  end_lane", "does not have this row"},
                       {"^b:\n  br ^c\n^c warp:\n  ret", "a block of warp level (rule simt levels)"},
                   });
}

TEST_CASE("rules of the phase Split", "[verify]") {
  const std::string start =
      "^a lane:\n  %p = undef i1\n  %w = undef i32\n  %a = undef i64\n  %f = const i32 0x0\n";
  const std::string end = "\n^z lane:\n  ret";
  CheckAll(
      "split",
      {
          {start + "  barrier_block %w\n  ret",
           "a block barrier in a block of lane level (rule split blocks)"},
          {start + "  br ^b\n^b block:\n  barrier_warp %w\n  br ^z" + end,
           "a warp collective in a block of block level"},
          {start + "  br ^b\n^b warp:\n  barrier_block %w\n  br ^z" + end,
           "a block barrier in a block of warp level"},
          {start + "  %q = agree %p\n  ret", "an agree in a block of lane level"},
          {start + "  br ^b\n^b block:\n  barrier_block %w\n  barrier_block %w\n  br ^z" + end,
           "a second barrier"},
          {start + "  br ^b\n^b block:\n  store i32 global %a, %w\n  barrier_block %w\n  br ^z" + end,
           "only pure instructions"},
          {start + "  br ^b\n^b block:\n  for_warps ^z, ^z" + end, "does not have this row"},
          {start + "  br ^b\n^b block:\n  cond_br %p, ^b, ^z" + end,
           "not decided by an agree (rule split branches)"},
          {start + "  br ^b\n^b warp:\n  %q = agree %p\n  br ^c\n^c block:\n  cond_br %q, ^c, ^z" + end,
           "of a lower level than the branch"},
          {start + "  cond_br %p, ^b, ^c\n^b block:\n  barrier_block %w\n  br ^c\n^c block:\n  br ^z" + end,
           "reach different blocks of warp level, block ^b1 and block ^b2 (rule split regions)"},
          {start +
               "  br ^b\n^b warp:\n  %q = agree %p\n  cond_br %q, ^c, ^d\n^c block:\n  br ^z\n^d block:\n  "
               "br ^z" +
               end,
           "reach different blocks of block level"},
      });
  Status early_exit = Verify(ParseOrFail(
      Around("split", start + "  cond_br %p, ^b, ^z\n^b block:\n  barrier_block %f\n  br ^z" + end)));
  if (!early_exit) FAIL(early_exit.error().Render());
}

TEST_CASE("rules of the phase Collapsed", "[verify]") {
  const std::string slots = "  slot #0 i32 lane\n";
  const std::string block = slots + "^a block:\n  for_warps ^w, ^z\n^z block:\n  ret\n";
  const std::string warp = block + "^w warp:\n  for_lanes ^l, ^y\n^y warp:\n  end_warp\n";
  CheckAll(
      "collapsed",
      {
          {"^a lane:\n  end_lane", "the entry block is not of block level (rule collapsed levels)"},
          {block + "^w warp:\n  %w = const i32 0x0\n  barrier_block %w\n  end_warp",
           "a block barrier in a block of warp level"},
          {warp + "^l lane:\n  %w = const i32 0x0\n  barrier_warp %w\n  end_lane",
           "a warp collective in a block of lane level"},
          {warp + "^l lane:\n  %w = const i1 0x0\n  %q = agree %w\n  end_lane",
           "an agree in a block of lane level"},
          {block + "^w warp:\n  %a = undef i64\n  %w = undef i32\n  store i32 global %a, %w\n  end_warp",
           "an instruction with effects"},
          {block + "^w warp:\n  end_lane",
           "in a block of warp level, expected lane level (rule collapsed loops)"},
          {block + "^w warp:\n  ret", "in a block of warp level, expected block level"},
          {warp + "^l lane:\n  end_warp", "in a block of lane level, expected warp level"},
          {warp + "^l lane:\n  exit_lane", "an exit_lane in a function without has_early_exit"},
          {warp + "^l lane:\n  exit", "an exit; expected exit_lane"},
          {slots + "^a block:\n  exit", "in a block of block level, expected warp level"},
          {warp + "^l lane:\n  %w = const i1 0x0\n  cond_br %w, ^l, ^k {divergent}\n^k lane:\n  end_lane",
           "a divergent branch below warp level"},
          {warp + "^l lane:\n  br ^y", "edge 0 leads to warp level, expected lane level"},
          {block + "^w warp:\n  for_warps ^w, ^w", "for_warps is legal only at block level"},
          {slots + "^a block:\n  for_lanes ^l, ^z\n^l lane:\n  end_lane\n^z block:\n  ret",
           "for_lanes must be at warp level here"},
          {slots + "^a block:\n  for_warps ^w, ^w\n^w warp:\n  end_warp",
           "edge 1 leads to warp level, expected block level"},
          {slots + "^a block:\n  for_warps ^z, ^z\n^z block:\n  ret",
           "edge 0 leads to block level, expected warp level"},
          {slots + "^a block:\n  %x = const i32 0x0\n  for_warps ^w(%x), ^z\n^w(%y: i32) warp:\n  "
                   "end_warp\n^z block:\n  ret",
           "slots carry values there"},
          {slots + "^a block:\n  for_warps ^w, ^z\n^z block:\n  ret\n^w warp:\n  %s = slot_load i32 "
                   "#0\n  for_lanes ^l, ^y\n"
                   "^y warp:\n  end_warp\n^l lane:\n  %n = neg i32 %s\n  end_lane",
           "operand 0 was loaded from a narrower slot at a higher level; load it here (rule collapsed "
           "values)"},
      });
  CHECK(Verify(ParseOrFail(Around("collapsed", warp + "^l lane:\n  end_lane"))));
  // Until the passes after collapse.
  CHECK(Verify(ParseOrFail(Around("collapsed", block + "^w warp:\n  exit"))));
}

TEST_CASE("live masks need their slot", "[verify]") {
  auto masked = [](const std::string& header, const std::string& level) {
    return ParseOrFail(
        "module \"m\" ptx 8.0 sm 80\nkernel @k () phase collapsed " + header +
        " {\n  slot #0 i32 warp\n  slot #1 i32 lane\n^a block:\n  for_warps ^w, ^z\n^z block:\n  ret\n"
        "^w warp:\n  " +
        (level == "warp" ? "%m = live_mask\n  " : "") + "for_lanes ^l, ^y\n^l lane:\n  " +
        (level == "lane" ? "%m = live_mask\n  " : "") + "end_lane\n^y warp:\n  end_warp\n}\n");
  };
  CHECK(Verify(masked("early_exit parked #0", "warp")));
  CheckBroken(masked("early_exit parked #0", "lane"), "in a block of lane level");
  CheckBroken(masked("parked #0", "warp"), "keeps no live masks");
  CheckBroken(masked("early_exit", "warp"), "keeps no live masks");
  CheckBroken(masked("early_exit parked #1", "warp"), "keeps no live masks");
  CheckBroken(masked("early_exit parked #7", "warp"), "keeps no live masks");
}

TEST_CASE("flat functions have no warp level", "[verify]") {
  auto flat = [](const std::string& body) {
    return ParseOrFail("module \"m\" ptx 8.0 sm 80\nkernel @k () phase collapsed flat {\n" + body + "\n}\n");
  };
  CheckBroken(flat("^a block:\n  br ^w\n^w warp:\n  end_warp"), "a block of warp level in a flat function");
  CheckBroken(flat("^a block:\n  for_warps ^b, ^c\n^b block:\n  ret\n^c block:\n  ret"),
              "functions that are not flat");
}

TEST_CASE("functions that are not kernels stay at lane level in every phase", "[verify]") {
  auto in_phase = [](const std::string& phase, const std::string& body) {
    return ParseOrFail("module \"m\" ptx 8.0 sm 80\nfunction @g () phase " + phase + " {\n" + body + "\n}\n");
  };
  CHECK(Verify(in_phase("collapsed", "^b lane:\n  ret")));
  CheckBroken(in_phase("collapsed", "^b lane:\n  end_lane"), "does not have this row");
  CheckBroken(in_phase("split", "^b warp:\n  ret"), "a block of warp level");
}
