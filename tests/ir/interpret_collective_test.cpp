// Warp collectives: values, masks, lanes that come from different places, converged forms, agreements of
// Split.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

// %out, %t, %at = &out[t] and constants; `phase` for the agreements.
std::string WarpKernel(const std::string& body, const std::string& phase = "simt") {
  std::string level = phase == "simt" ? "" : " lane";
  return "kernel @k (out: i64 @0) phase " + phase + " {\n^entry" + level + R"(:
  %base = param_base
  %out = load i64 param %base
  %t = special i32 tid.x
  %w = zext i64 from i32 %t
  %two = const i32 2
  %offset = shl i64 %w, %two
  %at = add i64 %out, %offset
  %zero = const i32 0
  %one = const i32 1
  %c3 = const i32 3
  %c8 = const i32 8
  %c16 = const i32 16
  %c31 = const i32 31
  %all = const i32 -1
  %low = const i32 0xffff
  %high = const i32 0xffff0000
)" + body +
         "}\n";
}

Status RunInto(std::vector<uint32_t>& out, const std::string& text) {
  Program program(text);
  program.options.block = {static_cast<uint32_t>(out.size()), 1, 1};
  program.options.instruction_limit = 50'000'000;
  program.AddBuffer(out);
  return program.Run();
}
std::vector<uint32_t> RunLanes(const std::string& body, uint32_t threads = 32) {
  std::vector<uint32_t> out(threads, 0xDEAD);
  if (Status status = RunInto(out, WarpKernel(body)); !status) FAIL(status.error().Render());
  return out;
}
Error RunWarpToError(const std::string& text, uint32_t threads = 32) {
  std::vector<uint32_t> out(threads);
  Status status = RunInto(out, text);
  if (status) {
    FAIL("the kernel was expected to fault");
    return {};
  }
  return status.error();
}
template <typename Expected>
void CheckLanes(const std::vector<uint32_t>& out, Expected expected) {
  for (uint32_t lane = 0; lane < out.size(); ++lane) {
    INFO("lane " << lane);
    CHECK(out[lane] == expected(lane));
  }
}

const char* const kStore = "  store i32 global %at, %v\n  ret\n";

std::string Shuffle(const std::string& mode, uint32_t b, uint32_t c, bool predicate) {
  return "  %b = const i32 " + std::to_string(b) + "\n  %c = const i32 " + std::to_string(c) +
         "\n  %r, %p = shuffle i32 " + mode +
         " %t, %b, %c, %all\n  %v = " + (predicate ? "zext i32 from i1 %p" : "add i32 %r, %zero") + "\n" +
         kStore;
}

}  // namespace

TEST_CASE("interpret collective: shuffle modes, clamps and segments") {
  CheckLanes(RunLanes(Shuffle("idx", 5, 31, false)), [](uint32_t) { return 5u; });
  CheckLanes(RunLanes(Shuffle("idx", 37, 31, false)), [](uint32_t) { return 5u; });  // b modulo 32
  CheckLanes(RunLanes(Shuffle("up", 3, 0, false)), [](uint32_t l) { return l >= 3 ? l - 3 : l; });
  CheckLanes(RunLanes(Shuffle("up", 3, 0, true)), [](uint32_t l) { return l >= 3 ? 1u : 0u; });
  CheckLanes(RunLanes(Shuffle("down", 4, 31, false)), [](uint32_t l) { return l + 4 <= 31 ? l + 4 : l; });
  CheckLanes(RunLanes(Shuffle("down", 4, 31, true)), [](uint32_t l) { return l + 4 <= 31 ? 1u : 0u; });
  CheckLanes(RunLanes(Shuffle("bfly", 16, 31, false)), [](uint32_t l) { return l ^ 16; });
  // Segments of 8 lanes: segment mask 0x18 in bits 8-12, clamp 31.
  uint32_t segments = 0x18 << 8 | 31;
  CheckLanes(RunLanes(Shuffle("down", 1, segments, false)),
             [](uint32_t l) { return l % 8 == 7 ? l : l + 1; });
  CheckLanes(RunLanes(Shuffle("idx", 2, segments, false)), [](uint32_t l) { return l / 8 * 8 + 2; });
  CheckLanes(RunLanes(Shuffle("up", 1, 0x18 << 8, false)), [](uint32_t l) { return l % 8 == 0 ? l : l - 1; });
  // A clamp below 31: lanes whose source lies above it keep their own.
  CheckLanes(RunLanes(Shuffle("down", 1, 15, false)), [](uint32_t l) { return l < 15 ? l + 1 : l; });
  CheckLanes(RunLanes(Shuffle("idx", 20, 15, true)), [](uint32_t) { return 0u; });
}

