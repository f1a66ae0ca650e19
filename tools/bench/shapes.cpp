#include "tools/bench/shapes.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "tools/bench/shape_text.h"

namespace ptx2cpu::bench {

namespace {

std::string StraightLine(uint32_t n) { return Row(n, "mad.lo.u32 %v, %v, %u, {0};\nxor.b32 %v, %v, %t;\n"); }
std::string LiveAtOnce(uint32_t n) {  // n values are live in the middle
  return Kernel(
      fmt::format(".reg .b32 %w<{}>;\n", n + 1) +
      Repeat(n,
             [](auto out, uint32_t i) { fmt::format_to(out, "ld.global.u32 %w{}, [%a+{}];\n", i, 4 * i); }) +
      "bar.sync 0;\n" +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "mad.lo.u32 %v, %v, 3, %w{};\n", i); }));
}
std::string Branches(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\nmad.lo.u32 %v, %v, 3, %u;\n$L{0}:\n");
}
std::string UniformBranches(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %u, {0};\n@%p bra $L{0};\nmad.lo.u32 %v, %v, 3, %t;\n$L{0}:\n");
}
std::string EarlyExits(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %v, {0};\n@%p ret;\nmad.lo.u32 %v, %v, 3, %u;\n");
}
std::string DeepBranches(uint32_t n) {
  return Kernel(Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out, "setp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\nmad.lo.u32 %v, %v, 3, %u;\n", i);
                       }) +
                Repeat(n, [n](auto out, uint32_t i) {
                  fmt::format_to(out, "$L{}:\nadd.u32 %v, %v, 1;\n", n - 1 - i);
                }));
}
std::string Loops(uint32_t n) {
  return Row(n,
             "mov.u32 %r0, 0;\n$L{0}:\nmad.lo.u32 %v, %v, 3, %r0;\nadd.u32 %r0, %r0, 1;\n"
             "setp.lt.u32 %p, %r0, %u;\n@%p bra $L{0};\n");
}
std::string NestedLoops(uint32_t n) {
  return Kernel(
      fmt::format(".reg .b32 %i<{}>;\n", n + 1) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "mov.u32 %i{0}, 0;\n$L{0}:\n", i); }) +
      "mad.lo.u32 %v, %v, 3, %t;\n" + Repeat(n, [n](auto out, uint32_t k) {
        fmt::format_to(out, "add.u32 %i{0}, %i{0}, 1;\nsetp.lt.u32 %p, %i{0}, %u;\n@%p bra $L{0};\n",
                       n - 1 - k);
      }));
}
std::string DivergentNestedLoops(uint32_t n) {
  return Kernel(
      fmt::format(".reg .b32 %i<{}>;\n", n + 1) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "mov.u32 %i{0}, 0;\n$L{0}:\n", i); }) +
      "mad.lo.u32 %v, %v, 3, %t;\n" + Repeat(n, [n](auto out, uint32_t k) {
        fmt::format_to(out, "add.u32 %i{0}, %i{0}, 1;\nsetp.lt.u32 %p, %i{0}, %v;\n@%p bra $L{0};\n",
                       n - 1 - k);
      }));
}
// Values from before that are read after n joins, and after n loops within each other.
std::string ValuesAroundBranches(uint32_t n) {
  return Kernel(fmt::format(".reg .b32 %w<{}>;\n", n) +
                Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %w{0}, %v, {0};\n", i); }) +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out,
                             "setp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\nmad.lo.u32 %v, %v, 3, {0};\n"
                             "bra.uni $J{0};\n$L{0}:\nadd.u32 %v, %v, {0};\n$J{0}:\n",
                             i);
                       }) +
                Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %v, %v, %w{};\n", i); }));
}
std::string ValuesAroundLoops(uint32_t n) {
  return Kernel(
      fmt::format(".reg .b32 %w<{0}>, %i<{0}>;\n", n) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %w{0}, %v, {0};\n", i); }) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "mov.u32 %i{0}, 0;\n$L{0}:\n", i); }) +
      "ld.global.u32 %v, [%a];\n" +
      Repeat(n,
             [n](auto out, uint32_t k) {
               fmt::format_to(out,
                              "add.u32 %i{0}, %i{0}, 1;\n"
                              "setp.lt.u32 %p, %i{0}, %v;\n@%p bra $L{0};\n",
                              n - 1 - k);
             }) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %v, %v, %w{};\n", i); }));
}
std::string Switch(uint32_t n) {
  std::string list;
  for (uint32_t i = 0; i < n; ++i) list += fmt::format("{}$L{}", i == 0 ? "" : ", ", i);
  return Kernel("rem.u32 %r0, %v, " + std::to_string(n) + ";\n$T: .branchtargets " + list +
                ";\nbrx.idx %r0, $T;\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(out, "$L{0}:\nmad.lo.u32 %v, %v, {0}, %u;\nbra.uni $E;\n", i);
                       }) +
                "$E:\n");
}
std::string SwitchToFew(uint32_t n) {
  std::string list;
  for (uint32_t i = 0; i < n; ++i) list += fmt::format("{}$L{}", i == 0 ? "" : ", ", i % 2);
  return Kernel("rem.u32 %r0, %v, " + std::to_string(n) + ";\n$T: .branchtargets " + list +
                ";\nbrx.idx %r0, $T;\n$L0:\nadd.u32 %v, %v, %u;\n$L1:\nadd.u32 %v, %v, 1;\n");
}
std::string Shuffles(uint32_t n) {
  return Row(n, "shfl.sync.bfly.b32 %r0, %v, 1, 31, -1;\nmad.lo.u32 %v, %r0, 3, {0};\n");
}
std::string Votes(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %v, {0};\nvote.sync.ballot.b32 %r0, %p, -1;\nadd.u32 %v, %v, %r0;\n");
}
std::string ShufflesInArms(uint32_t n) {
  return Row(n,
             "setp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\nactivemask.b32 %r1;\n"
             "shfl.sync.bfly.b32 %r0, %v, 1, 31, %r1;\nadd.u32 %v, %v, %r0;\n$L{0}:\n");
}
std::string ShufflesInUniformArms(uint32_t n) {
  return Row(n,
             "setp.gt.u32 %p, %u, {0};\n@%p bra $L{0};\n"
             "shfl.sync.bfly.b32 %r0, %v, 1, 31, -1;\nadd.u32 %v, %v, %r0;\n$L{0}:\n");
}
std::string ShufflesInLoops(uint32_t n) {
  return Row(n,
             "mov.u32 %r0, 0;\n$L{0}:\nshfl.sync.bfly.b32 %r1, %v, 1, 31, -1;\nmad.lo.u32 %v, %r1, 3, %r0;\n"
             "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L{0};\n");
}
constexpr std::string_view kTile = ".shared .align 4 .b8 tile[4096];\n";
std::string Barriers(uint32_t n) {
  return Row(
      n,
      "mov.u32 %r0, tile;\nmad.lo.u32 %r1, %t, 4, %r0;\nxor.b32 %r2, %r1, 4;\nst.shared.u32 [%r1], %v;\n"
      "bar.sync 0;\nld.shared.u32 %r3, [%r2];\nadd.u32 %v, %v, %r3;\nbar.sync 0;\n",
      std::string(kTile));
}
std::string BarriersInUniformArms(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %u, {0};\n@%p bra $L{0};\nbar.sync 0;\nadd.u32 %v, %v, 1;\n$L{0}:\n");
}
std::string BarriersInLoops(uint32_t n) {
  return Row(n,
             "mov.u32 %r0, 0;\n$L{0}:\nbar.sync 0;\nmad.lo.u32 %v, %v, 3, %r0;\n"
             "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L{0};\n");
}
std::string DivergentBarriers(uint32_t n) {  // resumable
  return Row(n, "setp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\nbarrier.sync 0;\nadd.u32 %v, %v, 1;\n$L{0}:\n");
}
std::string SpinLoops(uint32_t n) {  // resumes lanes
  return Row(n,
             "$L{0}:\natom.global.cas.b32 %r0, [%o], 0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra $L{0};\n"
             "add.u32 %v, %v, {0};\natom.global.exch.b32 %r0, [%o], 0;\n");
}
std::string Atomics(uint32_t n) { return Row(n, "atom.global.add.u32 %v, [%a+{0}], %v;\n"); }
std::string Stores(uint32_t n) {
  return Row<4>(n, "st.global.u32 [%a+{0}], %v;\nld.global.u32 %r0, [%a+{0}];\nadd.u32 %v, %v, %r0;\n");
}
std::string SharedStores(uint32_t n) {
  return Kernel("mov.u32 %r0, tile;\nmad.lo.u32 %r1, %t, 4, %r0;\nbar.sync 0;\n" +
                    Repeat(n,
                           [](auto out, uint32_t i) {
                             fmt::format_to(out,
                                            "st.shared.u32 [%r1+{0}], %v;\nld.shared.u32 %r2, [%r1+{1}];\n"
                                            "add.u32 %v, %v, %r2;\n",
                                            i * 4 % 1024, i * 12 % 1024);
                           }) +
                    "bar.sync 0;\n",
                std::string(kTile));
}
std::string GuardedStores(uint32_t n) {
  return Row<4>(n, "setp.gt.u32 %p, %v, {0};\n@%p st.global.u32 [%a+{0}], %v;\n@!%p add.u32 %v, %v, {0};\n");
}

