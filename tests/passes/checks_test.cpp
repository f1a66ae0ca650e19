// insert-checks and settle-checks: each access has its check, which passes keep, and those that cannot race
// ask for bounds only.
#include <algorithm>

#include "runtime/abi/check.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// Barriers separate the loads and stores of shared memory, except the last load.
constexpr std::string_view kText = R"(module "test" ptx 8.0 sm 80
variable shared @s align 16 size 512

kernel @k (x: i64 @0, y: i64 @8, n: i64 @16) phase simt {
^b0:
  %base = param_base
  %x = load i64 param %base
  %8 = const i64 0x8
  %yat = add i64 %base, %8
  %y = load i64 param %yat
  %tid = special i32 tid.x
  %wide = zext i64 from i32 %tid
  %four = const i64 0x4
  %at = mul i64 %wide, %four
  %xi = add i64 %x, %at
  %yi = add i64 %y, %at
  %v = load i32 global %xi
  %s = symbol shared @s
  %mine = add i64 %s, %at
  store i32 shared %mine, %v
  %zero = const i32 0x0
  barrier_block %zero {aligned}
  %next = add i64 %mine, %four
  %w = load i32 shared %next
  OTHER
  %old = load i32 global %yi
  %sum = add i32 %w, %old
  store i32 global %yi, %sum
  ret
}
)";

// The forms of a kernel's checks after a pass, in their order.
std::vector<uint32_t> Forms(std::string text, const std::string& other, uint32_t kinds,
                            std::string_view pass) {
  text.replace(text.find("OTHER"), 5, other);
  ir::Module module = ParseModule(text);
  lowering::PipelineOptions options;
  options.stop_after = std::string(pass);
  options.passes.checks = kinds;
  options.passes.launch = analysis::LaunchShape{.x = 64, .y = 1, .z = 1};
  const auto done = lowering::RunPipeline(module, options);
  if (!done) FAIL(done.error().Render());
  std::vector<uint32_t> forms;
  const ir::Function& f = module.functions.back();
  for (const ir::Block& block : f.blocks) {
    for (const ir::InstId id : block.insts) {
      if (!block.removed && f.at_inst(id).op == ir::Opcode::kCheckAccess)
        forms.push_back(f.at_inst(id).attrs.index);
    }
  }
  return forms;
}

std::vector<bool> OnlyBounds(const std::string& other, uint32_t kinds) {
  std::vector<bool> only;
  for (const uint32_t form : Forms(std::string(kText), other, kinds, "settle-checks"))
    only.push_back((form & PTX2CPU_ACCESS_BOUNDS_ONLY) != 0);
  return only;
}

}  // namespace

TEST_CASE("accesses that cannot race are checked for their bounds only", "[passes][checks]") {
  using Only = std::vector<bool>;
  // x, the store and the load of shared memory, y read and written.
  CHECK(OnlyBounds("", PTX2CPU_CHECKS_RACE) == Only{true, true, true, true, false});
  CHECK(OnlyBounds("", PTX2CPU_CHECKS_MEMORY) == Only{true, true, true, true, true});
  CHECK(OnlyBounds("", PTX2CPU_CHECKS_RACE | PTX2CPU_CHECKS_INIT) == Only(5, false));
  // Without a barrier the load meets the next thread's store here: both stay.
  CHECK(OnlyBounds("store i32 shared %mine, %v", PTX2CPU_CHECKS_RACE) ==
        Only{true, true, false, false, true, false});
  // What is written is not known.
  CHECK(OnlyBounds("%p = load i64 global %xi\n  store i32 global %p, %v", PTX2CPU_CHECKS_RACE) ==
        Only{false, true, true, false, false, false, false});
}

TEST_CASE("elements that each thread has to itself, and memory that only atomics access, cannot race",
          "[passes][checks]") {
  constexpr uint32_t kOwn = PTX2CPU_ACCESS_BOUNDS_ONLY | PTX2CPU_ACCESS_OWN_ELEMENTS;
  const auto last = [](const std::string& other) {
    return Forms(std::string(kText), other, PTX2CPU_CHECKS_RACE, "settle-checks").at(3);
  };
  // The fourth check is that of the access after these instructions, which compute y + 4 * index.
  const auto element = [](const std::string& index, const std::string& access) {
    return "%b = special i32 ctaid.x\n  %n = special i32 ntid.x\n  %first = mul i32 %b, %n\n  " + index +
           "\n  %long = sext i64 from i32 %i\n  %far = mul i64 %long, %four\n  %e = add i64 %x, %far\n  " +
           access;
  };
  const std::string store = "store i32 global %e, %w";
  CHECK((last("%z = load i64 param %base\n  store i32 global %z, %w") & PTX2CPU_ACCESS_BOUNDS_ONLY) == 0);
  // x is read at another index.
  CHECK((last(element("%i = add i32 %first, %tid", store)) & PTX2CPU_ACCESS_BOUNDS_ONLY) == 0);
  const auto of_y = [&](std::string text) { return text.replace(text.find("i64 %x"), 6, "i64 %u"); };
  const std::string another =
      "%10 = const i64 0x10\n  %uat = add i64 %base, %10\n  %u = load i64 param %uat\n  ";
  CHECK((last(another + of_y(element("%i = add i32 %first, %tid", store))) & kOwn) == kOwn);
  // Threads of different blocks have the same element, or threads of one block.
  CHECK((last(another + of_y(element("%i = add i32 %b, %tid", store))) & kOwn) == 0);
  CHECK((last(another + of_y(element("%i = add i32 %first, %n", store))) & kOwn) == 0);
  const std::string atomic = "%old2 = atomic i32 global relaxed gpu add %e, %w";
  CHECK((last(another + of_y(element("%i = add i32 %b, %tid", atomic))) & kOwn) ==
        PTX2CPU_ACCESS_BOUNDS_ONLY);
}

TEST_CASE("no pass removes a check", "[passes][checks]") {
  const auto first = Forms(std::string(kText), "", PTX2CPU_CHECKS_MEMORY, "insert-checks");
  CHECK(first.size() == 5);
  CHECK(Forms(std::string(kText), "", PTX2CPU_CHECKS_MEMORY, "") == first);
}
