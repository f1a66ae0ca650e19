// Which values get slots: the cheapest set, compared with what keeping or rebuilding each value for itself
// takes.
#include <algorithm>
#include <ctime>

#include "tests/passes/barrier_kernels.h"
#include "tests/passes/random_kernel.h"
#include "tests/quick.h"
#include "tests/sanitized.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

struct Slots {
  uint32_t count = 0;
  uint64_t bytes = 0;  // for a warp
};

Slots CountSlots(const ir::Function& f) {
  Slots slots;
  for (const ir::Slot& slot : f.slots) {
    ++slots.count;
    slots.bytes += static_cast<uint64_t>(ir::Bytes(slot.type)) * (slot.shape == ir::Level::kLane ? 32 : 1);
  }
  return slots;
}

ir::Module Collapsed(const ir::Module& module, bool by_cut) {
  ir::Module copy = module;
  lowering::PipelineOptions options;
  options.passes.slots_by_cut = by_cut;
  options.passes.tier = lowering::Tier::kWarp;
  Result<std::vector<lowering::PassTime>> done = lowering::RunPipeline(copy, options);
  if (!done) FAIL(done.error().Render());
  return copy;
}

const std::string kBarrier = "  barrier_block %zero {aligned}\n";
// Something that keeps the barrier.
const std::string kExchange = "  store i32 shared %slot, %v\n" + kBarrier + "  %w = load i32 shared %tile\n";

}  // namespace

TEST_CASE("three values made of two loads cross as the two", "[passes][slots]") {
  // Polygeist's figure 6: x and y are kept, a, b and c computed again.
  std::string body =
      "  %x = load i32 global %mine\n  %y = load i32 shared %slot\n  %a = mul i32 %x, %x\n"
      "  %b = mul i32 %y, %y\n  %c = sub i32 %x, %y\n" +
      kExchange +
      "  %s1 = add i32 %a, %b\n  %s2 = xor i32 %s1, %c\n  %s3 = add i32 %s2, %w\n"
      "  %s4 = mul i32 %a, %s3\n  %s5 = sub i32 %s4, %b\n  %s6 = mul i32 %s5, %c\n"
      "  store i32 global %mine, %s6\n  ret\n";
  ir::Module module = BarrierModule(body);
  Slots with = CountSlots(Collapsed(module, true).functions.back());
  Slots without = CountSlots(Collapsed(module, false).functions.back());
  CHECK(with.bytes + 128 == without.bytes);
  CheckSameMemory(module, Collapsed(module, true));
}

TEST_CASE("one value made of two loads crosses on its own", "[passes][slots]") {
  std::string body = "  %x = load i32 global %mine\n  %y = load i32 shared %slot\n  %a = mul i32 %x, %y\n" +
                     kExchange + "  %s = add i32 %a, %w\n  store i32 global %mine, %s\n  ret\n";
  ir::Module module = BarrierModule(body), cut = Collapsed(module, true);
  uint32_t words = 0;
  for (const ir::Slot& slot : Kernel(cut).slots) words += slot.type == ir::Type::kI32;
  CHECK(words == 1);
  CheckSameMemory(module, cut);
}

TEST_CASE("what takes long to rebuild is kept", "[passes][slots]") {
  std::string chain;
  for (int n = 0; n < 9; ++n) {
    std::string from = n == 0 ? "%x" : "%a" + std::to_string(n - 1);
    chain += "  %a" + std::to_string(n) + " = xor i32 " + from + ", %tid\n";
  }
  // a8 takes nine operations from x, which crosses as well.
  std::string body = "  %x = load i32 global %mine\n" + chain + "  %q = div_s i32 %x, %ntid\n" + kExchange +
                     "  %s = add i32 %a8, %x\n  %r = add i32 %s, %q\n  %u = add i32 %r, %w\n"
                     "  store i32 global %mine, %u\n  ret\n";
  ir::Module module = BarrierModule(body), cut = Collapsed(module, true);
  uint32_t words = 0, divisions = 0;
  for (const ir::Slot& slot : Kernel(cut).slots) words += slot.type == ir::Type::kI32;
  divisions = CountInstructions(Kernel(cut), [](const ir::Inst& i) { return i.op == ir::Opcode::kDivS; });
  CHECK(words == 3);  // x, a8, the quotient
  CHECK(divisions == 1);
  CheckSameMemory(module, cut);
}

