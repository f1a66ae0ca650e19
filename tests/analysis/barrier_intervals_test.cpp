// Intervals between barriers: what may happen before and after each, and which barriers all threads share.
#include "analysis/memory/barrier_intervals.h"

#include <algorithm>

#include "tests/analysis/graphs.h"

using namespace ptx2cpu;
using namespace ptx2cpu::analysis;

namespace {

// Stores of the constants 1, 2, 3 ... to @a identify the effects.
struct Kernel {
  ir::Module module;
  std::unique_ptr<MemoryEffects> effects;
  std::unique_ptr<BarrierIntervals> intervals;

  std::string Names(const std::vector<uint32_t>& set) const {
    const ir::Function& f = module.functions[0];
    std::string names;
    for (uint32_t e : set) {
      const ir::Inst& store = f.at_inst(effects->all()[e].inst);
      names += std::to_string(f.at_inst(f.at_value(store.operands[1]).def).attrs.bits);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // Numbers of the barriers in the order of the text.
  std::vector<uint32_t> Numbers() const {
    std::vector<uint32_t> numbers(intervals->barriers().size());
    for (uint32_t n = 0; n < numbers.size(); ++n) numbers[n] = n;
    std::ranges::sort(numbers, {}, [&](uint32_t n) { return intervals->barriers()[n].inst.index; });
    return numbers;
  }
  std::string Before(uint32_t barrier) const { return Names(intervals->effects_before(barrier)); }
  std::string After(uint32_t barrier) const { return Names(intervals->effects_after(barrier)); }
};

Kernel Build(const std::string& body) {
  std::string text = R"(variable shared @a align 8 size 4096 offset 0
kernel @k (p: i64 @0) phase simt {
^b0:
  %a = symbol shared @a
  %z = const i32 0x0
  %x = special i32 tid.x
  %c = special i32 ctaid.x
  %v1 = const i32 0x1
  %v2 = const i32 0x2
  %v3 = const i32 0x3
  %v4 = const i32 0x4
  %some = icmp i32 eq %x, %z
  %all = icmp i32 eq %c, %z
)";
  for (size_t at = 0; at < body.size(); ++at) {
    char c = body[at];
    if (c >= '1' && c <= '4') {
      text += std::string("  store i32 shared %a, %v") + c + "\n";
    } else if (c == 'B') {
      text += "  barrier_block %z\n";
    } else {
      text += c;
    }
  }
  Kernel kernel{test::ParseText(text + "\n}\n"), nullptr, nullptr};
  const ir::Function& f = kernel.module.functions[0];
  kernel.effects = std::make_unique<MemoryEffects>(kernel.module, f);
  kernel.intervals = std::make_unique<BarrierIntervals>(kernel.module, f, *kernel.effects);
  REQUIRE(kernel.intervals->known());
  return kernel;
}

}  // namespace

TEST_CASE("intervals of straight code", "[analysis][memory]") {
  Kernel kernel = Build("1B23B4\n  ret");
  CHECK(kernel.Before(0) == "1");
  CHECK(kernel.After(0) == "23");
  CHECK(kernel.Before(1) == "23");
  CHECK(kernel.After(1) == "4");
  kernel.intervals->Remove(0);
  CHECK(kernel.Before(1) == "123");
  CHECK(kernel.intervals->AllTogether());
}

TEST_CASE("intervals around a loop", "[analysis][memory]") {
  // 1; do { 2; barrier 0; 3; barrier 1 } while (all); 4
  Kernel kernel = Build("1\n  br ^l\n^l:\n2B3B\n  cond_br %all, ^l, ^e\n^e:\n4\n  ret");
  CHECK(kernel.Before(0) == "12");
  CHECK(kernel.After(0) == "3");
  CHECK(kernel.Before(1) == "3");
  CHECK(kernel.After(1) == "24");
  CHECK(kernel.intervals->AllTogether());
  // Threads that leave the loop at different trips do not meet at barrier 0 any more.
  Kernel parts = Build("1\n  br ^l\n^l:\n2B3B\n  cond_br %some, ^l, ^e\n^e:\n4B\n  ret");
  CHECK_FALSE(parts.intervals->barriers()[0].together);
  CHECK_FALSE(parts.intervals->AllTogether());
}

TEST_CASE("who leaves early leaves before the barrier", "[analysis][memory]") {
  // Some threads: 2 and end.
  Kernel some = Build("1\n  cond_br %some, ^out, ^on\n^out:\n2\n  ret\n^on:\n3B4\n  ret");
  CHECK(some.Before(0) == "123");
  CHECK(some.intervals->barriers()[0].together);
  // All threads end there, or none.
  Kernel all = Build("1\n  cond_br %all, ^out, ^on\n^out:\n2\n  ret\n^on:\n3B4\n  ret");
  CHECK(all.Before(0) == "13");
}

TEST_CASE("a branch on which threads differ parts them at the barriers it leads to", "[analysis][memory]") {
  Kernel kernel = Build("1\n  cond_br %some, ^l, ^r\n^l:\nB2\n  br ^j\n^r:\nB3\n  br ^j\n^j:\nB4\n  ret");
  for (const BlockBarrier& barrier : kernel.intervals->barriers()) CHECK_FALSE(barrier.together);
  Kernel same = Build("1\n  cond_br %all, ^l, ^r\n^l:\nB2\n  br ^j\n^r:\nB3\n  br ^j\n^j:\nB4\n  ret");
  CHECK(same.intervals->AllTogether());
  CHECK(same.Before(2) == "23");
  // A branch whose two ways lead to one barrier divides no threads.
  Kernel joined = Build("  cond_br %some, ^l, ^r\n^l:\n1\n  br ^j\n^r:\n2\n  br ^j\n^j:\nB4\n  ret");
  CHECK(joined.intervals->AllTogether());
  CHECK(joined.Before(0) == "12");
}

TEST_CASE("without a barrier the intervals are those of the code without it", "[analysis][memory]") {
  const std::string bodies[] = {
      "1B2B3B4B1B2\n  ret", "1\n  br ^l\n^l:\n2B3B4B\n  cond_br %all, ^l, ^e\n^e:\n4B1B\n  ret",
      "1\n  br ^l\n^l:\n2B3B4\n  cond_br %some, ^l, ^e\n^e:\n4B1B\n  ret",
      "1B\n  cond_br %some, ^out, ^on\n^out:\n2\n  ret\n^on:\n3B4B1\n  cond_br %all, ^x, ^y\n^x:\nB2\n  br "
      "^z\n^y:\n4B\n  br ^z\n^z:\n3B1\n  ret",
      "1\n  cond_br %some, ^l, ^r\n^l:\nB2B\n  br ^j\n^r:\nB3B\n  br ^j\n^j:\n1B4B2\n  ret"};
  for (const std::string& body : bodies) {
    const auto count = static_cast<uint32_t>(std::ranges::count(body, 'B'));
    for (uint32_t first = 0; first < count; ++first) {
      Kernel kernel = Build(body);
      std::string rest = body;
      std::vector<uint32_t> left = kernel.Numbers();  // those of the barriers of `rest`
      for (uint32_t at = first; !left.empty(); at += 2) {
        const uint32_t number = at % static_cast<uint32_t>(left.size());
        kernel.intervals->Remove(left[number]);
        left.erase(left.begin() + number);
        size_t place = rest.find('B');
        for (uint32_t n = 0; n < number; ++n) place = rest.find('B', place + 1);
        rest.erase(place, 1);
        const Kernel expected = Build(rest);
        const std::vector<uint32_t> numbers = expected.Numbers();
        INFO(body << "\nas\n" << rest);
        CHECK(kernel.intervals->AllTogether() == expected.intervals->AllTogether());
        for (uint32_t n = 0; n < left.size(); ++n) {
          const uint32_t actual = left[n], number_there = numbers[n];
          CHECK(kernel.Before(actual) == expected.Before(number_there));
          CHECK(kernel.After(actual) == expected.After(number_there));
          CHECK(kernel.intervals->barriers()[actual].together ==
                expected.intervals->barriers()[number_there].together);
          CHECK(kernel.intervals->Redundant(actual) == expected.intervals->Redundant(number_there));
        }
      }
    }
  }
}
