// Collapsed form written by hand: regions as loops, slots, live masks, collectives on whole warps, and its
// law's breaches.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

using Law = Program::Law;

std::vector<uint32_t> RunThreads(const std::string& text, uint32_t threads, Law law = Law::kKept) {
  Program program(text, law);
  std::vector<uint32_t> out(threads, 0xDEAD);
  program.options.block = {threads, 1, 1};
  program.AddBuffer(out);
  program.RunOrFail();
  return out;
}
Error RunToError(const std::string& text, uint32_t threads, Law law = Law::kKept) {
  Program program(text, law);
  std::vector<uint32_t> out(threads);
  program.options.block = {threads, 1, 1};
  program.AddBuffer(out);
  return program.RunToError();
}

// Address of element tid of the array at %base.
const char* const kAddress = R"(  %t = special i32 tid.x
  %w = zext i64 from i32 %t
  %two = const i32 2
  %offset = shl i64 %w, %two
  %s = symbol shared @s
  %sat = add i64 %s, %offset
  %params = param_base
  %out = load i64 param %params
  %at = add i64 %out, %offset
)";
// The same again under other names, for a second region.
std::string Address(const std::string& suffix) {
  std::string text = kAddress;
  for (const char* name : {"t", "w", "two", "offset", "s", "sat", "params", "out", "at"}) {
    std::string from = std::string("%") + name;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
      size_t end = at + from.size();
      if (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0)) continue;
      text.insert(end, suffix);
    }
  }
  return text;
}

const char* const kShared = "variable shared @s align 4 size 4096 offset 0\n";

}  // namespace

TEST_CASE("interpret collapsed: a flat kernel of two regions") {
  // s[t] = t * 2; barrier; out[t] = s[n - 1 - t] + slot
  std::string text = std::string(kShared) + R"(kernel @k (out: i64 @0) phase collapsed flat {
  slot #0 i32 lane
^b0 block:
  for_lanes ^first, ^barrier
^first lane:
)" + Address("1") + R"(  %double = add i32 %t1, %t1
  store i32 shared %sat1, %double
  slot_store i32 #0 %double
  end_lane
^barrier block:
  %zero = const i32 0
  barrier_block %zero
  br ^b2
^b2 block:
  for_lanes ^second, ^end
^second lane:
)" + Address("2") + R"(  %n = special i32 ntid.x
  %one = const i32 1
  %last = sub i32 %n, %one
  %mirror = sub i32 %last, %t2
  %m = zext i64 from i32 %mirror
  %mo = shl i64 %m, %two2
  %ma = add i64 %s2, %mo
  %v = load i32 shared %ma
  %mine = slot_load i32 #0
  %sum = add i32 %v, %mine
  store i32 global %at2, %sum
  end_lane
^end block:
  ret
}
)";
  for (uint32_t threads : {1u, 31u, 33u, 1024u}) {
    auto out = RunThreads(text, threads);
    for (uint32_t t = 0; t < threads; ++t) REQUIRE(out[t] == 2 * (threads - 1 - t) + 2 * t);
  }
}

TEST_CASE("interpret collapsed: a shuffle reduction in warp level") {
  // Five butterfly steps unrolled by a warp-level loop with a warp-uniform counter; then one block-wide
  // count.
  std::string text = std::string(kShared) + R"(kernel @k (out: i64 @0) phase collapsed {
  slot #0 i32 lane
  slot #1 i32 warp
  slot #2 i32 block
^b0 block:
  for_warps ^w0, ^count
^w0 warp:
  for_lanes ^l0, ^w1
^l0 lane:
  %t = special i32 tid.x
  slot_store i32 #0 %t
  end_lane
^w1 warp:
  %sixteen = const i32 16
  slot_store i32 #1 %sixteen
  br ^w2
^w2 warp:
  %x = slot_load i32 #0
  %d = slot_load i32 #1
  %c = const i32 31
  %all = const i32 -1
  %y, %p = shuffle i32 bfly %x, %d, %c, %all
  %z = add i32 %x, %y
  slot_store i32 #0 %z
  %one = const i32 1
  %half = shr_u i32 %d, %one
  slot_store i32 #1 %half
  %zero = const i32 0
  %more = icmp i32 ne %half, %zero
  %u = agree %more
  cond_br %u, ^w2, ^w3
^w3 warp:
  end_warp
^count block:
  %id = const i32 0
  %v = slot_load i32 #0
  %limit = const i32 1000
  %big = icmp i32 ugt %v, %limit
  %n = barrier_reduce_popc %big, %id
  slot_store i32 #2 %n
  br ^b2
^b2 block:
  for_warps ^w4, ^end
^w4 warp:
  for_lanes ^l4, ^w5
^l4 lane:
)" + Address("4") + R"(  %sum = slot_load i32 #0
  %many = slot_load i32 #2
  %both = add i32 %sum, %many
  store i32 global %at4, %both
  end_lane
^w5 warp:
  end_warp
^end block:
  ret
}
)";
  auto out = RunThreads(text, 64);
  for (uint32_t t = 0; t < 64; ++t) REQUIRE(out[t] == (t < 32 ? 496u : 1520u) + 32);
}

