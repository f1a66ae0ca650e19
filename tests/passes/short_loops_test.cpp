// repeat-short-loops: loops of which the block's shape shows that some threads take one trip and others two
// or three become copies, and threads compute what they did.
#include "analysis/graph/loops.h"
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// i = tid; do { shared[i] = i + data; sum += i, or 3 i where i is odd; i += 64; } while (i < kBound)
const std::string kUp = R"(  %step = const i32 0x40
  %bound = const i32 BOUND
  br ^loop(%tid, %v, %zero)
^loop(%i: i32, %sum: i32, %trips: i32):
  %i64 = zext i64 from i32 %i
  %ioff = shl i64 %i64, %two
  %to = add i64 %tile, %ioff
  %store = add i32 %i, %v
  store i32 shared %to, %store
  %bit = and i32 %i, %one
  %odd = icmp i32 eq %bit, %one
  cond_br %odd, ^odd, ^even(%i)
^odd:
  %thrice = mul i32 %i, %three
  br ^even(%thrice)
^even(%part: i32):
  %more = add i32 %sum, %part
  %count = add i32 %trips, %one
  %next_i = add i32 %i, %step
  %again = icmp i32 COMPARE %next_i, %bound
  cond_br %again, EDGES
^end(%all: i32):
  %scaled = mul i32 %all, %three
  %with = add i32 %scaled, %count
  barrier_block %zero {aligned}
  %far = sub i32 %bound, %one
  %far2 = sub i32 %far, %tid
  %far64 = zext i64 from i32 %far2
  %foff = shl i64 %far64, %two
  %from = add i64 %tile, %foff
  %read = load i32 shared %from
  %result = add i32 %with, %read
  store i32 global %mine, %result
  ret
)";

// The compiler's form: (max(tid, bound - 64) + 63 - tid) / 64 + 1 trips, counted down.
const std::string kDown = R"(  %c40 = const i32 0x40
  %c3f = const i32 0x3f
  %six = const i32 0x6
  %last = const i32 BOUND
  %least = sub i32 %last, %c40
  %most = max_s i32 %tid, %least
  %sum1 = add i32 %most, %c3f
  %left = sub i32 %sum1, %tid
  %whole = shr_u i32 %left, %six
  %all = add i32 %whole, %one
  %few = and i32 %all, %three
  br ^loop(%tid, %few, %v)
^loop(%i: i32, %k: i32, %sum: i32):
  %more = add i32 %sum, %i
  %next_i = add i32 %i, %c40
  %next_k = add i32 %k, %full
  %done = icmp i32 eq %next_k, %zero
  cond_br %done, ^end, ^loop(%next_i, %next_k, %more)
^end:
  store i32 global %mine, %more
  ret
)";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), with);
  return text;
}

size_t LoopsAfter(const std::string& body, uint32_t threads, bool is_known = true) {
  ir::Module module = BarrierModule(body);
  ir::Function& f = module.functions.back();
  if (is_known) f.required_threads[0] = threads, f.required_threads[1] = f.required_threads[2] = 1;
  const Result<ir::Module> after = After(module, "repeat-short-loops");
  if (!after) FAIL(after.error().Render());
  const Outcome before = RunKernel(module, f, threads, 0);
  REQUIRE(before.status);
  const Outcome same = RunKernel(*after, after->functions.back(), threads, 0);
  if (!same.status) FAIL(same.status.error().Render());
  CHECK(same.data == before.data);
  return analysis::Loops(analysis::BuildCfg(after->functions.back())).loops.size();
}

}  // namespace

TEST_CASE("loops that the block's shape ends soon are repeated", "[passes]") {
  struct {
    const char* bound;
    uint32_t threads;
    size_t loops;
  } constexpr kCases[] = {
      {"0x50", 64, 0},  // 80: 16 threads take a second trip
      {"0x81", 64, 0},  // 129: one takes a third
      {"0xc1", 64, 1},  // a fourth
      {"0x80", 64, 1},  // all take two
      {"0x40", 64, 0},  // all take one
  };
  for (const auto& [bound, threads, loops] : kCases) {
    INFO(bound << " of " << threads << " threads");
    const std::string body = Replaced(kUp, "BOUND", bound);
    for (const char* compare : {"ult", "slt", "ule"}) {
      const std::string last = std::string(compare) == "ule" ? "0x1" : "0x0";
      std::string text = Replaced(body, "COMPARE", compare);
      if (last == "0x1") {  // i <= bound - 1
        text = Replaced(text, "%next_i, %bound", "%next_i, %highest");
        text.insert(text.find("  br ^loop"),
                    "  %highest = const i32 " + std::to_string(std::stoul(bound, nullptr, 16) - 1) + "\n");
      }
      INFO(compare);
      CHECK(LoopsAfter(Replaced(text, "EDGES", "^loop(%next_i, %more, %count), ^end(%more)"), threads) ==
            loops);
    }
    const std::string opposite = Replaced(body, "COMPARE", "uge");
    CHECK(LoopsAfter(Replaced(opposite, "EDGES", "^end(%more), ^loop(%next_i, %more, %count)"), threads) ==
          loops);
  }
}

TEST_CASE("loops that count down are repeated", "[passes]") {
  CHECK(LoopsAfter(Replaced(kDown, "BOUND", "0x50"), 64) == 0);
  CHECK(LoopsAfter(Replaced(kDown, "BOUND", "0x64"), 64) == 0);
  CHECK(LoopsAfter(Replaced(kDown, "BOUND", "0x50"), 32) == 0);
  CHECK(LoopsAfter(Replaced(kDown, "BOUND", "0x90"), 96) == 0);  // at most three, by bounds alone
  CHECK(LoopsAfter(Replaced(kDown, "BOUND", "0x50"), 64, false) == 1);
}