// -- modules --

std::string EmptyKernels(uint32_t n) {
  return std::string(kHead) + Repeat(n, [](auto out, uint32_t i) {
           fmt::format_to(out, ".visible .entry k{}()\n{{\nret;\n}}\n", i);
         });
}
std::string Parameters(uint32_t n) {
  std::string list;
  for (uint32_t i = 0; i < n; ++i) list += fmt::format(", .param .u32 x{}", i);
  std::string text = std::string(kHead) + std::string(kBegin);
  text.insert(text.find(")\n{"), list);
  return text +
         Repeat(n,
                [](auto out, uint32_t i) {
                  fmt::format_to(out, "ld.param.u32 %r0, [x{}];\nadd.u32 %v, %v, %r0;\n", i);
                }) +
         std::string(kEnd);
}
std::string Variables(uint32_t n) {
  return Row(n, "ld.global.u32 %r0, [g{0}];\nadd.u32 %v, %v, %r0;\n", Repeat(n, [](auto out, uint32_t i) {
               fmt::format_to(out, ".global .align 4 .u32 g{0} = {0};\n", i);
             }));
}
std::string SharedVariables(uint32_t n) {
  return Row(n, "st.shared.u32 [s{0}], %v;\nld.shared.u32 %r0, [s{0}];\nadd.u32 %v, %v, %r0;\n",
             Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, ".shared .align 4 .u32 s{};\n", i); }));
}
std::string UnusedVariables(uint32_t n) {
  return Row(1, "add.u32 %v, %v, {0};\n", Repeat(n, [](auto out, uint32_t i) {
               fmt::format_to(out, ".global .align 8 .u64 g{0} = {1};\n", i,
                              i == 0 ? "0" : fmt::format("g{}", i - 1));
             }));
}
std::string InitialisedArray(uint32_t n) {
  std::string list;
  for (uint32_t i = 0; i < n; ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  return Row(1, "ld.global.u32 %r0, [array+{0}];\nadd.u32 %v, %v, %r0;\n",
             fmt::format(".global .align 4 .u32 array[{}] = {{{}}};\n", n, list));
}
std::string LocalArray(uint32_t n) {
  return Kernel(
      fmt::format(".local .align 4 .b8 array[{}];\nmov.u64 %f, array;\n", 4 * n) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "st.local.u32 [%f+{}], %v;\n", 4 * i); }) +
      fmt::format("rem.u32 %r0, %v, {};\nmul.wide.u32 %a, %r0, 4;\nadd.s64 %f, %f, %a;\n"
                  "ld.local.u32 %v, [%f];\nmov.b64 %a, %o;\n",
                  n));
}
std::string Registers(uint32_t n) {
  return Kernel(
      fmt::format(".reg .b32 %w<{}>;\nmov.u32 %w0, %v;\n", n + 1) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %w{}, %w{}, %u;\n", i + 1, i); }) +
      fmt::format("mov.u32 %v, %w{};\n", n));
}