TEST_CASE("interpret collapsed: lanes that exit leave the loops, ballots and barriers") {
  std::string text = std::string(kShared) + R"(kernel @k (out: i64 @0) phase collapsed early_exit {
  slot #0 i32 lane
^b0 block:
  for_warps ^w0, ^barrier
^w0 warp:
  for_lanes ^l0, ^w1
^l0 lane:
  %t = special i32 tid.x
  %limit = const i32 40
  %gone = icmp i32 uge %t, %limit
  cond_br %gone, ^exit, ^stay
^exit lane:
  exit_lane
^stay lane:
  end_lane
^w1 warp:
  %zero = const i32 0
  %yes = icmp i32 eq %zero, %zero
  %all = const i32 -1
  %b = ballot %yes, %all
  %active = activemask
  %same = and i32 %b, %active
  slot_store i32 #0 %same
  end_warp
^barrier block:
  %id = const i32 0
  %y = const i32 1
  %true = icmp i32 eq %y, %y
  %r = barrier_reduce_and %true, %id
  br ^b2
^b2 block:
  for_warps ^w2, ^end
^w2 warp:
  for_lanes ^l2, ^w3
^l2 lane:
)" + Address("2") + R"(  %v = slot_load i32 #0
  store i32 global %at2, %v
  end_lane
^w3 warp:
  end_warp
^end block:
  ret
}
)";
  auto out = RunThreads(text, 100);
  for (uint32_t t = 0; t < 100; ++t) REQUIRE(out[t] == (t < 32 ? 0xFFFFFFFF : t < 40 ? 0xFFu : 0xDEADu));
}

TEST_CASE("interpret collapsed: when all lanes exit the block ends") {
  std::string text = R"(kernel @k (out: i64 @0) phase collapsed early_exit flat {
^b0 block:
  for_lanes ^l0, ^never
^l0 lane:
  exit_lane
^never block:
  trap
}
)";
  CHECK(RunThreads(text, 40) == std::vector<uint32_t>(40, 0xDEAD));
}

TEST_CASE("interpret collapsed: a disagreement is a fault with its PTX line") {
  std::string text = R"(kernel @k (out: i64 @0) phase collapsed {
^b0 block:
  for_warps ^w0, ^end
^w0 warp:
  %t = special i32 tid.x
  %four = const i32 4
  %p = icmp i32 ult %t, %four
  %u = agree %p ; ptx 17
  cond_br %u, ^w1, ^w2
^w1 warp:
  end_warp
^w2 warp:
  end_warp
^end block:
  ret
}
)";
  Error error = RunToError(text, 32);
  CHECK(error.code == ErrorCode::kFault);
  CHECK(error.at.line == 17);
  CHECK(Contains(error.message, "divergent branch"));
  CHECK(RunThreads(text, 4) == std::vector<uint32_t>(4, 0xDEAD));  // four lanes agree
}

TEST_CASE("interpret collapsed: breaches of its law are internal errors") {
  auto broken = [](const std::string& body) {
    Error error = RunToError(
        "kernel @k (out: i64 @0) phase collapsed {\n  slot #0 i32 warp\n^b0 block:\n  for_warps ^w0, ^end\n" +
            body + "^end block:\n  ret\n}\n",
        32, Law::kBroken);
    CHECK(error.code == ErrorCode::kInternal);
    return error.message;
  };
  CHECK(Contains(broken("^w0 warp:\n  %t = special i32 tid.x\n  slot_store i32 #0 %t\n  end_warp\n"),
                 "slot 0 is uniform"));
  CHECK(
      Contains(broken("^w0 warp:\n  %t = special i32 tid.x\n  %z = const i32 3\n  %p = icmp i32 ult %t, %z\n"
                      "  cond_br %p, ^w1, ^w2\n^w1 warp:\n  end_warp\n^w2 warp:\n  end_warp\n"),
               "take different edges"));
  CHECK(Contains(
      broken(
          "^w0 warp:\n  for_lanes ^l0, ^w1\n^l0 lane:\n  %m = const i32 -1\n  barrier_warp %m\n  end_lane\n"
          "^w1 warp:\n  end_warp\n"),
      "collective at lane level"));
  CHECK(Contains(broken("^w0 warp:\n  for_lanes ^l0, ^w1\n^l0 lane:\n  br ^w1\n^w1 warp:\n  end_warp\n"),
                 "end_warp"));
  CHECK(Contains(broken("^w0 block:\n  end_warp\n"), "block level is reached at warp level"));
}

TEST_CASE("interpret collapsed: a value that crosses regions without a slot is not what it was") {
  std::string text = R"(kernel @k (out: i64 @0) phase collapsed flat {
^b0 block:
  for_lanes ^l0, ^b1
^l0 lane:
  %x = const i32 7
  end_lane
^b1 block:
  for_lanes ^l1, ^end
^l1 lane:
  %params = param_base
  %out = load i64 param %params
  store i32 global %out, %x
  end_lane
^end block:
  ret
}
)";
  CHECK(RunThreads(text, 1, Law::kBroken)[0] != 7);
}

}  // namespace ptx2cpu::ir::interpret_test
