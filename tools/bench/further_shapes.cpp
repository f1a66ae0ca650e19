// Shapes in which several things come together: passes that look from each of them at all the others.
#include "tools/bench/shape_text.h"

namespace ptx2cpu::bench {
namespace {

constexpr std::string_view kRecords = "mul.wide.u32 %f, %t, 16;\nadd.s64 %f, %f, %o;\n";

// Elements that a thread has in a row: four after each other become one access.
std::string Neighbours(uint32_t n) {
  return Kernel(std::string(kRecords) + Repeat(n, [](auto out, uint32_t i) {
                  fmt::format_to(out, "ld.global.u32 %r0, [%f+{}];\nadd.u32 %v, %v, %r0;\n", 4 * i);
                }));
}
// Words that are loaded in two halves and packed.
std::string PackedWords(uint32_t n) {
  return Kernel(".reg .b16 %h, %l;\n" + std::string(kRecords) + Repeat(n, [](auto out, uint32_t i) {
                  fmt::format_to(out,
                                 "ld.global.u16 %l, [%f+{}];\nld.global.u16 %h, [%f+{}];\n"
                                 "mov.b32 %r0, {{%l, %h}};\nadd.u32 %v, %v, %r0;\n",
                                 8 * i, 8 * i + 2);
                }));
}
std::string MovedPointer(uint32_t n) {
  return Kernel(std::string(kRecords) + Repeat(n, [](auto out, uint32_t) {
                  fmt::format_to(out, "ld.global.u32 %r0, [%f];\nadd.u32 %v, %v, %r0;\nadd.s64 %f, %f, 4;\n");
                }));
}
// Loops that walk down a column, each after a thread may have ended.
std::string ExitsAndColumns(uint32_t n) {
  return Row(n,
             "setp.eq.u32 %p, %v, {0};\n@%p ret;\nmov.u32 %r0, 0;\nmov.b64 %f, %a;\n$L{0}:\n"
             "ld.global.u32 %r1, [%f];\nadd.u32 %v, %v, %r1;\nadd.s64 %f, %f, 4096;\n"
             "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L{0};\n");
}
// Each branch leads back to the middle of the text before it.
std::string BranchesBack(uint32_t n) {
  return Kernel(Repeat(n, [](auto out, uint32_t i) {
    fmt::format_to(out, "$L{0}:\nadd.u32 %v, %v, {0};\nsetp.gt.u32 %p, %v, {0};\n@%p bra $L{1};\n", i, i / 2);
  }));
}
std::string ExitsAndBarriers(uint32_t n) {
  return Row(n, "setp.eq.u32 %p, %v, {0};\n@%p exit;\nbar.sync 0;\nadd.u32 %v, %v, 1;\n");
}
std::string BarriersOfCases(uint32_t n) {
  return Kernel(Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(out,
                                        "setp.eq.u32 %p, %u, {0};\n@!%p bra $N{0};\nbar.sync 0;\n"
                                        "add.u32 %v, %v, %u;\nbra.uni $E;\n$N{0}:\n",
                                        i);
                       }) +
                "$E:\n");
}

