// insert-checks and settle-checks: each access has its check, which passes keep, and those that cannot race
// ask for bounds only.
#include <algorithm>

#include "runtime/abi/check.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// The loads and stores of shared memory have barriers in between, but for the last load.
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

TEST_CASE("no pass removes a check", "[passes][checks]") {
  const auto first = Forms(std::string(kText), "", PTX2CPU_CHECKS_MEMORY, "insert-checks");
  CHECK(first.size() == 5);
  CHECK(Forms(std::string(kText), "", PTX2CPU_CHECKS_MEMORY, "") == first);
}