// -- functions --

// f<i> does `body` and calls f<i + 1> so many times; the last one calls nothing.
std::string Chain(uint32_t n, std::string_view body, uint32_t times = 1) {
  std::string text;
  for (uint32_t i = n; i-- > 0;) {
    text += fmt::format(
        ".func (.param .b32 result) f{}(.param .b32 x)\n{{\n.reg .b32 %v, %r<8>; .reg .pred "
        "%p;\nld.param.b32 %v, "
        "[x];\n{}",
        i, body);
    for (uint32_t call = 0; i + 1 < n && call < times; ++call) {
      text += fmt::format(
          "{{\n.param .b32 a, b;\nst.param.b32 [a], %v;\ncall.uni (b), f{}, (a);\nld.param.b32 %v, "
          "[b];\n}}\n",
          i + 1);
    }
    text += "st.param.b32 [result], %v;\nret;\n}\n";
  }
  return text;
}
constexpr std::string_view kCallFirst =
    "{{\n.param .b32 a, b;\nst.param.b32 [a], %v;\ncall.uni (b), f0, (a);\nld.param.b32 %v, [b];\n}}\n";
std::string ManyInstructions(uint32_t count) {
  return Repeat(count, [](auto out, uint32_t i) { fmt::format_to(out, "mad.lo.s32 %v, %v, 5, {};\n", i); });
}
std::string Calls(uint32_t n) { return Row(1, kCallFirst, Chain(n, "add.u32 %v, %v, 1;\n")); }
std::string LargeCalls(uint32_t n) { return Row(1, kCallFirst, Chain(n, ManyInstructions(50))); }
std::string CallsToShuffles(uint32_t n) {
  return Row(1, kCallFirst, Chain(n, "shfl.sync.bfly.b32 %r0, %v, 1, 31, -1;\nadd.u32 %v, %v, %r0;\n"));
}
// Each calls the next twice: as many copies as 2^n, were all inlined.
std::string CallsInPairs(uint32_t n) {
  return Row(1, kCallFirst, Chain(n, "shfl.sync.bfly.b32 %r0, %v, 1, 31, -1;\nadd.u32 %v, %v, %r0;\n", 2));
}
// A cycle of n functions that hold a collective: flattened.
std::string Recursion(uint32_t n) {
  std::string text;
  for (uint32_t i = 0; i < n; ++i) {
    text += fmt::format(".func (.param .b32 result) f{}(.param .b32 x);\n", i);
  }
  for (uint32_t i = 0; i < n; ++i) {
    text += fmt::format(
        ".func (.param .b32 result) f{0}(.param .b32 x)\n{{\n.reg .b32 %v, %r<8>; .reg .pred "
        "%p;\nld.param.b32 %v, "
        "[x];\nsetp.lt.u32 %p, %v, 2;\n@%p bra $E;\nactivemask.b32 %r0;\nsub.u32 %v, %v, 1;\n"
        "{{\n.param .b32 a, b;\nst.param.b32 [a], %v;\ncall.uni (b), f{1}, (a);\nld.param.b32 %r1, [b];\n}}\n"
        "add.u32 %v, %v, %r1;\n$E:\nst.param.b32 [result], %v;\nret;\n}}\n",
        i, (i + 1) % n);
  }
  return Row(1, kCallFirst, text);
}
std::string Functions(uint32_t n) {  // each called once by the kernel
  std::string text;
  for (uint32_t i = 0; i < n; ++i) {
    text += fmt::format(
        ".func (.param .b32 result) f{}(.param .b32 x)\n{{\n.reg .b32 %v;\nld.param.b32 %v, [x];\n"
        "mad.lo.u32 %v, %v, 3, {};\nst.param.b32 [result], %v;\nret;\n}}\n",
        i, i);
  }
  return Row(
      n,
      "{{\n.param .b32 a, b;\nst.param.b32 [a], %v;\ncall.uni (b), f{0}, (a);\nld.param.b32 %v, [b];\n}}\n",
      text);
}
// The kernel calls through a pointer; all n functions may be meant.
std::string IndirectTargets(uint32_t n, std::string_view body) {
  std::string text, table;
  for (uint32_t i = 0; i < n; ++i) {
    text += fmt::format(
        ".func (.param .b32 result) f{}(.param .b32 x)\n{{\n.reg .b32 %v, %r<8>;\nld.param.b32 %v, [x];\n{}"
        "mad.lo.u32 %v, %v, 3, {};\nst.param.b32 [result], %v;\nret;\n}}\n",
        i, body, i);
    table += fmt::format("{}f{}", i == 0 ? "" : ", ", i);
  }
  text += fmt::format(".global .align 8 .u64 table[{}] = {{{}}};\n", n, table);
  return Kernel(
      fmt::format("rem.u32 %r0, %v, {};\nmul.wide.u32 %f, %r0, 8;\n.reg .b64 %g;\nmov.u64 %g, table;\n"
                  "add.s64 %f, %f, %g;\nld.global.u64 %f, [%f];\n{{\n.param .b32 a, b;\n"
                  "st.param.b32 [a], %v;\n$P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                  "call (b), %f, (a), $P;\nld.param.b32 %v, [b];\n}}\n",
                  n),
      text);
}
std::string PlainTargets(uint32_t n) { return IndirectTargets(n, ""); }
std::string WaitingTargets(uint32_t n) {
  return IndirectTargets(n, "activemask.b32 %r0;\nadd.u32 %v, %v, %r0;\n");
}

