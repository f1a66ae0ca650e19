// Addresses as polynomials: what two threads' accesses may have in common, against all pairs of threads.
#include <random>

#include "analysis/memory/memory_effects.h"
#include "tests/analysis/graphs.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::analysis;

namespace {

const std::string kHead = R"(variable shared @a align 8 size 4096 offset 0
variable shared @b align 8 size 4096 offset 4096
variable global @g align 8 size 4096
kernel @k (p: i64 @0, q: i64 @8, n: i32 @16) phase simt {
^b0:
  %base = param_base
  %p = load i64 param %base
  %e = const i64 0x8
  %s = const i64 0x10
  %qa = add i64 %base, %e
  %q = load i64 param %qa
  %na = add i64 %base, %s
  %n = load i32 param %na
  %x = special i32 tid.x
  %y = special i32 tid.y
  %a = symbol shared @a
  %b = symbol shared @b
  %g = symbol global @g
  %v = const i32 0x1
)";

struct Analyzed {
  ir::Module module;
  std::unique_ptr<MemoryEffects> effects;
};

Analyzed Analyze(const std::string& body, std::optional<LaunchShape> shape = {}) {
  Analyzed result{test::ParseText(kHead + body + "  ret\n}\n"), nullptr};
  result.effects = std::make_unique<MemoryEffects>(result.module, result.module.functions[0], shape);
  return result;
}

bool Meet(const std::string& body, std::optional<LaunchShape> shape = {}) {
  Analyzed analyzed = Analyze(body, shape);
  REQUIRE(analyzed.effects->all().size() == 2);
  return analyzed.effects->MayMeet(analyzed.effects->all()[0], analyzed.effects->all()[1]);
}

// An access of `bits` at @a + cx * x + cy * y + c.
std::string AccessAt(int id, int bits, int64_t cx, int64_t cy, int64_t c) {
  std::string n = std::to_string(id), text;
  auto constant = [&](const std::string& name, int64_t value) {
    char hex[32];
    std::snprintf(hex, sizeof hex, "0x%x", static_cast<uint32_t>(value));
    text += "  %" + name + n + " = const i32 " + hex + "\n";
  };
  constant("cx", cx);
  constant("cy", cy);
  constant("c", c);
  text += "  %mx" + n + " = mul i32 %x, %cx" + n + "\n  %my" + n + " = mul i32 %y, %cy" + n + "\n  %xy" + n +
          " = add i32 %mx" + n + ", %my" + n + "\n  %o" + n + " = add i32 %xy" + n + ", %c" + n + "\n  %w" +
          n + " = sext i64 from i32 %o" + n + "\n  %at" + n + " = add i64 %a, %w" + n + "\n  %z" + n +
          " = const i" + std::to_string(bits) + " 0x0\n  store i" + std::to_string(bits) + " shared %at" + n +
          ", %z" + n + "\n";
  return text;
}

}  // namespace

TEST_CASE("operations with different attributes are different values", "[analysis]") {
  auto meet = [](const std::string& first, const std::string& second) {
    const std::string four = "  %four = const i32 0x4\n  %x4 = mul i32 %x, %four\n";
    auto access = [](const std::string& name, const std::string& mode) {
      return "  %u" + name + " = prmt " + mode + "%n, %n, %n\n  %o" + name + " = add i32 %u" + name +
             ", %x4\n  %w" + name + " = zext i64 from i32 %o" + name + "\n  %at" + name +
             " = add i64 %a, %w" + name + "\n  store i32 shared %at" + name + ", %v\n";
    };
    return Meet(four + access("1", first) + access("2", second), LaunchShape{64, 1, 1});
  };
  CHECK_FALSE(meet("f4e ", "f4e "));
  CHECK(meet("f4e ", "b4e "));
  CHECK(meet("f4e ", ""));
}

