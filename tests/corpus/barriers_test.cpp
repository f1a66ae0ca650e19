// The results of the passes on barriers, and of the choice of slots, on the corpus; kernels built for the
// shape of each launch, where more is known of addresses, must have a GPU's results.
#include <catch2/catch.hpp>
#include <set>

#include "tests/corpus/corpus_runs.h"

using namespace ptx2cpu;
using namespace ptx2cpu::corpus_test;

namespace {

struct Counts {
  uint32_t kernels = 0, barriers = 0, barriers_left = 0, loads = 0, loads_left = 0;
  uint64_t slots = 0, slot_bytes = 0, slots_each = 0, slot_bytes_each = 0;  // bytes for a warp
};

template <typename Predicate>
uint32_t Count(const ir::Function& f, Predicate&& counts) {
  uint32_t count = 0;
  for (const ir::Inst& inst : f.insts) count += inst.block.valid() && counts(inst);
  return count;
}

bool IsBlockBarrier(const ir::Inst& inst) { return inst.op == ir::Opcode::kBarrierBlock; }
bool IsSharedOrGlobalLoad(const ir::Inst& inst) {
  return inst.op == ir::Opcode::kLoad && inst.attrs.space != ir::Space::kParam &&
         inst.attrs.space != ir::Space::kConst;
}

Result<ir::Module> BuildFor(const lowering::PtxModule& ptx, const std::string& kernel,
                            const std::string& stage, std::optional<analysis::LaunchShape> shape,
                            bool by_cut = true) {
  lowering::BuildOptions options;
  options.pipeline.stop_after = stage;
  options.pipeline.passes.launch = shape;
  options.pipeline.passes.slots_by_cut = by_cut;
  return ptx.Build(kernel, options);
}

Status AddSlots(const ir::Module& module, uint64_t& slots, uint64_t& bytes) {
  for (const ir::Slot& slot : module.functions[0].slots) {
    ++slots;
    bytes += static_cast<uint64_t>(ir::Bytes(slot.type)) * (slot.shape == ir::Level::kLane ? 32 : 1);
  }
  return {};
}

Status AddCounts(const lowering::PtxModule& ptx, const std::string& kernel,
                 std::optional<analysis::LaunchShape> shape, Counts& counts) {
  const ir::Module before = TRY(BuildFor(ptx, kernel, "simplify", shape));
  const ir::Module forwarded = TRY(BuildFor(ptx, kernel, "forward-stores-across-barriers", shape));
  const ir::Module after = TRY(BuildFor(ptx, kernel, "remove-redundant-barriers", shape));
  ++counts.kernels;
  counts.barriers += Count(before.functions[0], IsBlockBarrier);
  counts.barriers_left += Count(after.functions[0], IsBlockBarrier);
  counts.loads += Count(before.functions[0], IsSharedOrGlobalLoad);
  counts.loads_left += Count(forwarded.functions[0], IsSharedOrGlobalLoad);
  TRY_STATUS(AddSlots(TRY(BuildFor(ptx, kernel, "", shape)), counts.slots, counts.slot_bytes));
  return AddSlots(TRY(BuildFor(ptx, kernel, "", shape, false)), counts.slots_each, counts.slot_bytes_each);
}

void Print(const char* what, const Counts& c) {
  std::printf(
      "%s, %u kernels: %u of %u barriers removed, %u of %u loads forwarded, slots %llu (%llu bytes a warp) "
      "by the "
      "cut, %llu (%llu) each for itself\n",
      what, c.kernels, c.barriers - c.barriers_left, c.barriers, c.loads - c.loads_left, c.loads,
      static_cast<unsigned long long>(c.slots), static_cast<unsigned long long>(c.slot_bytes),
      static_cast<unsigned long long>(c.slots_each), static_cast<unsigned long long>(c.slot_bytes_each));
}

}  // namespace

TEST_CASE("interpreted corpus built for the shape of each launch") {
  Counts any_shape, own_shape;
  std::set<std::string> counted;
  CheckCorpus(
      [&](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
        TRY_STATUS(AddCounts(ptx, kernel, std::nullopt, any_shape));
        return Runner([&, ptx, kernel](harness::KernelCall& call) -> Status {
          const analysis::LaunchShape shape{call.block.x, call.block.y, call.block.z};
          // A block of one thread needs no barrier.
          const bool several = call.block.x * call.block.y * call.block.z > 32;
          if (several && counted.insert(kernel).second) TRY_STATUS(AddCounts(ptx, kernel, shape, own_shape));
          const ir::Module module = TRY(BuildFor(ptx, kernel, "", shape));
          return harness::RunInterpreter(module, call);
        });
      },
      {.most_threads = 5000, .one_in = 2, .first = 1});
  Print("for any shape", any_shape);
  Print("for one launch", own_shape);
  if (std::getenv("PTX2CPU_KERNEL") != nullptr) return;
  CHECK(any_shape.barriers_left < any_shape.barriers);
  CHECK(own_shape.barriers_left < own_shape.barriers);
  CHECK(own_shape.loads_left < own_shape.loads);
  CHECK(any_shape.slot_bytes < any_shape.slot_bytes_each);
}