constexpr GrowthShape kShapes[] = {
    {"straight_line", "instructions in a row", StraightLine, 1000},
    {"registers", "registers, each written once", Registers, 1000},
    {"live_at_once", "values that are live at a barrier", LiveAtOnce, 250},
    {"branches", "branches on data in a row", Branches, 250},
    {"uniform_branches", "branches that all threads take together", UniformBranches, 250},
    {"early_exits", "conditional returns in a row", EarlyExits, 250},
    {"deep_branches", "branches within each other", DeepBranches, 100},
    {"loops", "loops in a row", Loops, 100},
    {"nested_loops", "loops within each other", NestedLoops, 100},
    {"divergent_nested_loops", "loops within each other that lanes leave apart", DivergentNestedLoops, 100},
    {"values_around_branches", "values that are read after as many branches", ValuesAroundBranches, 250},
    {"values_around_loops", "values that are read after as many loops within each other", ValuesAroundLoops,
     50},
    {"switch", "targets of a brx.idx", Switch, 1000},
    {"switch_to_few", "entries of a brx.idx with two targets", SwitchToFew, 10000},
    {"guarded_stores", "stores and sums under predicates", GuardedStores, 250},
    {"shuffles", "shuffles in a row", Shuffles, 100},
    {"votes", "ballots in a row", Votes, 100},
    {"shuffles_in_arms", "shuffles in arms of branches on data", ShufflesInArms, 50},
    {"shuffles_in_uniform_arms", "shuffles in arms that warps take together", ShufflesInUniformArms, 50},
    {"shuffles_in_loops", "loops in a row with a shuffle each", ShufflesInLoops, 50},
    {"barriers", "exchanges through shared memory with two barriers each", Barriers, 50},
    {"barriers_in_uniform_arms", "barriers in arms that blocks take together", BarriersInUniformArms, 50},
    {"barriers_in_loops", "loops in a row with a barrier each", BarriersInLoops, 50},
    {"divergent_barriers", "barriers in arms of branches on data", DivergentBarriers, 50},
    {"spin_loops", "locks that are taken and given back", SpinLoops, 50},
    {"atomics", "atomics in a row", Atomics, 250},
    {"stores", "stores and loads of global memory", Stores, 250},
    {"shared_stores", "stores and loads of shared memory between two barriers", SharedStores, 250},
    {"empty_kernels", "empty kernels in one file", EmptyKernels, 100},
    {"parameters", "kernel parameters", Parameters, 500},
    {"variables", "module variables that the kernel reads", Variables, 500},
    {"shared_variables", "shared variables", SharedVariables, 250},
    {"unused_variables", "pointers to each other that no kernel names", UnusedVariables, 2000},
    {"initialised_array", "initial values of an array", InitialisedArray, 10000},
    {"local_array", "elements of a local array, each stored", LocalArray, 250},
    {"calls", "functions, each calling the next", Calls, 250},
    {"large_calls", "functions too large to be inlined, each calling the next", LargeCalls, 50},
    {"calls_to_shuffles", "functions with a shuffle, each calling the next", CallsToShuffles, 50},
    {"calls_in_pairs", "functions with a shuffle, each calling the next twice", CallsInPairs, 50},
    {"recursion", "functions with a collective, in a cycle of calls", Recursion, 50},
    {"functions", "small functions that the kernel calls", Functions, 250},
    {"indirect_targets", "functions that a pointer may hold", PlainTargets, 250},
    {"indirect_waiting_targets", "functions with a collective that a pointer may hold", WaitingTargets, 50},
};

}  // namespace

std::span<const GrowthShape> GrowthShapes() {
  static const std::vector<GrowthShape> shapes = [] {
    std::vector<GrowthShape> all(std::begin(kShapes), std::end(kShapes));
    std::ranges::copy(FurtherShapes(), std::back_inserter(all));
    std::ranges::copy(CollectiveShapes(), std::back_inserter(all));
    return all;
  }();
  return shapes;
}

}  // namespace ptx2cpu::bench
