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
// Each branch leads back to the middle of all that is before it.
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

constexpr GrowthShape kShapes[] = {
    {"neighbours", "loads of elements that a thread has in a row", Neighbours, 500},
    {"packed_words", "words that are loaded in two halves", PackedWords, 250},
    {"moved_pointer", "loads at a pointer that moves on", MovedPointer, 500},
    {"exits_and_columns", "early exits, each before a loop down a column", ExitsAndColumns, 100},
    {"branches_back", "branches back to the middle of what is before them", BranchesBack, 100},
    {"exits_and_barriers", "early exits, each before a barrier", ExitsAndBarriers, 100},
    {"barriers_of_cases", "cases with a barrier, of which one is taken", BarriersOfCases, 100},
};

}  // namespace

std::span<const GrowthShape> FurtherShapes() { return kShapes; }

}  // namespace ptx2cpu::bench
