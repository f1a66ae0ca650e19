// order-rows: which loads take the order of their addresses, and which are a region of their own.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

ir::Module Kernel(const std::string& body, uint32_t threads = 64) {
  ir::Module module = BarrierModule("  %last = const i32 0x1f\n" + body);
  ir::Function& f = module.functions.back();
  f.required_threads[0] = threads, f.required_threads[1] = f.required_threads[2] = 1;
  return module;
}

// %x<k>: the element k rows after the thread's own, which is %v; in the order of `rows`. %sum is made of
// them.
std::string Rows(const std::vector<int>& rows, const std::string& between = "") {
  std::string text = "  %row = shl i32 %ntid, %two\n  %row64 = zext i64 from i32 %row\n";
  for (int k : rows) {
    const std::string n = std::to_string(k);
    text += "  %k" + n + " = const i64 " + n + "\n  %far" + n + " = mul i64 %row64, %k" + n + "\n  %at" + n +
            " = add i64 %mine, %far" + n + "\n  %x" + n + " = load i32 global %at" + n + "\n" + between;
  }
  std::string last = "%zero";
  for (int k : rows) {
    const std::string n = std::to_string(k);
    text += "  %twice" + n + " = mul i32 " + last + ", %three\n  %s" + n + " = add i32 %twice" + n + ", %x" +
            n + "\n";
    last = "%s" + n;
  }
  return text + "  %sum = add i32 " + last + ", %zero\n";
}
const std::string kShuffle = "  %pair, %fine = shuffle i32 bfly %sum, %one, %last, %full\n";
const std::string kStore = "  %mixed = sub i32 %pair, %sum\n  store i32 global %mine, %mixed\n  ret\n";

ir::Module Ordered(const ir::Module& module) {
  Result<ir::Module> after = After(module, "order-rows");
  if (!after) FAIL(after.error().Render());
  return *std::move(after);
}

// The numbers that the rows' addresses are made with, in the order of their loads.
std::vector<uint64_t> Order(const ir::Module& module) {
  const ir::Function& f = module.functions.back();
  std::vector<uint64_t> numbers;
  for (ir::InstId id : f.at_block(f.entry).insts) {
    const ir::Inst& load = f.at_inst(id);
    if (load.op != ir::Opcode::kLoad || load.attrs.space != ir::Space::kGlobal || load.attrs.flags != 0)
      continue;
    const ir::Inst& at = f.at_inst(f.at_value(load.operands[0]).def);
    const ir::InstId far = f.at_value(at.operands[1]).def;
    if (!far.valid() || f.at_inst(far).op != ir::Opcode::kMul) continue;
    numbers.push_back(f.at_inst(f.at_value(f.at_inst(far).operands[1]).def).attrs.bits);
  }
  return numbers;
}

void CheckSame(const ir::Module& module) {
  const uint32_t threads = module.functions.back().required_threads[0];
  const Outcome before = RunKernel(module, module.functions.back(), threads, 0, 1);
  REQUIRE(before.status);
  Result<ir::Module> all = After(module, "merge-slots");
  if (!all) FAIL(all.error().Render());
  for (const ir::Module& after : {Ordered(module), *all}) {
    const Outcome same = RunKernel(after, after.functions.back(), threads, 0, 1);
    if (!same.status) FAIL(same.status.error().Render());
    CHECK(same.data == before.data);
  }
}

}  // namespace

TEST_CASE("rows are loaded in the order of their addresses, apart from warp operations", "[passes][rows]") {
  const ir::Module module = Kernel(Rows({2, 1, 3}) + kShuffle + kStore);
  CHECK(Order(Ordered(module)) == std::vector<uint64_t>{1, 2, 3});
  CHECK(CountBarriers(Ordered(module)) == CountBarriers(module) + 1);
  CheckSame(module);
}

TEST_CASE("rows without warp operations need no region of their own", "[passes][rows]") {
  const ir::Module module = Kernel(Rows({3, 1, 2}) + "  store i32 global %mine, %sum\n  ret\n");
  CHECK(Order(Ordered(module)) == std::vector<uint64_t>{1, 2, 3});
  CHECK(CountBarriers(Ordered(module)) == CountBarriers(module));
  CheckSame(module);
}

TEST_CASE("loads that are not rows of the block stay", "[passes][rows]") {
  const ir::Module gap = Kernel(Rows({3, 1}) + kShuffle + kStore);
  CHECK(Order(Ordered(gap)) == std::vector<uint64_t>{3, 1});
  CHECK(CountBarriers(Ordered(gap)) == CountBarriers(gap));
  const ir::Module store = Kernel(Rows({2, 1}, "  store i32 global %mine, %tid\n") + kShuffle + kStore);
  CHECK(Order(Ordered(store)) == std::vector<uint64_t>{2, 1});
  CheckSame(store);
}
