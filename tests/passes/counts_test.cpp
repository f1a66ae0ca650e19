// insert-counts: the counters are the same before and after all other passes, and change nothing else.
#include <algorithm>
#include <filesystem>

#include "ir/verify/verify.h"
#include "tests/passes/kernel_run.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

constexpr uint32_t kThreads = 70, kWork = 9;

struct Counted {
  std::vector<uint64_t> counters;
  std::vector<uint32_t> data;
};

Result<ir::Module> WithCounts(const ir::Module& module, std::string_view pass) {
  ir::Module copy = module;
  lowering::PipelineOptions options;
  options.stop_after = std::string(pass);
  options.passes.counts = true;
  TRY(lowering::RunPipeline(copy, options));
  return copy;
}

Counted Run(const ir::Module& module) {
  Counted result;
  result.data.resize(kDataWords);
  for (uint32_t i = 0; i < kDataWords; ++i) result.data[i] = (i * 2654435761u) >> 20;
  std::byte params[16] = {};
  uint32_t* address = result.data.data();
  std::memcpy(params, &address, 8);
  std::memcpy(params + 8, &kWork, 4);
  ir::ModuleStorage storage(module);
  ir::InterpretOptions options;
  options.grid = {kGrid, 1, 1};
  options.block = {Threads(module.functions.back(), kThreads), 1, 1};
  const Status status = ir::Interpret(module, module.functions.back(), storage, params, options);
  if (!status) FAIL(status.error().Render());
  for (uint32_t number = 0; number < module.variables.size(); ++number) {
    const ir::Variable& variable = module.variables[number];
    if (!variable.name.starts_with("ptx2cpu.counts.")) continue;
    result.counters.resize(variable.size / sizeof(uint64_t));
    std::memcpy(result.counters.data(), storage.Address(number), variable.size);
  }
  return result;
}

}  // namespace

TEST_CASE("counters of blocks are the same before and after all passes, and the rest is unchanged",
          "[passes][counts]") {
  size_t compared = 0;
  Sample sample(5);
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/passes/kernels")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".ir") || name.starts_with("fault_") || name.starts_with("refused_")) continue;
    if (sample.Skips()) continue;
    INFO(name);
    const ir::Module module = ParseModule(ReadFile(entry.path()));
    const lowering::BlockCounters numbers = lowering::CountersOf(module);
    const auto first = WithCounts(module, "insert-counts"), last = WithCounts(module, "");
    REQUIRE(first);
    if (!last) FAIL(last.error().Render());
    REQUIRE(ir::Verify(*first));
    const Counted before = Run(*first), after = Run(*last);
    CHECK(before.counters.size() == numbers.count);
    const size_t kernel = module.functions.size() - 1;
    const uint32_t start = numbers.of_block[kernel][module.functions[kernel].entry.index];
    CHECK(before.counters[start] == kGrid * Threads(module.functions.back(), kThreads));
    // Which lanes meet is not defined: where a kernel asks for that, its threads may take other ways.
    const bool asks = std::ranges::any_of(module.functions.back().insts, [](const ir::Inst& inst) {
      return inst.op == ir::Opcode::kActiveMask;
    });
    if (!asks) CHECK(after.counters == before.counters);
    compared += !asks;
    CHECK(before.data == Run(module).data);
  }
  CHECK(compared > (IsQuick() ? 4 : 20));
}
