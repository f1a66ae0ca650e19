#include "tests/passes/kernel_run.h"

namespace ptx2cpu::test {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

ir::Module ParseModule(const std::string& text) {
  Result<ir::Module> module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

uint32_t Threads(const ir::Function& kernel, uint32_t threads) {
  for (const ir::Inst& inst : kernel.insts) {
    if (inst.block.valid() && ir::AccessesMemory(inst.op)) return (threads + 31) / 32 * 32;
  }
  return threads;
}

ir::Function& Kernel(ir::Module& module) {
  for (ir::Function& f : module.functions) {
    if (f.is_kernel) return f;
  }
  FAIL("no kernel");
  return module.functions[0];
}

Outcome RunKernel(const ir::Module& module, const ir::Function& kernel, std::array<uint32_t, 3> block,
                  uint32_t n, uint32_t grid, uint8_t fill) {
  Outcome outcome;
  outcome.data.resize(kDataWords);
  for (uint32_t i = 0; i < kDataWords; ++i) outcome.data[i] = (i * 2654435761u) >> 20;
  std::byte params[16] = {};
  uint32_t* address = outcome.data.data();
  std::memcpy(params, &address, 8);
  std::memcpy(params + 8, &n, 4);
  ir::ModuleStorage storage(module);
  ir::InterpretOptions options;
  options.grid = {grid, 1, 1};
  options.block = {block[0], block[1], block[2]};
  options.instruction_limit = 20'000'000;
  options.fill = fill;
  outcome.status = ir::Interpret(module, kernel, storage, params, options);
  return outcome;
}

Outcome RunKernel(const ir::Module& module, const ir::Function& kernel, uint32_t threads, uint32_t n,
                  uint32_t grid, uint8_t fill) {
  return RunKernel(module, kernel, std::array{threads, 1u, 1u}, n, grid, fill);
}

Result<ir::Module> After(const ir::Module& module, std::string_view pass, lowering::CollapseForm form) {
  ir::Module copy = module;
  lowering::PipelineOptions options;
  options.stop_after = std::string(pass);
  options.passes.collapse = form;
  options.passes.tier = lowering::Tier::kWarp;
  TRY(lowering::RunPipeline(copy, options));
  return copy;
}

Result<ir::Module> AfterTier(const ir::Module& module, lowering::Tier tier, std::string_view pass) {
  ir::Module copy = module;
  lowering::PipelineOptions options;
  options.stop_after = std::string(pass);
  options.passes.tier = tier;
  TRY(lowering::RunPipeline(copy, options));
  return copy;
}

Result<std::set<std::string>> PassesThatChange(const ir::Module& module, lowering::Tier tier) {
  ir::Module copy = module;
  std::set<std::string> names;
  lowering::PipelineOptions options;
  options.passes.tier = tier;
  options.dump_after = {"all"};
  options.dump = [&](std::string_view pass, std::string_view) { names.emplace(pass); };
  TRY(lowering::RunPipeline(copy, options));
  return names;
}

}  // namespace ptx2cpu::test
