// Random kernels over shared memory with the barriers they need, found by looking at all pairs of threads,
// and some they do not need. Collapsed, one thread runs to the next barrier before another starts, so a
// barrier too few, or a value forwarded too far, changes what the kernel computes.
#include <random>

#include "tests/passes/barrier_kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

constexpr int kThreads = 40, kTrips = 3;

// Word `factor * tid + offset (+ trip)` of one of two arrays, by the threads below `below`.
struct Step {
  bool writes, other, by_trip;
  int factor, offset, below;
};

bool Conflict(const Step& a, const Step& b) {
  if (a.other != b.other || (!a.writes && !b.writes)) return false;
  for (int i = 0; i < a.below; ++i) {
    for (int j = 0; j < b.below; ++j) {
      int distance = a.factor * i + a.offset - b.factor * j - b.offset;
      int reach = (a.by_trip ? kTrips - 1 : 0) + (b.by_trip ? kTrips - 1 : 0);
      if (i != j && std::abs(distance) <= reach) return true;
    }
  }
  return false;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Make() {
    text_ = "  store i32 shared %slot, %v\n  %o0 = add i64 %other, %toff\n  store i32 shared %o0, %tid\n";
    acc_ = "%v";
    // As two steps: the arrays' first words.
    open_ = {{true, false, false, 1, 0, kThreads}, {true, true, false, 1, 0, kThreads}};
    Steps(2 + Pick(4), false);
    if (Pick(2) == 0) Loop();
    Steps(2 + Pick(4), false);
    text_ += "  store i32 global %mine, " + acc_ + "\n  ret\n";
    return text_;
  }

 private:
  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  std::string Name(const char* prefix) { return "%" + std::string(prefix) + std::to_string(++number_); }
  std::string Label(const char* prefix) { return "^" + std::string(prefix) + std::to_string(++number_); }

  void Barrier() {
    text_ += "  barrier_block %zero {aligned}\n";
    open_.clear();
    ++barriers_;
  }

  Step RandomStep(bool in_loop) {
    Step step;
    do {
      step = {Pick(2) == 0, Pick(2) == 0, in_loop && Pick(4) == 0,
              Pick(3),      Pick(3),      Pick(3) ? kThreads : 1 + Pick(3)};
    } while (Conflict(step, step));
    return step;
  }

  void Steps(int count, bool in_loop) {
    for (int n = 0; n < count; ++n) {
      Step step = RandomStep(in_loop);
      bool needed = std::any_of(open_.begin(), open_.end(), [&](const Step& s) { return Conflict(s, step); });
      if (needed || Pick(4) == 0) Barrier();
      Emit(step);
      open_.push_back(step);
      if (barriers_ == 0) first_.push_back(step);
    }
  }

  void Loop() {
    std::string head = Label("head"), body = Label("body"), done = Label("done"), i = Name("i"),
                sum = Name("sum");
    text_ += "  br " + head + "(%zero, " + acc_ + ")\n" + head + "(" + i + ": i32, " + sum + ": i32):\n";
    acc_ = sum;
    trip_ = i;
    std::string more = Name("more"), next = Name("i");
    text_ += "  " + more + " = icmp i32 ult " + i + ", %three\n  cond_br " + more + ", " + body + ", " +
             done + "\n" + body + ":\n";
    Barrier();  // what was open before the loop
    barriers_ = 0;
    first_.clear();
    Steps(2 + Pick(4), true);
    bool needed = false;  // from the end of one trip to the beginning of the next
    for (const Step& a : open_) {
      for (const Step& b : first_) needed |= Conflict(a, b);
    }
    if (needed || Pick(3) == 0) Barrier();
    text_ += "  " + next + " = add i32 " + i + ", %one\n  br " + head + "(" + next + ", " + acc_ + ")\n" +
             done + ":\n";
    acc_ = sum;
    Barrier();
  }

  void Emit(const Step& step) {
    std::string join, kept = acc_;
    if (step.below != kThreads) {
      std::string bound = Name("bound"), in = Name("p"), then = Label("t");
      join = Label("j");
      text_ += "  " + bound + " = const i32 " + std::to_string(step.below) + "\n  " + in +
               " = icmp i32 ult %tid, " + bound + "\n  cond_br " + in + ", " + then + ", " + join + "(" +
               acc_ + ")\n" + then + ":\n";
    }
    std::string address = Address(step);
    if (step.writes) {
      text_ += "  store i32 shared " + address + ", " + acc_ + "\n";
    } else {
      std::string word = Name("w"), scaled = Name("s"), sum = Name("a");
      text_ += "  " + word + " = load i32 shared " + address + "\n  " + scaled + " = mul i32 " + acc_ +
               ", %three\n  " + sum + " = add i32 " + scaled + ", " + word + "\n";
      acc_ = sum;
    }
    if (join.empty()) return;
    std::string merged = Name("m");
    text_ += "  br " + join + "(" + acc_ + ")\n" + join + "(" + merged + ": i32):\n";
    acc_ = merged;
  }

  // In 32 or in 64 bits, as compilers do either.
  std::string Address(const Step& step) {
    std::string factor = Name("f"), offset = Name("k"), scaled = Name("x"), index = Name("x"),
                wide = Name("x"), bytes = Name("x"), address = Name("x"), type = Pick(2) ? "i64" : "i32";
    text_ += "  " + factor + " = const " + type + " " + std::to_string(step.factor) + "\n  " + offset +
             " = const " + type + " " + std::to_string(step.offset) + "\n  " + scaled + " = mul " + type +
             (type == "i64" ? " %tid64, " : " %tid, ") + factor + "\n  " + index + " = add " + type + " " +
             scaled + ", " + offset + "\n";
    if (step.by_trip) {
      std::string trip = trip_, with = Name("x");
      if (type == "i64") {
        trip = Name("x");
        text_ += "  " + trip + " = zext i64 from i32 " + trip_ + "\n";
      }
      text_ += "  " + with + " = add " + type + " " + index + ", " + trip + "\n";
      index = with;
    }
    if (type == "i32") {
      text_ += "  " + wide + " = zext i64 from i32 " + index + "\n";
      index = wide;
    }
    text_ += "  " + bytes + " = shl i64 " + index + ", %two\n  " + address + " = add i64 " +
             (step.other ? "%other" : "%tile") + ", " + bytes + "\n";
    return address;
  }

  std::mt19937_64 random_;
  std::string text_, acc_, trip_;
  std::vector<Step> open_, first_;  // steps since the last barrier, and before the loop's first
  int number_ = 0, barriers_ = 0;
};