// Registers that a loop passes on, each to the next.
std::string PassedOn(uint32_t n) {
  std::string text = fmt::format(".reg .b32 %w<{}>;\n", n + 1);
  text += Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %w{0}, %v, {0};\n", i); });
  text += fmt::format("mov.u32 %r0, 0;\n$L:\nmov.u32 %w{}, %w0;\n", n);
  text += Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "mov.u32 %w{}, %w{};\n", i, i + 1); });
  text += "add.u32 %v, %v, %w0;\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L;\n";
  return Kernel(text +
                Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "xor.b32 %v, %v, %w{};\n", i); }));
}
std::string NestsWithBarriers(uint32_t n) {
  return Row(n,
             "mov.u32 %r0, 0;\n$L{0}:\nmov.u32 %r1, 0;\n$M{0}:\nst.shared.u32 [place], %v;\nbar.sync 0;\n"
             "ld.shared.u32 %r2, [place];\nadd.u32 %v, %v, %r2;\nbar.sync 0;\n"
             "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, %u;\n@%p bra $M{0};\nadd.u32 %r0, %r0, 1;\n"
             "setp.lt.u32 %p, %r0, %u;\n@%p bra $L{0};\n",
             ".shared .align 4 .u32 place;\n");
}
std::string Selects(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %v, {0};\nadd.u32 %r0, %v, {0};\nselp.b32 %v, %r0, %v, %p;\n");
}
std::string SwitchInLoop(uint32_t n) {
  std::string targets;
  for (uint32_t i = 0; i < n; ++i) targets += fmt::format("{}$C{}", i == 0 ? "" : ", ", i);
  return Kernel(
      "$L:\n$T: .branchtargets " + targets + fmt::format(";\nrem.u32 %r0, %v, {};\n", n) +
      "brx.idx %r0, $T;\n" +
      Repeat(n, [](auto out,
                   uint32_t i) { fmt::format_to(out, "$C{0}:\nmad.lo.u32 %v, %v, {0}, 7;\nbra $N;\n", i); }) +
      "$N:\nadd.u32 %u, %u, 1;\nsetp.lt.u32 %p, %u, 100;\n@%p bra $L;\n");
}
std::string NeverReached(uint32_t n) {
  return Row(n, "bra $E{0};\n$N{0}:\nadd.u32 %v, %v, {0};\n@%p bra $N{0};\n$E{0}:\nadd.u32 %v, %v, 3;\n");
}
std::string Predicates(uint32_t n) {
  return Kernel("setp.gt.u32 %q, %v, 5;\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(out, "setp.{1}.and.u32 %p, %v, {0}, %q;\nnot.pred %q, %p;\n", i * 7,
                                        i % 2 == 0 ? "gt" : "ne");
                       }) +
                "selp.b32 %v, 1, 2, %q;\n");
}
// Loads at addresses of their own, all of one block.
std::string ScatteredLoads(uint32_t n) {
  return Row(n,
             "mad.lo.u32 %r0, %v, {0}, %t;\nand.b32 %r0, %r0, 1023;\nmul.wide.u32 %f, %r0, 4;\n"
             "add.s64 %f, %f, %o;\nld.global.u32 %r1, [%f];\nadd.u32 %v, %v, %r1;\n");
}
// Branches ahead, each over the target of the one before.
std::string OverlappingBranches(uint32_t n) {
  return Kernel(Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out, "$L{0}:\nadd.u32 %v, %v, {0};\nsetp.gt.u32 %p, %v, {0};\n@%p bra $L{1};\n",
                             i, i + 2);
                       }) +
                fmt::format("$L{}:\nadd.u32 %v, %v, 1;\n$L{}:\n", n, n + 1));
}
// Loops that are entered at two places.
std::string TwoEntries(uint32_t n) {
  return Row(
      n,
      "setp.gt.u32 %p, %v, {0};\n@%p bra $M{0};\n$L{0}:\nadd.u32 %v, %v, 1;\n$M{0}:\nadd.u32 %v, %v, 2;\n"
      "setp.lt.u32 %p, %v, {0};\n@%p bra $L{0};\n");
}
std::string NamedBarriers(uint32_t n) {
  return Kernel(Repeat(n, [](auto out, uint32_t i) {
    fmt::format_to(out, "bar.sync {}, 64;\nld.global.u32 %r0, [%a+{}];\nadd.u32 %v, %v, %r0;\n", i % 15 + 1,
                   4 * i);
  }));
}
// Arrays of each thread, each indexed by data.
std::string LocalArrays(uint32_t n) {
  return Row(n,
             ".local .align 4 .b8 array{0}[32];\nand.b32 %r0, %v, 28;\nmov.u32 %r1, array{0};\nadd.u32 %r1, "
             "%r1, %r0;\n"
             "st.local.u32 [%r1], %v;\nld.local.u32 %r2, [array{0}+8];\nadd.u32 %v, %v, %r2;\n");
}
// A call with many arguments.
std::string Arguments(uint32_t n) {
  std::string params, sum, declared, given;
  for (uint32_t i = 0; i < n; ++i) {
    params += fmt::format("{}.param .b32 p{}", i == 0 ? "" : ", ", i);
    sum += fmt::format("ld.param.u32 %x, [p{}];\nadd.u32 %y, %y, %x;\n", i);
    declared += fmt::format(".param .b32 g{0};\nst.param.b32 [g{0}], %v;\n", i);
    given += fmt::format("{}g{}", i == 0 ? "" : ", ", i);
  }
  return Kernel("{\n.param .b32 back;\n" + declared + "call (back), sum, (" + given +
                    ");\nld.param.b32 %v, [back];\n}\n",
                ".func (.param .b32 r) sum(" + params + ")\n{\n.reg .b32 %x, %y;\nmov.u32 %y, 0;\n" + sum +
                    "st.param.b32 [r], %y;\nret;\n}\n");
}

