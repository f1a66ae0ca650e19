// Block barriers: reuse, early exits, names with counts, arrive, reductions, and the message of a
// deadlock.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

// %out, %t = tid.x, %at = address of out[t], and a shared array @s of 1024 words with %sat = &s[t].
std::string BarrierKernel(const std::string& body) {
  return R"(variable shared @s align 4 size 4096 offset 0
kernel @k (out: i64 @0) phase simt {
^entry:
  %base = param_base
  %out = load i64 param %base
  %t = special i32 tid.x
  %w = zext i64 from i32 %t
  %two = const i32 2
  %offset = shl i64 %w, %two
  %at = add i64 %out, %offset
  %s = symbol shared @s
  %sat = add i64 %s, %offset
  %zero = const i32 0
  %one = const i32 1
  %c2 = const i32 2
  %c31 = const i32 31
  %c32 = const i32 32
  %c64 = const i32 64
  %c96 = const i32 96
)" + body +
         "}\n";
}

struct Outcome {
  std::vector<uint32_t> out;
  Status status;
};
Outcome RunKernel(const std::string& body, uint32_t threads) {
  Program program(BarrierKernel(body));
  Outcome outcome{std::vector<uint32_t>(threads), {}};
  program.options.block = {threads, 1, 1};
  program.options.instruction_limit = 10'000'000;
  program.AddBuffer(outcome.out);
  outcome.status = program.Run();
  return outcome;
}
std::vector<uint32_t> RunOrFail(const std::string& body, uint32_t threads) {
  Outcome outcome = RunKernel(body, threads);
  if (!outcome.status) FAIL(outcome.status.error().Render());
  return outcome.out;
}
Error RunKernelToError(const std::string& body, uint32_t threads) {
  Outcome outcome = RunKernel(body, threads);
  if (outcome.status) {
    FAIL("the kernel was expected to fault");
    return {};
  }
  return outcome.status.error();
}

}  // namespace

TEST_CASE("interpret barrier: data crosses, for many block sizes") {
  for (uint32_t threads : {1u, 31u, 32u, 33u, 100u, 1024u}) {
    auto out = RunOrFail(R"(  store i32 shared %sat, %t
  barrier_block %zero
  %n = special i32 ntid.x
  %last = sub i32 %n, %one
  %mirror = sub i32 %last, %t
  %m = zext i64 from i32 %mirror
  %mo = shl i64 %m, %two
  %ma = add i64 %s, %mo
  %v = load i32 shared %ma
  store i32 global %at, %v
  ret
)",
                         threads);
    for (uint32_t t = 0; t < threads; ++t) REQUIRE(out[t] == threads - 1 - t);
  }
}

TEST_CASE("interpret barrier: a loop of barriers shifts values round") {
  // Five times: s[t] = v; barrier; v = s[(t + 1) % n]; barrier
  auto out = RunOrFail(R"(  %n = special i32 ntid.x
  br ^loop(%zero, %t)
^loop(%i: i32, %v: i32):
  store i32 shared %sat, %v
  barrier_block %zero
  %next = add i32 %t, %one
  %wrapped = rem_u i32 %next, %n
  %nw = zext i64 from i32 %wrapped
  %no = shl i64 %nw, %two
  %na = add i64 %s, %no
  %v2 = load i32 shared %na
  barrier_block %zero
  %i2 = add i32 %i, %one
  %five = const i32 5
  %more = icmp i32 ult %i2, %five
  cond_br %more, ^loop(%i2, %v2), ^end
^end:
  store i32 global %at, %v2
  ret
)",
                       70);
  for (uint32_t t = 0; t < 70; ++t) REQUIRE(out[t] == (t + 5) % 70);
}

TEST_CASE("interpret barrier: exited threads are not waited for") {
  auto out = RunOrFail(R"(  %gone = icmp i32 uge %t, %c31
  cond_br %gone, ^exit, ^stay
^exit:
  exit
^stay:
  barrier_block %zero
  store i32 global %at, %one
  ret
)",
                       100);
  for (uint32_t t = 0; t < 100; ++t) REQUIRE(out[t] == (t < 31 ? 1 : 0));
}

TEST_CASE("interpret barrier: threads may come from different instructions") {
  auto out = RunOrFail(R"(  store i32 shared %sat, %one
  %bit = and i32 %t, %one
  %odd = icmp i32 ne %bit, %zero
  cond_br %odd, ^a, ^b
^a:
  barrier_block %zero
  br ^end
^b:
  barrier_block %zero
  br ^end
^end:
  %flip = xor i32 %t, %one
  %f = zext i64 from i32 %flip
  %fo = shl i64 %f, %two
  %fa = add i64 %s, %fo
  %v = load i32 shared %fa
  store i32 global %at, %v
  ret
)",
                       64);
  for (uint32_t t = 0; t < 64; ++t) REQUIRE(out[t] == 1);
}

