// Shapes of what lanes, warps and blocks do together within arms, loops and functions, and of instructions
// that become many: matrix products, copies in the background, textures, printf.
#include "tools/bench/shape_text.h"

namespace ptx2cpu::bench {
namespace {

std::string Targets(uint32_t n) {
  std::string list;
  for (uint32_t i = 0; i < n; ++i) list += fmt::format("{}$C{}", i == 0 ? "" : ", ", i);
  return "$T: .branchtargets " + list + ";\n";
}

std::string SwitchWithBarriers(uint32_t n) {
  return Kernel(Targets(n) + "brx.idx.uni %u, $T;\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(out, "$C{0}:\nbar.sync 0;\nmad.lo.u32 %v, %v, {0}, 7;\nbra.uni $E;\n",
                                        i);
                       }) +
                "$E:\n");
}
std::string SwitchWithShuffles(uint32_t n) {
  return Kernel(Targets(n) + fmt::format("rem.u32 %r0, %v, {};\nbrx.idx %r0, $T;\n", n) +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out,
                             "$C{0}:\nactivemask.b32 %r1;\nshfl.sync.bfly.b32 %r2, %v, 1, 31, %r1;\n"
                             "mad.lo.u32 %v, %r2, {0}, 7;\nbra.uni $E;\n",
                             i);
                       }) +
                "$E:\n");
}
std::string GuardedStoresInLoop(uint32_t n) {
  return Kernel(
      "mov.u32 %r0, 0;\n$L:\n" +
      Repeat(n,
             [](auto out, uint32_t i) {
               fmt::format_to(
                   out, "setp.gt.u32 %p, %v, {0};\n@%p st.global.u32 [%a+{1}], %v;\nadd.u32 %v, %v, %r0;\n",
                   i, 4 * i);
             }) +
      "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L;\n");
}
// f<i> has a loop with a shuffle and calls f<i + 1>.
std::string CallsToLoopsOfShuffles(uint32_t n) {
  std::string text;
  for (uint32_t i = n; i-- > 0;) {
    text += fmt::format(
        ".func (.param .b32 result) f{}(.param .b32 x)\n{{\n.reg .b32 %v, %r<8>; .reg .pred %p;\n"
        "ld.param.b32 %v, [x];\nmov.u32 %r0, 0;\n$L:\nshfl.sync.bfly.b32 %r1, %v, 1, 31, -1;\n"
        "add.u32 %v, %v, %r1;\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, 9;\n@%p bra $L;\n",
        i);
    if (i + 1 < n)
      text += fmt::format(
          "{{\n.param .b32 a, b;\nst.param.b32 [a], %v;\ncall.uni (b), f{}, (a);\nld.param.b32 %v, "
          "[b];\n}}\n",
          i + 1);
    text += "st.param.b32 [result], %v;\nret;\n}\n";
  }
  return Row(
      1, "{{\n.param .b32 a, b;\nst.param.b32 [a], %v;\ncall.uni (b), f0, (a);\nld.param.b32 %v, [b];\n}}\n",
      text);
}
std::string SharedAtomics(uint32_t n) {
  return Row(n, "atom.shared.add.u32 %r0, [s{0}], %v;\nadd.u32 %v, %v, %r0;\n",
             Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, ".shared .align 4 .u32 s{};\n", i); }));
}
// Registers that a loop carries and branches exchange in pairs.
std::string ExchangedInLoop(uint32_t n) {
  return Kernel(fmt::format(".reg .b32 %w<{}>;\n", n) +
                Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "add.u32 %w{0}, %v, {0};\n", i); }) +
                "mov.u32 %r0, 0;\n$L:\n" +
                Repeat(n,
                       [n](auto out, uint32_t i) {
                         fmt::format_to(out,
                                        "setp.gt.u32 %p, %w{1}, {0};\n@%p bra $J{0};\nmov.u32 %r1, %w{0};\n"
                                        "mov.u32 %w{0}, %w{1};\nmov.u32 %w{1}, %r1;\n$J{0}:\n",
                                        i, (uint64_t{i} * 7919 + 13) % n);
                       }) +
                "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L;\n" +
                Repeat(n, [](auto out, uint32_t i) { fmt::format_to(out, "xor.b32 %v, %v, %w{};\n", i); }));
}
// Branches within each other, in each of which a lane may end before the others shuffle.
std::string NestOfExits(uint32_t n) {
  return Kernel(
      Repeat(n,
             [](auto out, uint32_t i) {
               fmt::format_to(
                   out,
                   "setp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\nsetp.eq.u32 %p, %v, {0};\n@%p exit;\n"
                   "activemask.b32 %r1;\nshfl.sync.bfly.b32 %r2, %v, 1, 31, %r1;\nadd.u32 %v, %v, %r2;\n",
                   i);
             }) +
      Repeat(n,
             [n](auto out, uint32_t i) { fmt::format_to(out, "$L{}:\nadd.u32 %v, %v, 1;\n", n - 1 - i); }));
}
std::string MatrixProducts(uint32_t n) {
  return Kernel(
      ".reg .f32 %c<64>;\n" +
      Repeat(64, [](auto out, uint32_t i) { fmt::format_to(out, "mov.f32 %c{}, 0f00000000;\n", i); }) +
      Repeat(n,
             [](auto out, uint32_t i) {
               const uint32_t c = i % 16 * 4;
               fmt::format_to(
                   out,
                   "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%c{0}, %c{1}, %c{2}, %c{3}}}, "
                   "{{%v, %t, %u, %v}}, {{%v, %t}}, {{%c{0}, %c{1}, %c{2}, %c{3}}};\n",
                   c, c + 1, c + 2, c + 3);
             }) +
      Repeat(64, [](auto out, uint32_t i) {
        fmt::format_to(out, "mov.b32 %r0, %c{};\nxor.b32 %v, %v, %r0;\n", i);
      }));
}
std::string PredicateLogic(uint32_t n) {
  return Kernel("setp.gt.u32 %q, %v, 5;\n" + Repeat(n, [](auto out, uint32_t i) {
                  fmt::format_to(
                      out, "setp.gt.u32 %p, %t, {0};\n{1}.pred %q, %q, %p;\n@%q add.u32 %v, %v, {0};\n", i,
                      i % 3 == 0   ? "and"
                      : i % 3 == 1 ? "or"
                                   : "xor");
                }));
}
std::string Textures(uint32_t n) {
  return Row(n,
             ".reg .f32 %x{0}, %y{0}, %z{0}, %w{0}, %i{0};\ncvt.rn.f32.u32 %i{0}, %v;\n"
             "tex.2d.v4.f32.f32 {{%x{0}, %y{0}, %z{0}, %w{0}}}, [%o, {{%i{0}, %i{0}}}];\n"
             "cvt.rzi.u32.f32 %r0, %x{0};\nadd.u32 %v, %v, %r0;\n");
}
std::string Surfaces(uint32_t n) {
  return Row(n,
             "suld.b.2d.b32.trap {{%r0}}, [%o, {{%v, %t}}];\nadd.u32 %v, %v, %r0;\nsust.b.2d.b32.trap [%o, "
             "{{%t, %v}}], {{%v}};\n");
}
std::string CountedBarriers(uint32_t n) {
  return Row(n, "bar.arrive 1, 128;\nbar.sync 2, 64;\nadd.u32 %v, %v, {0};\n");
}
std::string Printfs(uint32_t n) {
  return Row(n,
             ".local .align 8 .b8 list{0}[8];\nst.local.u32 [list{0}], %v;\nmov.u64 %f, text;\n"
             "{{\n.reg .b64 %g;\nmov.u64 %g, list{0};\ncvta.local.u64 %g, %g;\ncvta.global.u64 %f, "
             "%f;\n.param .b64 a, b;\n.param .b32 c;\nst.param.b64 [a], %f;\nst.param.b64 [b], %g;\n"
             "call.uni (c), vprintf, (a, b);\nld.param.b32 %r0, [c];\n}}\nadd.u32 %v, %v, %r0;\n",
             ".extern .func (.param .b32 r) vprintf(.param .b64 x, .param .b64 y);\n"
             ".global .align 1 .b8 text[4] = {37, 100, 10, 0};\n");
}
std::string Reductions(uint32_t n) {
  return Row(n, "redux.sync.add.s32 %r0, %v, -1;\nadd.u32 %v, %v, %r0;\n");
}
std::string BarrierReductions(uint32_t n) {
  return Row(n, "setp.gt.u32 %p, %v, {0};\nbar.red.popc.u32 %r0, 0, %p;\nadd.u32 %v, %v, %r0;\n");
}
std::string AsyncCopies(uint32_t n) {
  return Row(
      n,
      "mov.u32 %r0, tile;\nmad.lo.u32 %r1, %t, 16, %r0;\nmul.wide.u32 %f, %t, 16;\nadd.s64 %f, %o, %f;\n"
      "cp.async.ca.shared.global [%r1], [%f], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync "
      "0;\n"
      "ld.shared.u32 %r2, [%r0+{0}];\nadd.u32 %v, %v, %r2;\n",
      ".shared .align 16 .b8 tile[32768];\n");
}
// A loop that lanes leave apart in as many places.
std::string BreaksOfLoop(uint32_t n) {
  return Kernel("mov.u32 %r0, 0;\n$L:\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out, "mad.lo.u32 %v, %v, {0}, 7;\nsetp.eq.u32 %p, %v, {0};\n@%p bra $E;\n", i);
                       }) +
                "add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %u;\n@%p bra $L;\n$E:\n");
}
std::string ContinuesOfLoop(uint32_t n) {
  return Kernel("mov.u32 %r0, 0;\n$L:\nadd.u32 %r0, %r0, 1;\nsetp.gt.u32 %p, %r0, %u;\n@%p bra $E;\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(
                             out, "mad.lo.u32 %v, %v, {0}, 7;\nsetp.eq.u32 %p, %v, {0};\n@%p bra $L;\n", i);
                       }) +
                "bra $L;\n$E:\n");
}
std::string BreaksAndBarriers(uint32_t n) {
  return Kernel("mov.u32 %r0, 0;\n$L:\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         fmt::format_to(out,
                                        "bar.sync 0;\nadd.u32 %v, %v, 3;\nadd.u32 %r0, %r0, 1;\nsetp.eq.u32 "
                                        "%p, %r0, %u;\n@%p bra $E;\n",
                                        i);
                       }) +
                "bra $L;\n$E:\n");
}
std::string LoopsOfShuffles(uint32_t n) {  // that lanes leave apart
  return Row(n,
             "$L{0}:\nactivemask.b32 %r1;\nshfl.sync.bfly.b32 %r0, %v, 1, 31, %r1;\nshr.u32 %v, %v, 1;\n"
             "xor.b32 %u, %u, %r0;\nsetp.gt.u32 %p, %v, {0};\n@%p bra $L{0};\n");
}
std::string Halves(uint32_t n) { return Row(n, "fma.rn.f16x2 %v, %v, %u, %t;\nmul.f16x2 %u, %u, %v;\n"); }
std::string Quotients(uint32_t n) {
  return Row(n,
             "add.s64 %f, %f, {0};\n.reg .b64 %d{0};\ncvt.u64.u32 %d{0}, %v;\ndiv.s64 %f, %f, "
             "%d{0};\ncvt.u32.u64 %v, %f;\n");
}
std::string Functions(uint32_t n) {
  return Kernel(".reg .f32 %x;\ncvt.rn.f32.u32 %x, %v;\n" +
                Repeat(n,
                       [](auto out, uint32_t i) {
                         constexpr std::string_view kNames[] = {"sin.approx.f32",   "ex2.approx.f32",
                                                                "rsqrt.approx.f32", "lg2.approx.f32",
                                                                "sqrt.rn.f32",      "rcp.rn.f32"};
                         fmt::format_to(out, "{} %x, %x;\n", kNames[i % 6]);
                       }) +
                "mov.b32 %v, %x;\n");
}
// Pointers that may lead to any memory.
std::string GenericAccesses(uint32_t n) {
  return Row(n,
             "mul.wide.u32 %f, %v, 4;\nadd.s64 %f, %f, %o;\nld.u32 %r0, [%f];\nst.u32 [%f+{0}4], "
             "%v;\nadd.u32 %v, %v, %r0;\n");
}
std::string Matches(uint32_t n) { return Row(n, "match.any.sync.b32 %r0, %v, -1;\nadd.u32 %v, %v, %r0;\n"); }
std::string Waits(uint32_t n) {
  return Row(n,
             "$L{0}:\nld.volatile.global.u32 %r0, [%o+{0}4];\nsetp.eq.u32 %p, %r0, 0;\n@%p bra "
             "$L{0};\nadd.u32 %v, %v, %r0;\n");
}
// What one thread of the block finds out for all.
std::string OneForAll(uint32_t n) {
  return Row(
      n,
      "setp.ne.u32 %p, %t, 0;\n@%p bra $L{0};\nadd.u32 %r0, %v, {0};\nst.shared.u32 [place], %r0;\n$L{0}:\n"
      "bar.sync 0;\nld.shared.u32 %r1, [place];\nadd.u32 %v, %v, %r1;\nbar.sync 0;\n",
      ".shared .align 4 .u32 place;\n");
}
// The end of a reduction: each step has half of the threads of the one before.
std::string HalvedThreads(uint32_t n) {
  return Row(n,
             "mov.u32 %r0, tile;\nmad.lo.u32 %r1, %t, 4, %r0;\nsetp.gt.u32 %p, %t, {0};\n@%p bra $L{0};\n"
             "ld.shared.u32 %r2, [%r1+128];\nld.shared.u32 %r3, [%r1];\nadd.u32 %r3, %r2, "
             "%r3;\nst.shared.u32 [%r1], %r3;\n$L{0}:\nbar.sync 0;\n",
             ".shared .align 4 .b8 tile[4096];\n");
}
std::string WideAccesses(uint32_t n) {
  return Row<16>(n,
                 "ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%a+{0}];\nadd.u32 %r0, %r0, "
                 "%r3;\nst.global.v4.u32 [%a+{0}], {{%r3, %r2, %r1, %r0}};\n");
}
std::string LoopsOfPredicates(uint32_t n) {  // one loop: exits are decided by sums of predicates
  return Kernel(
      fmt::format(".reg .pred %w<{}>;\n", n + 1) + "mov.u32 %r0, 0;\nsetp.eq.u32 %w0, %v, 3;\n$L:\n" +
      Repeat(n,
             [](auto out, uint32_t i) {
               fmt::format_to(out,
                              "setp.gt.or.u32 %w{1}, %v, {0}, %w{0};\n@!%w{1} mad.lo.u32 %v, %v, 5, {0};\n",
                              i, i + 1);
             }) +
      fmt::format("add.u32 %r0, %r0, 1;\nsetp.lt.and.u32 %p, %r0, %u, %w{};\n@%p bra $L;\n", n));
}
std::string FunctionsWithBarriers(uint32_t n) {  // each called in an arm
  std::string text;
  for (uint32_t i = 0; i < n; ++i)
    text += fmt::format(
        ".func (.param .b32 result) f{0}(.param .b32 x)\n{{\n.reg .b32 %v;\nld.param.b32 %v, [x];\nbar.sync "
        "0;\nmad.lo.u32 %v, %v, 3, {0};\nst.param.b32 [result], %v;\nret;\n}}\n",
        i);
  return Row(n,
             "setp.eq.u32 %p, %u, {0};\n@%p bra $L{0};\n{{\n.param .b32 a, b;\nst.param.b32 [a], "
             "%v;\ncall.uni (b), f{0}, (a);\nld.param.b32 %v, [b];\n}}\n$L{0}:\n",
             text);
}