std::string UnusedLabels(uint32_t n) { return Row(n, "$L{0}:\nadd.u32 %v, %v, {0};\n"); }
// Values that are read after all threads that may end have done so.
std::string ExitsAndValues(uint32_t n) {
  return Kernel(fmt::format(".reg .b32 %w<{}>;\n", n) +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out, "ld.global.u32 %w{0}, [%a+{1}];\nsetp.eq.u32 %p, %w{0}, 0;\n@%p exit;\n", i,
                             4 * i);
                       }) +
                "bar.sync 0;\n" +
                Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %v, %v, %w{};\n", i); }));
}
std::string PredicatesAtBarrier(uint32_t n) {
  return Kernel(
      fmt::format(".reg .pred %w<{}>;\n", n) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "setp.gt.u32 %w{0}, %v, {0};\n", i); }) +
      "bar.sync 0;\n" +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "@%w{0} add.u32 %v, %v, {0};\n", i); }));
}
// One block with a barrier after each eight steps, each of which reads a value from far before it.
std::string LongBlockWithBarriers(uint32_t n) {
  return Kernel(fmt::format(".reg .b32 %w<{}>;\n", n) + Repeat(n, [](auto out, uint32_t i) {
                  fmt::format_to(out,
                                 "mad.lo.u32 %w{0}, %v, {0}, %t;\nadd.u32 %v, %v, %w{0};\n{1}"
                                 "xor.b32 %v, %v, %w{2};\n",
                                 i, i % 8 == 7 ? "bar.sync 0;\n" : "", i / 2);
                }));
}
std::string BarriersInBothArms(uint32_t n) {
  return Row(n,
             "setp.eq.u32 %p, %u, {0};\n@%p bra $A{0};\nbar.sync 0;\nadd.u32 %v, %v, 1;\nbra.uni $J{0};\n"
             "$A{0}:\nbar.sync 0;\nadd.u32 %v, %v, 2;\n$J{0}:\n");
}
std::string NestAroundBarrier(uint32_t n) {
  return Kernel(
      fmt::format(".reg .b32 %i<{}>;\n", n) +
      Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "mov.u32 %i{0}, 0;\n$L{0}:\n", i); }) +
      "bar.sync 0;\nadd.u32 %v, %v, 1;\n" + Repeat(n, [n](auto out, uint32_t k) {
        fmt::format_to(out, "add.u32 %i{0}, %i{0}, 1;\nsetp.lt.u32 %p, %i{0}, %u;\n@%p bra $L{0};\n",
                       n - 1 - k);
      }));
}
// Branches to anywhere: most are of loops with several entries.
std::string BranchesAnywhere(uint32_t n) {
  return Kernel(Repeat(n, [n](auto out, uint32_t i) {
    fmt::format_to(out, "$L{0}:\nadd.u32 %v, %v, {0};\nsetp.gt.u32 %p, %v, {0};\n@%p bra $L{1};\n", i,
                   (uint64_t{i} * 7919 + 13) % n);
  }));
}
std::string SharedArrays(uint32_t n) {
  return Row(n,
             ".shared .align 4 .b8 array{0}[32];\nand.b32 %r0, %v, 28;\nmov.u32 %r1, array{0};\n"
             "add.u32 %r1, %r1, %r0;\nst.shared.u32 [%r1], %v;\nld.shared.u32 %r2, [array{0}+8];\n"
             "add.u32 %v, %v, %r2;\n");
}

constexpr GrowthShape kShapes[] = {
    {"neighbours", "loads of elements that a thread has in a row", Neighbours, 500},
    {"packed_words", "words that are loaded in two halves", PackedWords, 250},
    {"moved_pointer", "loads at a pointer that moves on", MovedPointer, 500},
    {"exits_and_columns", "early exits, each before a loop down a column", ExitsAndColumns, 100},
    {"branches_back", "branches back to the middle of what is before them", BranchesBack, 100},
    {"exits_and_barriers", "early exits, each before a barrier", ExitsAndBarriers, 100},
    {"barriers_of_cases", "cases with a barrier, of which one is taken", BarriersOfCases, 100},
    {"passed_on", "registers that a loop passes on, each to the next", PassedOn, 100},
    {"nests_with_barriers", "two loops within each other, in a row, with a barrier", NestsWithBarriers, 200},
    {"selects", "selections, each of the one before", Selects, 500},
    {"switch_in_loop", "targets of a brx.idx in a loop", SwitchInLoop, 250},
    {"never_reached", "loops that are never reached", NeverReached, 250},
    {"predicates", "predicates, each of the one before", Predicates, 500},
    {"scattered_loads", "loads of one block, at addresses of their own", ScatteredLoads, 500},
    {"overlapping_branches", "branches ahead, each over the next one's start", OverlappingBranches, 100},
    {"two_entries", "loops that are entered at two places", TwoEntries, 200},
    {"named_barriers", "barriers of fifteen names", NamedBarriers, 100},
    {"local_arrays", "arrays of each thread, indexed by data", LocalArrays, 100},
    {"arguments", "arguments of a call", Arguments, 250},
    {"unused_labels", "labels to which nothing branches", UnusedLabels, 500},
    {"exits_and_values", "early exits, each after a value that is read after all of them", ExitsAndValues,
     1000},
    {"predicates_at_barrier", "predicates that are live at a barrier", PredicatesAtBarrier, 250},
    {"long_block_with_barriers", "steps of one block with many barriers", LongBlockWithBarriers, 500},
    {"barriers_in_both_arms", "branches with a barrier in each arm", BarriersInBothArms, 50},
    {"nest_around_barrier", "loops within each other around a barrier", NestAroundBarrier, 50},
    {"branches_anywhere", "branches to anywhere", BranchesAnywhere, 250},
    {"shared_arrays", "shared arrays, indexed by data", SharedArrays, 250},
};

}  // namespace

std::span<const GrowthShape> FurtherShapes() { return kShapes; }

}  // namespace ptx2cpu::bench