TEST_CASE("interpret barrier: reductions count, and, or") {
  auto reduce = [](const std::string& op, const std::string& predicate) {
    std::string result = op == "popc" ? "  store i32 global %at, %r\n"
                                      : "  %x = zext i32 from i1 %r\n  store i32 global %at, %x\n";
    return RunOrFail(
        "  %p = icmp i32 " + predicate + "\n  %r = barrier_reduce_" + op + " %p, %one\n" + result + "  ret\n",
        70);
  };
  CHECK(reduce("popc", "ult %t, %c31") == std::vector<uint32_t>(70, 31));
  CHECK(reduce("and", "ult %t, %c31") == std::vector<uint32_t>(70, 0));
  CHECK(reduce("and", "uge %t, %zero") == std::vector<uint32_t>(70, 1));
  CHECK(reduce("or", "eq %t, %c31") == std::vector<uint32_t>(70, 1));
  CHECK(reduce("or", "ult %t, %zero") == std::vector<uint32_t>(70, 0));
}

TEST_CASE("interpret barrier: a count lets two warps of three meet") {
  // Warps 0 and 1 meet at barrier 1 with a count of 64; warp 2 goes its own way.
  auto out = RunOrFail(R"(  %third = icmp i32 uge %t, %c64
  cond_br %third, ^end(%c2), ^meet
^meet:
  store i32 shared %sat, %t
  barrier_block %one, %c64
  %flip = xor i32 %t, %c32
  %f = zext i64 from i32 %flip
  %fo = shl i64 %f, %two
  %fa = add i64 %s, %fo
  %v = load i32 shared %fa
  br ^end(%v)
^end(%x: i32):
  store i32 global %at, %x
  ret
)",
                       96);
  for (uint32_t t = 0; t < 96; ++t) REQUIRE(out[t] == (t < 64 ? t ^ 32 : 2));
}

TEST_CASE("interpret barrier: producer arrives, consumer waits") {
  // Warp 0 produces s[t] and arrives at barrier 0; warp 1 waits there and reads s[t - 32], then the roles
  // turn round.
  auto out = RunOrFail(R"(  %consumer = icmp i32 uge %t, %c32
  cond_br %consumer, ^consume, ^produce
^produce:
  %v = add i32 %t, %c64
  store i32 shared %sat, %v
  barrier_arrive %zero, %c64
  barrier_block %one, %c64
  %other = add i32 %t, %c32
  %o = zext i64 from i32 %other
  %oo = shl i64 %o, %two
  %oa = add i64 %s, %oo
  %back = load i32 shared %oa
  store i32 global %at, %back
  ret
^consume:
  barrier_block %zero, %c64
  %mine = sub i32 %t, %c32
  %m = zext i64 from i32 %mine
  %mo = shl i64 %m, %two
  %ma = add i64 %s, %mo
  %x = load i32 shared %ma
  store i32 global %at, %x
  %double = add i32 %x, %x
  store i32 shared %sat, %double
  barrier_arrive %one, %c64
  ret
)",
                       64);
  for (uint32_t t = 0; t < 32; ++t) {
    REQUIRE(out[t + 32] == t + 64);
    REQUIRE(out[t] == 2 * (t + 64));
  }
}

TEST_CASE("interpret barrier: warps that have ended leave a count") {
  auto out = RunOrFail(R"(  %third = icmp i32 uge %t, %c64
  cond_br %third, ^exit, ^meet
^exit:
  exit
^meet:
  barrier_block %zero, %c96
  store i32 global %at, %one
  ret
)",
                       96);
  for (uint32_t t = 0; t < 96; ++t) REQUIRE(out[t] == (t < 64 ? 1 : 0));
}

TEST_CASE("interpret barrier: a deadlock names who waits where and who is missing") {
  Error error = RunKernelToError(R"(  %first = icmp i32 ult %t, %c32
  cond_br %first, ^a, ^b
^a:
  barrier_block %zero ; ptx 21
  ret
^b:
  barrier_block %one ; ptx 25
  ret
)",
                                 64);
  CHECK(error.code == ErrorCode::kFault);
  CHECK(error.at.line == 21);
  CHECK(Contains(error.message, "kernel k, block (0,0,0), deadlock"));
  CHECK(Contains(error.message,
                 "barrier_block at PTX line 21 (barrier 0 of all live threads): arrived warp 0 lanes "
                 "0xffffffff; missing "
                 "warp 1 lanes 0xffffffff"));
  CHECK(Contains(error.message, "barrier_block at PTX line 25 (barrier 1 of all live threads)"));
}

TEST_CASE("interpret barrier: misuse is a fault") {
  CHECK(Contains(RunKernelToError("  %bad = const i32 16\n  barrier_block %bad\n  ret\n", 32).message,
                 "there are barriers 0..15"));
  CHECK(Contains(RunKernelToError("  barrier_block %zero, %c31\n  ret\n", 32).message, "multiples of 32"));
  CHECK(Contains(RunKernelToError("  barrier_arrive %zero, %zero\n  ret\n", 32).message, "multiples of 32"));
  Error mixed = RunKernelToError(R"(  %first = icmp i32 ult %t, %c32
  cond_br %first, ^a, ^b
^a:
  barrier_block %zero
  ret
^b:
  %r = barrier_reduce_or %first, %zero
  ret
)",
                                 64);
  CHECK(Contains(mixed.message, "mixes barrier_block with barrier_reduce_or"));
  Error counts = RunKernelToError(R"(  %first = icmp i32 ult %t, %c32
  cond_br %first, ^a, ^b
^a:
  barrier_block %zero, %c64
  ret
^b:
  barrier_block %zero, %c96
  ret
)",
                                  96);
  CHECK(Contains(counts.message, "is in use with a count of 64 threads, this warp passes 96"));
}

}  // namespace ptx2cpu::ir::interpret_test