TEST_CASE("interpret collective: votes and ballot") {
  auto vote = [](const std::string& op, const std::string& predicate) {
    return RunLanes("  %q = icmp i32 " + predicate + "\n  %p = vote_" + op +
                    " %q, %all\n  %v = zext i32 from i1 %p\n" + kStore)[7];
  };
  CHECK(vote("all", "uge %t, %zero") == 1);
  CHECK(vote("all", "ne %t, %c8") == 0);
  CHECK(vote("any", "eq %t, %c8") == 1);
  CHECK(vote("any", "ult %t, %zero") == 0);
  CHECK(vote("uni", "ult %t, %zero") == 1);
  CHECK(vote("uni", "uge %t, %zero") == 1);
  CHECK(vote("uni", "eq %t, %c8") == 0);
  CheckLanes(RunLanes(std::string("  %q = icmp i32 ult %t, %c3\n  %v = ballot %q, %all\n") + kStore),
             [](uint32_t) { return 7u; });
}

TEST_CASE("interpret collective: match, redux, elect, activemask") {
  CheckLanes(RunLanes(std::string("  %k = rem_u i32 %t, %c3\n  %v = match_any i32 %k, %all\n") + kStore),
             [](uint32_t l) {
               uint32_t mask = 0;
               for (uint32_t other = l % 3; other < 32; other += 3) mask |= 1u << other;
               return mask;
             });
  CHECK(RunLanes(std::string("  %v, %p = match_all i32 %t, %all\n") + kStore)[0] == 0);
  CHECK(RunLanes(std::string("  %v, %p = match_all i32 %c3, %all\n") + kStore)[9] == 0xFFFFFFFF);
  CHECK(RunLanes(std::string("  %v1, %p = match_all i32 %c3, %all\n  %v = zext i32 from i1 %p\n") +
                 kStore)[9] == 1);
  auto redux = [](const std::string& op) {
    return RunLanes("  %x = sub i32 %t, %c3\n  %v = redux i32 " + op + " %x, %all\n" + kStore)[31];
  };
  CHECK(redux("add") == 31 * 32 / 2 - 96);
  CHECK(redux("min_s") == 0xFFFFFFFD);
  CHECK(redux("min_u") == 0);
  CHECK(redux("max_s") == 28);
  CHECK(redux("max_u") == 0xFFFFFFFF);
  CHECK(redux("and") == 0);
  CHECK(redux("or") == 0xFFFFFFFF);
  CHECK(redux("xor") == [] {
    uint32_t x = 0;
    for (uint32_t t = 0; t < 32; ++t) x ^= t - 3;
    return x;
  }());
  CheckLanes(
      RunLanes(std::string("  %leader, %p = elect %all\n  %e = zext i32 from i1 %p\n  %sh = shl i32 %e, %c8\n"
                           "  %v = or i32 %sh, %leader\n") +
               kStore),
      [](uint32_t l) { return l == 0 ? 256u : 0u; });
  CheckLanes(RunLanes(std::string("  %v = activemask\n") + kStore, 40),
             [](uint32_t l) { return l < 32 ? 0xFFFFFFFF : 0xFF; });
}

TEST_CASE("interpret collective: redux on floats") {
  auto redux = [](const std::string& rest, float special) {
    return RunLanes("  %f0 = s_to_f f32 from i32 rn %t\n  %first = icmp i32 eq %t, %c3\n  %s = const f32 " +
                    std::to_string(F32(special)) + "\n  %f = select f32 %first, %s, %f0\n  %r = redux f32 " +
                    rest + "\n  %v = bitcast i32 from f32 %r\n" + kStore)[5];
  };
  CHECK(redux("fmin %f, %all", -7.0f) == F32(-7));
  CHECK(redux("fmax %f, %all {abs}", -70.0f) == F32(70));
  CHECK(redux("fmax %f, %all", NAN) == F32(31));
  CHECK(redux("fmax %f, %all {nan}", NAN) == 0x7FFFFFFF);
}

