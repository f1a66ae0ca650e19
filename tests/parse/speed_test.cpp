// test_parse '[.benchmark]': text to tree on a module of 10 MB that looks like nvcc's output.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <ctime>
#include <random>

#include "ptx-parser/parse/parse.h"
#include "ptx-parser/parse/scanner.h"

namespace ptx2cpu::ptx::tests {
namespace {

// The mixture of instructions follows counts over large libraries: half floating-point arithmetic, a quarter
// integers, the rest loads, stores, compares and branches.
std::string KernelText(size_t number, size_t instructions, std::mt19937& random) {
  std::string out = fmt::format(
      "\t// .globl\t_Z6kernelILi{0}EEvPfS0_i\n.visible .entry _Z6kernelILi{0}EEvPfS0_i(\n"
      "\t.param .u64 .ptr .align 1 _Z6kernelILi{0}EEvPfS0_i_param_0,\n"
      "\t.param .u32 _Z6kernelILi{0}EEvPfS0_i_param_1\n)\n.maxntid 256\n{{\n"
      "\t.reg .pred \t%p<64>;\n\t.reg .b32 \t%r<2000>;\n\t.reg .f32 \t%f<4000>;\n\t.reg .b64 "
      "\t%rd<1000>;\n\n",
      number);
  const auto pick = [&](uint32_t below) { return random() % below; };
  for (size_t i = 0; i < instructions; ++i) {
    if (i % 24 == 0) out += fmt::format("$L__BB{}_{}:\n", number, i / 24);
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
        out += fmt::format("\tfma.rn.f32 \t%f{}, %f{}, %f{}, %f{};\n", pick(4000), pick(4000), pick(4000),
                           pick(4000));
        break;
      case 3:
        out += fmt::format("\tmul.f32 \t%f{}, %f{}, 0f3F800000;\n", pick(4000), pick(4000));
        break;
      case 4:
        out += fmt::format("\tadd.s64 \t%rd{}, %rd{}, %rd{};\n", pick(1000), pick(1000), pick(1000));
        break;
      case 5:
        out += fmt::format("\tadd.s32 \t%r{}, %r{}, -{};\n", pick(2000), pick(2000), pick(100));
        break;
      case 6:
        out += fmt::format("\tld.global.nc.f32 \t%f{}, [%rd{}+{}];\n", pick(4000), pick(1000), pick(4096));
        break;
      case 7:
        out += fmt::format("\tst.shared.v2.f32 \t[%r{}+{}], {{%f{}, %f{}}};\n", pick(2000), pick(999),
                           pick(4000), pick(4000));
        break;
      case 8:
        out += fmt::format("\tsetp.lt.s32 \t%p{}, %r{}, %r{};\n", pick(64), pick(2000), pick(2000));
        break;
      default:
        out += fmt::format("\t@%p{} bra \t$L__BB{}_{};\n", pick(64), number,
                           pick(static_cast<uint32_t>(instructions / 24)));
        break;
    }
  }
  return out + "\tret;\n\n}\n";
}

std::string ModuleText(size_t bytes) {
  std::mt19937 random(1);
  std::string out = ".version 8.5\n.target sm_90\n.address_size 64\n\n";
  for (size_t i = 0; out.size() < bytes; ++i) out += KernelText(i, 1200, random);
  return out;
}

// Not wall time: other work on the machine shall not count.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("parsing speed", "[.benchmark]") {
  const std::string text = ModuleText(10'000'000);
  double best = 0;
  double best_scan = 0;
  for (int run = 0; run < 5; ++run) {
    std::string copy = text;
    const double start = CpuSeconds();
    const TokenArray tokens = Scan(copy);
    const double scanned = CpuSeconds();
    const auto module = Parse(std::move(copy), "speed.ptx");
    const double end = CpuSeconds();
    REQUIRE(module);
    const double megabytes = static_cast<double>(text.size()) / 1e6;
    best_scan = std::max(best_scan, megabytes / (scanned - start));
    best = std::max(best, megabytes / (end - scanned));
  }
  WARN(fmt::format("text to tree {:.1f} MB/s, scanner alone {:.1f} MB/s", best, best_scan));
  CHECK(best >= 25);
}

}  // namespace ptx2cpu::ptx::tests