namespace {

// A loop with a barrier in which a thread's %x starts at its number and grows by two.
std::string LoopWithBarrier(const std::string& step) {
  return "  br ^head(%gid, %zero, %zero)\n^head(%x: i32, %i: i32, %sum: i32):\n  store i32 shared %slot, "
         "%x\n" +
         kBarrier + "  %b = load i32 shared %next\n" + kBarrier +
         "  %sum2 = add i32 %sum, %b\n  %x2 = add i32 %x, " + step +
         "\n  %i2 = add i32 %i, %one\n  %again = icmp i32 ult %i2, %three\n"
         "  cond_br %again, ^head(%x2, %i2, %sum2), ^out\n^out:\n  store i32 global %mine, %sum2\n  ret\n";
}

uint32_t CountOf(const ir::Function& f, ir::Level shape) {
  return static_cast<uint32_t>(
      std::ranges::count_if(f.slots, [&](const ir::Slot& s) { return s.shape == shape; }));
}

}  // namespace

TEST_CASE("an induction variable of a loop with barriers is a uniform counter and the thread's start",
          "[passes][slots]") {
  const ir::Module even = BarrierModule(LoopWithBarrier("%two")),
                   own = BarrierModule(LoopWithBarrier("%tid"));
  const ir::Module counted = Collapsed(even, true), kept = Collapsed(own, true);
  // A step that differs between threads stays in a slot of each thread.
  CHECK(CountOf(counted.functions.back(), ir::Level::kLane) + 1 ==
        CountOf(kept.functions.back(), ir::Level::kLane));
  CHECK(CountOf(counted.functions.back(), ir::Level::kBlock) ==
        CountOf(kept.functions.back(), ir::Level::kBlock) + 1);
  CheckSameMemory(even, counted);
  CheckSameMemory(own, kept);
}

TEST_CASE("slots that change places in a loop stay two", "[passes][slots]") {
  const std::string body =
      "  br ^head(%v, %tid, %zero)\n^head(%a: i32, %b: i32, %i: i32):\n  store i32 shared %slot, %a\n" +
      kBarrier + "  %w = load i32 shared %next\n" + kBarrier +
      "  %i2 = add i32 %i, %one\n  %again = icmp i32 ult %i2, %three\n"
      "  cond_br %again, ^head(%b, %a, %i2), ^out\n^out:\n  %d = sub i32 %a, %b\n  %s = mul i32 %d, %w\n"
      "  store i32 global %mine, %s\n  ret\n";
  const ir::Module module = BarrierModule(body), done = Collapsed(module, true);
  CHECK(CountOf(done.functions.back(), ir::Level::kLane) >= 2);
  CheckSameMemory(module, done);
}

TEST_CASE("random kernels need no more slots with the cut than without", "[passes][slots][random]") {
  Slots with, without;
  uint32_t fewer = 0, more = 0;
  for (uint64_t seed = 1; seed <= QuickPart(150u); ++seed) {
    ir::Module module = RandomKernel(seed);
    ir::Module cut = Collapsed(module, true), each = Collapsed(module, false);
    Slots a = CountSlots(cut.functions[0]), b = CountSlots(each.functions[0]);
    with.count += a.count;
    with.bytes += a.bytes;
    without.count += b.count;
    without.bytes += b.bytes;
    fewer += a.bytes < b.bytes;
    more += a.bytes > b.bytes;
  }
  WARN("slots: " << with.count << " of " << with.bytes << " bytes a warp by the cut, " << without.count
                 << " of " << without.bytes << " each for itself; fewer bytes in " << fewer
                 << " kernels, more in " << more);
  CHECK(with.bytes < without.bytes);
  CHECK(more < fewer);
}

TEST_CASE("a kernel of ten thousand values is collapsed in short time", "[passes][slots][long]") {
  std::string body = "  %x0 = load i32 global %mine\n";
  for (int n = 1; n <= 10000; ++n) {
    std::string from = std::to_string(n - 1), half = std::to_string(n / 2);
    body += "  %x" + std::to_string(n) + " = " + (n % 3 ? "add" : "mul") + " i32 %x" + from + ", %x" + half +
            "\n";
  }
  body += kExchange;
  for (int n = 0; n < 10000; n += 7) {
    std::string from = n == 0 ? "%w" : "%y" + std::to_string(n - 7);
    body += "  %y" + std::to_string(n) + " = add i32 " + from + ", %x" + std::to_string(n) + "\n";
  }
  body += "  store i32 global %mine, %y9996\n  ret\n";
  ir::Module module = BarrierModule(body);
  const std::clock_t start = std::clock();  // processor time: other tests run beside this one
  ir::Module first = Collapsed(module, true);
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  WARN("10000 values: " << took << " s");
#ifdef PTX2CPU_TEST_SANITIZED
  CHECK(took < 60);
#else
  CHECK(took < 2);
#endif
  CHECK(ir::Print(first) == ir::Print(Collapsed(module, true)));
}