constexpr GrowthShape kShapes[] = {
    {"switch_with_barriers", "targets of a brx.idx, each with a barrier", SwitchWithBarriers, 50},
    {"switch_with_shuffles", "targets of a brx.idx, each with a shuffle", SwitchWithShuffles, 50},
    {"guarded_stores_in_loop", "stores of a loop, each with a guard", GuardedStoresInLoop, 250},
    {"calls_to_loops_of_shuffles", "functions with a loop of shuffles, each calling the next",
     CallsToLoopsOfShuffles, 25},
    {"shared_atomics", "shared variables, each added to", SharedAtomics, 250},
    {"exchanged_in_loop", "registers of a loop, exchanged in pairs", ExchangedInLoop, 100},
    {"nest_of_exits", "branches within each other with an exit and a shuffle", NestOfExits, 25},
    {"matrix_products", "products of matrices", MatrixProducts, 25},
    {"predicate_logic", "predicates, each of the one before, that guard", PredicateLogic, 250},
    {"textures", "fetches of textures", Textures, 100},
    {"surfaces", "reads and writes of surfaces", Surfaces, 12},
    {"counted_barriers", "arrivals and waits at named barriers", CountedBarriers, 50},
    {"printfs", "calls of vprintf", Printfs, 100},
    {"warp_sums", "sums of a warp", Reductions, 100},
    {"barrier_reductions", "barriers that count", BarrierReductions, 50},
    {"async_copies", "copies in the background, each waited for", AsyncCopies, 50},
    {"breaks_of_loop", "places at which lanes leave a loop", BreaksOfLoop, 250},
    {"continues_of_loop", "places at which lanes begin a loop again", ContinuesOfLoop, 250},
    {"breaks_and_barriers", "places at which a block leaves a loop, with a barrier each", BreaksAndBarriers,
     50},
    {"loops_of_shuffles", "loops that lanes leave apart, with a shuffle each", LoopsOfShuffles, 50},
    {"halves", "arithmetic of pairs of halves", Halves, 250},
    {"quotients", "quotients of 64 bits", Quotients, 100},
    {"approximations", "approximate functions", Functions, 100},
    {"generic_accesses", "accesses at pointers to any memory", GenericAccesses, 100},
    {"matches", "matches of lanes", Matches, 50},
    {"waits", "waits for memory", Waits, 50},
    {"one_for_all", "values that one thread stores for its block", OneForAll, 50},
    {"halved_threads", "steps of some threads, with a barrier each", HalvedThreads, 50},
    {"wide_accesses", "accesses of four words", WideAccesses, 100},
    {"loop_of_predicates", "predicates of a loop, each of the one before", LoopsOfPredicates, 250},
    {"functions_with_barriers", "functions with a barrier, each called in an arm", FunctionsWithBarriers, 50},
};

}  // namespace

std::span<const GrowthShape> CollectiveShapes() { return kShapes; }

}  // namespace ptx2cpu::bench