TEST_CASE("interpret collective: exited lanes and a partial warp are not waited for") {
  auto out = RunLanes(R"(  %gone = icmp i32 uge %t, %c8
  cond_br %gone, ^exit, ^stay
^exit:
  exit
^stay:
  %q = icmp i32 uge %t, %zero
  %v = ballot %q, %all
  store i32 global %at, %v
  ret
)",
                      20);
  CheckLanes(out, [](uint32_t l) { return l < 8 ? 0xFFu : 0xDEADu; });
}

TEST_CASE("interpret collective: lanes of one group come from different instructions") {
  auto out = RunLanes(R"(  %bit = and i32 %t, %one
  %odd = icmp i32 ne %bit, %zero
  cond_br %odd, ^a, ^b
^a:
  %ra, %pa = shuffle i32 bfly %t, %one, %c31, %all
  br ^end(%ra)
^b:
  %hundred = const i32 100
  %x = add i32 %t, %hundred
  %rb, %pb = shuffle i32 bfly %x, %one, %c31, %all
  br ^end(%rb)
^end(%v: i32):
  store i32 global %at, %v
  ret
)");
  CheckLanes(out, [](uint32_t l) { return l % 2 == 1 ? l - 1 + 100 : l + 1; });
}

TEST_CASE("interpret collective: halves of a warp work on their own, with different trip counts") {
  // Lanes below 16 loop three times, the others eight times, each half reducing under its own mask.
  auto out = RunLanes(R"(  %upper = icmp i32 uge %t, %c16
  %mask = select i32 %upper, %high, %low
  %trips = select i32 %upper, %c8, %c3
  br ^loop(%zero, %t)
^loop(%i: i32, %x: i32):
  %y = redux i32 max_u %x, %mask
  %x2 = add i32 %y, %one
  %i2 = add i32 %i, %one
  %more = icmp i32 ult %i2, %trips
  cond_br %more, ^loop(%i2, %x2), ^end
^end:
  barrier_warp %all
  store i32 global %at, %x2
  ret
)");
  CheckLanes(out, [](uint32_t l) { return l < 16 ? 15u + 3 : 31u + 8; });
}

TEST_CASE("interpret collective: converged forms wait for company") {
  // The activemask after the if sees all lanes; the one inside sees its arm.
  auto out = RunLanes(R"(  %upper = icmp i32 uge %t, %c16
  cond_br %upper, ^arm, ^join(%zero)
^arm:
  %inner = activemask
  br ^join(%inner)
^join(%m: i32):
  %outer = activemask
  %full = icmp i32 eq %outer, %all
  %v = select i32 %full, %m, %one
  store i32 global %at, %v
  ret
)");
  CheckLanes(out, [](uint32_t l) { return l < 16 ? 0u : 0xFFFF0000u; });
  out = RunLanes(R"(  %upper = icmp i32 uge %t, %c16
  cond_br %upper, ^arm, ^other
^arm:
  %q = icmp i32 ult %t, %c31
  %b1 = ballot %q, %all {legacy}
  br ^join(%b1)
^other:
  %r, %p = shuffle i32 down %t, %one, %c31, %all {legacy}
  br ^join(%r)
^join(%v: i32):
  store i32 global %at, %v
  ret
)");
  // Lane 15 asks a lane of the other arm: 0, as from one that has exited.
  CheckLanes(out, [](uint32_t l) { return l < 15 ? l + 1 : l == 15 ? 0u : 0x7FFF0000u; });
}

TEST_CASE("interpret collective: a spinning sibling does not hold converged forms for ever") {
  // Lane 0 spins until lane 1, which first asks for the active mask, raises the flag in out[40].
  auto text = WarpKernel(R"(  %flag_offset = const i64 160
  %flag = add i64 %out, %flag_offset
  %first = icmp i32 eq %t, %zero
  cond_br %first, ^spin, ^other
^spin:
  %f = load i32 global volatile %flag
  %down = icmp i32 eq %f, %zero
  cond_br %down, ^spin, ^end(%f)
^other:
  %m = activemask
  store i32 global volatile %flag, %m
  br ^end(%m)
^end(%v: i32):
  store i32 global %at, %v
  ret
)");
  Program program(text);
  std::vector<uint32_t> out(41);
  program.options.block = {2, 1, 1};
  program.AddBuffer(out);
  program.RunOrFail();
  CHECK(out[0] == 2);
  CHECK(out[1] == 2);
}