TEST_CASE("two threads' addresses meet exactly when a pair of threads does", "[analysis][memory]") {
  std::mt19937 random(7);
  auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  int exact = 0, apart = 0;
  for (int round = 0; round < test::QuickPart(600); ++round) {
    LaunchShape shape{static_cast<uint32_t>(pick({1, 2, 5, 16})), static_cast<uint32_t>(pick({1, 3, 4})), 1};
    int64_t cx[2], cy[2], c[2], bytes[2];
    for (int k = 0; k < 2; ++k) {
      bool same = k == 1 && random() % 4 != 0;
      cx[k] = same ? cx[0] : pick({0, 1, 4, 8, 12, -4});
      cy[k] = same ? cy[0] : pick({0, 4, 8, 16, 20, 64, -64});
      c[k] = pick({0, 1, 2, 4, 8, 32, -4});
      bytes[k] = pick({1, 2, 4, 8});
    }
    bool found = false;
    for (uint32_t i = 0; i < shape.x * shape.y; ++i) {
      for (uint32_t j = 0; j < shape.x * shape.y; ++j) {
        int64_t at = cx[0] * (i % shape.x) + cy[0] * (i / shape.x) + c[0];
        int64_t other = cx[1] * (j % shape.x) + cy[1] * (j / shape.x) + c[1];
        found |= i != j && at < other + bytes[1] && other < at + bytes[0];
      }
    }
    bool said = Meet(AccessAt(0, static_cast<int>(bytes[0]) * 8, cx[0], cy[0], c[0]) +
                         AccessAt(1, static_cast<int>(bytes[1]) * 8, cx[1], cy[1], c[1]),
                     shape);
    INFO("round " << round);
    if (found) CHECK(said);
    if (cx[0] == cx[1] && cy[0] == cy[1]) {
      CHECK(said == found);
      ++exact;
      apart += !said;
    }
  }
  CHECK(exact > test::QuickPart(100));
  CHECK(apart > test::QuickPart(30));
}

TEST_CASE("objects that are apart, and those that may not be", "[analysis][memory]") {
  auto pair = [](const std::string& first, const std::string& second) {
    return Meet("  store i32 " + first + ", %v\n  store i32 " + second + ", %v\n");
  };
  CHECK_FALSE(pair("shared %a", "shared %b"));
  CHECK_FALSE(pair("shared %a", "global %p"));
  CHECK_FALSE(pair("shared %a", "global %g"));
  CHECK_FALSE(pair("shared %a", "generic %p"));  // a parameter is no address of shared memory
  CHECK(pair("shared %a", "shared %a"));
  CHECK(pair("global %p", "global %q"));  // parameters may point to one thing
  CHECK(pair("global %p", "global %g"));
  CHECK(Meet("  %t = to_generic shared %a\n  store i32 generic %t, %v\n  store i32 shared %a, %v\n"));
  CHECK_FALSE(Meet("  %t = to_generic shared %a\n  store i32 generic %t, %v\n  store i32 shared %b, %v\n"));
  CHECK(Meet("  %t = load i64 global %p {nc}\n  store i32 generic %t, %v\n  store i32 shared %b, %v\n"));
}

TEST_CASE("what other threads cannot see is no effect, what is not followed is unknown",
          "[analysis][memory]") {
  auto kinds = [](const std::string& body) {
    Analyzed analyzed = Analyze(body);
    std::string text;
    for (const MemoryEffect& effect : analyzed.effects->all())
      text += effect.access == Access::kRead ? 'r' : effect.access == Access::kWrite ? 'w' : '?';
    return text;
  };
  CHECK(kinds("") == "");  // parameters
  CHECK(kinds("  %l = load i32 global %p\n  %c = load i32 const %p\n  %k = load i32 global %p {nc}\n") ==
        "r");
  CHECK(kinds("  store i32 shared %a, %v\n  store i32 local %p, %v\n") == "w");
  CHECK(kinds("  store i32 shared volatile %a, %v\n") == "?");
  CHECK(kinds("  %o = atomic i32 shared relaxed cta add %a, %v\n") == "?");
  CHECK(kinds("  %o = load i32 global acquire gpu %p\n  fence sc gpu\n  nanosleep %v\n") == "???");
  CHECK(kinds("  %m = const i32 0xffffffff\n  barrier_warp %m\n  %o = activemask\n") == "?");
  CHECK(kinds("  cluster_arrive\n  cluster_wait\n") == "??");
}
