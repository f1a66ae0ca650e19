// Copying blocks and restoring SSA form after them.
#include "lowering/passes/ssa_repair.h"

#include "ir/verify/verify.h"
#include "lowering/passes/block_editing.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// a -> shared, b -> shared; what `shared` defines is used after it, in a loop and after that.
const char* kText = R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %t = special i32 tid.x
  %zero = const i32 0x0
  %one = const i32 0x1
  %low = and i32 %t, %one
  %p = icmp i32 eq %low, %zero
  cond_br %p, ^a, ^b
^a:
  br ^shared(%t)
^b:
  br ^shared(%zero)
^shared(%x: i32):
  %y = add i32 %x, %one
  br ^loop(%zero)
^loop(%i: i32):
  %i2 = add i32 %i, %y
  %more = icmp i32 ult %i2, %t
  cond_br %more, ^loop(%i2), ^out
^out:
  %sum = add i32 %i2, %y
  %wide = zext i64 from i32 %t
  %two = const i32 0x2
  %offset = shl i64 %wide, %two
  %at = add i64 %data, %offset
  store i32 global %at, %sum
  ret
}
)";

}  // namespace

TEST_CASE("a copied block's values reach their uses through new parameters", "[passes]") {
  ir::Module reference = ParseModule(kText), module = reference;
  ir::Function& f = module.functions[0];
  ir::BlockId shared{3};
  REQUIRE(f.at_block(shared).params.size() == 1);
  lowering::Copies copies = lowering::CloneBlocks(f, {shared});
  REQUIRE(copies.blocks.size() == 1);
  CHECK(copies.values.size() == 2);
  f.inst(f.at_block({1}).insts.back()).edges[0].to = copies.blocks[0];
  std::vector<lowering::Versions> versions;
  for (auto [original, copy] : copies.values) versions.push_back({original, copy});
  std::vector<bool> outside(f.blocks.size(), true);
  outside[shared.index] = outside[copies.blocks[0].index] = false;
  CHECK_FALSE(ir::Verify(module, f));  // the copy's values do not reach the loop yet
  lowering::RepairSsa(f, versions, outside);
  Status valid = ir::Verify(module, f);
  if (!valid) FAIL(valid.error().Render() << ir::Print(module));
  CHECK(f.at_block({4}).params.size() == 2);  // the loop's counter and the one value it needs
  for (uint32_t threads : {1u, 33u, 64u}) {
    CHECK(RunKernel(module, f, threads, 0).data ==
          RunKernel(reference, reference.functions[0], threads, 0).data);
  }
}

TEST_CASE("a parameter that is the same over every edge goes, round loops too", "[passes]") {
  ir::Module module = ParseModule(R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %t = special i32 tid.x
  %one = const i32 0x1
  br ^loop(%t, %one)
^loop(%same: i32, %i: i32):
  %i2 = add i32 %i, %one
  %more = icmp i32 ult %i2, %same
  cond_br %more, ^loop(%same, %i2), ^out(%same)
^out(%x: i32):
  ret
}
)");
  ir::Function& f = module.functions[0];
  CHECK(lowering::DropRedundantParams(f));
  CHECK(f.at_block({1}).params.size() == 1);
  CHECK(f.at_block({2}).params.empty());
  CHECK(ir::Verify(module, f));
  CHECK_FALSE(lowering::DropRedundantParams(f));
}