TEST_CASE("interpret collective: a deadlock names mask, lanes and PTX line") {
  Error error = RunWarpToError(WarpKernel(R"(  %upper = icmp i32 uge %t, %c16
  cond_br %upper, ^a, ^b
^a:
  barrier_warp %all ; ptx 30
  ret
^b:
  %q = vote_any %upper, %all ; ptx 33
  ret
)"));
  CHECK(error.code == ErrorCode::kFault);
  CHECK(Contains(error.message,
                 "vote_any at PTX line 33 (membermask 0xffffffff): arrived warp 0 lanes 0x0000ffff; missing "
                 "warp 0 lanes 0xffff0000"));
  CHECK(Contains(error.message, "barrier_warp at PTX line 30"));
}

TEST_CASE("interpret collective: a lane that is not in the mask it names") {
  // Each names all lanes but itself: a GPU reports an illegal instruction.
  Error outside = RunWarpToError(WarpKernel(
      "  %own = shl i32 %one, %t\n  %others = not i32 %own\n  barrier_warp %others ; ptx 9\n  ret\n"));
  CHECK(Contains(outside.message, "lane 0 is not in its own membermask 0xfffffffe"));
  // The two ways name one mask, and each waits for lanes of the other.
  Error apart = RunWarpToError(WarpKernel(R"(  %upper = icmp i32 uge %t, %c16
  %middle = shl i32 %low, %c8
  cond_br %upper, ^a, ^b
^a:
  barrier_warp %middle ; ptx 30
  ret
^b:
  barrier_warp %middle ; ptx 33
  ret
)"));
  CHECK(Contains(apart.message, "is not in its own membermask 0x00ffff00"));
}

TEST_CASE("interpret collective: agreement of a warp and of a block") {
  auto split = [](const std::string& level, const std::string& predicate) {
    return WarpKernel("  %p = icmp i32 " + predicate + "\n  br ^branch\n^branch " + level + R"(:
  %u = agree %p ; ptx 40
  cond_br %u, ^yes, ^no
^yes lane:
  store i32 global %at, %one
  ret
^no lane:
  store i32 global %at, %c3
  ret
)",
                      "split");
  };
  std::vector<uint32_t> out(64);
  CHECK(RunInto(out, split("block", "ult %t, %zero")));
  CHECK(out == std::vector<uint32_t>(64, 3));
  // Warps may disagree with each other on a warp-level branch, not on a block-level one.
  CHECK(RunInto(out, split("warp", "ule %t, %c31")));
  CheckLanes(out, [](uint32_t t) { return t < 32 ? 1u : 3u; });
  Error block = RunWarpToError(split("block", "ule %t, %c31"), 64);
  CHECK(block.code == ErrorCode::kFault);
  CHECK(block.at.line == 40);
  CHECK(Contains(block.message, "divergent branch: it decides whether a block barrier is reached"));
  Error warp = RunWarpToError(split("warp", "ult %t, %c31"), 64);
  CHECK(Contains(warp.message, "divergent branch: it decides whether a warp collective is reached"));
  CHECK(Contains(warp.message, "thread (0,0,0) has 1 where thread (31,0,0) has 0"));
}

TEST_CASE("interpret collective: a switch index is agreed upon") {
  std::vector<uint32_t> out(32);
  CHECK(RunInto(out, WarpKernel(R"(  br ^branch
^branch warp:
  %i = agree_index %one
  switch %i, ^a, ^b, ^c
^a lane:
  store i32 global %at, %zero
  ret
^b lane:
  store i32 global %at, %c8
  ret
^c lane:
  ret
)",
                                "split")));
  CHECK(out == std::vector<uint32_t>(32, 8));
}

TEST_CASE("interpret collective: a switch past its end takes the last edge") {
  CheckLanes(RunLanes(R"(  switch %t, ^a, ^b, ^c
^a:
  store i32 global %at, %zero
  ret
^b:
  store i32 global %at, %one
  ret
^c:
  store i32 global %at, %c8
  ret
)"),
             [](uint32_t l) { return l == 0   ? 0u
                                     : l == 1 ? 1u
                                              : 8u; });
}

}  // namespace ptx2cpu::ir::interpret_test