uint32_t CountLoads(const ir::Module& module) {
  return CountInstructions(module.functions.back(), [](const ir::Inst& inst) {
    return inst.op == ir::Opcode::kLoad && inst.attrs.space == ir::Space::kShared;
  });
}

}  // namespace

TEST_CASE("random accesses of shared memory mean the same with fewer barriers and loads",
          "[passes][barriers][random]") {
  const char* first = std::getenv("PTX2CPU_RANDOM_SEED");
  uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 1;
  uint32_t barriers = 0, removed = 0, forwarded = 0, rounds = first ? 5000 : IsQuick() ? 31 : 500;
  for (uint32_t n = 0; n < rounds; ++n, ++seed) {
    ir::Module module = BarrierModule(Generator(seed).Make());
    ir::Module cut = AfterInShape(module, "remove-redundant-barriers"), collapsed = AfterInShape(module, "");
    barriers += CountBarriers(module);
    removed += CountBarriers(module) - CountBarriers(cut);
    forwarded += CountLoads(module) - CountLoads(cut);
    Outcome expected = RunKernel(module, module.functions.back(), kThreads, 7);
    Outcome actual = RunKernel(collapsed, collapsed.functions.back(), kThreads, 7);
    INFO("seed " << seed);
    if (!expected.status) FAIL(expected.status.error().Render() << ir::Print(module));
    if (!actual.status) FAIL(actual.status.error().Render() << ir::Print(collapsed));
    if (actual.data != expected.data) FAIL("memory differs\n" << ir::Print(module) << ir::Print(cut));
  }
  WARN(removed << " of " << barriers << " barriers removed, " << forwarded << " loads forwarded");
  CHECK(removed > rounds / 4);
  CHECK(removed < barriers);
  CHECK(forwarded > (IsQuick() ? 1 : 20));
}