TEST_CASE("slots of unrolled code are shared", "[passes][slots]") {
  // Each stage's value is needed after the next barrier only.
  constexpr int kStages = 50;
  std::string body = "  %y0 = load i32 shared %slot {volatile}\n";
  for (int n = 0; n < kStages; ++n) {
    const std::string now = std::to_string(n), next = std::to_string(n + 1);
    body += "  store i32 shared %slot, %y" + now + "\n" + kBarrier + "  %w" + now +
            " = load i32 shared %next\n  %y" + next + " = add i32 %w" + now + ", %y" + now + "\n" + kBarrier;
  }
  body += "  store i32 global %mine, %y" + std::to_string(kStages) + "\n  ret\n";
  const ir::Module module = BarrierModule(body);
  ir::Module before = AfterInShape(module, "join-warp-code"), after = AfterInShape(module, "");
  CHECK(CountSlots(Kernel(before)).count > kStages);
  CHECK(CountSlots(Kernel(after)).count < 8);
  CheckSameMemory(module, after);
}

namespace {

constexpr int kTurns = 50;

// Each turn needs the value of the one before: %y0, %y1 and so on.
std::string Turns(std::string (*turn)(const std::string& now, const std::string& next)) {
  std::string body = "  %y0 = load i32 global %mine\n";
  for (int n = 0; n < kTurns; ++n) body += turn(std::to_string(n), std::to_string(n + 1));
  return body + "  store i32 global %mine, %y" + std::to_string(kTurns) + "\n  ret\n";
}

std::string Odd(const std::string& n) {
  return "  %b" + n + " = and i32 %y" + n + ", %one\n  %p" + n + " = icmp i32 ne %b" + n + ", %zero\n  %m" +
         n + " = ballot %p" + n + ", %full\n";
}

uint32_t SlotsAfter(const ir::Module& module, lowering::Tier tier, std::string_view pass,
                    ir::Level shape = ir::Level::kLane) {
  Result<ir::Module> after = AfterTier(module, tier, pass);
  if (!after) FAIL(after.error().Render());
  return CountOf(Kernel(*after), shape);
}

void CheckSameInTier(const ir::Module& module, lowering::Tier tier) {
  Result<ir::Module> after = AfterTier(module, tier);
  if (!after) FAIL(after.error().Render());
  CheckSameMemory(module, *after);
}

}  // namespace

TEST_CASE("lanes that suspend share the slots of values that are not needed at the same time",
          "[passes][slots]") {
  const ir::Module module = BarrierModule(Turns([](const std::string& now, const std::string& next) {
    return Odd(now) + "  %y" + next + " = add i32 %y" + now + ", %m" + now + "\n";
  }));
  CHECK(SlotsAfter(module, lowering::Tier::kLanes, "make-lanes-resumable") > kTurns);
  CHECK(SlotsAfter(module, lowering::Tier::kLanes, "") < 8);
  CheckSameInTier(module, lowering::Tier::kLanes);
}

TEST_CASE("branches whose arms are not within each other share slots", "[passes][slots][long]") {
  const ir::Module module = BarrierModule(Turns([](const std::string& now, const std::string& next) {
    return Odd(now) + "  cond_br %p" + now + ", ^arm" + now + ", ^join" + now + "(%y" + now + ")\n^arm" +
           now + ":\n  %s" + now + " = redux i32 add %y" + now + ", %m" + now + "\n  br ^join" + now + "(%s" +
           now + ")\n^join" + now + "(%j" + now + ": i32):\n  %y" + next + " = add i32 %j" + now + ", %m" +
           now + "\n";
  }));
  const auto slots_after = [&](std::string_view pass, ir::Level shape) {
    return SlotsAfter(module, lowering::Tier::kWarp, pass, shape);
  };
  CHECK(slots_after("merge-slots", ir::Level::kLane) > kTurns);
  CHECK(slots_after("", ir::Level::kLane) < 8);
  // The masks of lanes that are parked, that have arrived, and that are next.
  CHECK(slots_after("", ir::Level::kWarp) == slots_after("merge-slots", ir::Level::kWarp) + 3);
  CheckSameInTier(module, lowering::Tier::kWarp);
}
