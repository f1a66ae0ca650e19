#include "tests/passes/barrier_kernels.h"

namespace ptx2cpu::test {

ir::Module BarrierModule(const std::string& body) { return ParseModule(kBarrierPrologue + body + "}\n"); }

uint32_t CountBarriers(const ir::Module& module) {
  return CountInstructions(module.functions.back(),
                           [](const ir::Inst& inst) { return ir::IsBarrier(inst.op); });
}

ir::Module AfterInShape(const ir::Module& module, const std::string& pass,
                        std::optional<analysis::LaunchShape> shape) {
  ir::Module copy = module;
  lowering::PipelineOptions options;
  options.stop_after = pass;
  options.passes.launch = shape;
  Result<std::vector<lowering::PassTime>> done = lowering::RunPipeline(copy, options);
  if (!done) FAIL(done.error().Render());
  return copy;
}

void CheckSameMemory(const ir::Module& before, const ir::Module& after) {
  for (uint32_t threads : {1u, 31u, 33u, 64u, 100u}) {
    for (uint32_t n : {0u, 3u, 7u, 60u}) {
      Outcome expected = RunKernel(before, before.functions.back(), threads, n);
      if (!expected.status) FAIL(expected.status.error().Render());
      Outcome actual = RunKernel(after, after.functions.back(), threads, n);
      if (!actual.status) FAIL(actual.status.error().Render() << ir::Print(after));
      INFO(threads << " threads, n = " << n);
      if (actual.data != expected.data) FAIL("memory differs\n" << ir::Print(after));
    }
  }
}

}  // namespace ptx2cpu::test
