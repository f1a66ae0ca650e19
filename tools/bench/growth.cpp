#include "tools/bench/growth.h"

#include <algorithm>

#include "ir/verify/verify.h"
#include "lowering/llvm/kernel/emit.h"
#include "lowering/llvm/module/target_machine.h"
#include "lowering/llvm/output/optimize.h"
#include "lowering/thread_clock.h"

namespace ptx2cpu::bench {

namespace {

class Costs {
 public:
  void Add(const std::string& stage, double milliseconds) {
    const auto known = std::ranges::find(cost_.stages, stage, &StageCost::stage);
    if (known == cost_.stages.end())
      cost_.stages.push_back({stage, milliseconds});
    else
      known->milliseconds += milliseconds;
  }
  void Lap(const std::string& stage) {
    const auto now = lowering::ThreadClock::now();
    Add(stage, std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  void Skip() { last_ = lowering::ThreadClock::now(); }
  CompileCost& cost() { return cost_; }

 private:
  CompileCost cost_;
  lowering::ThreadClock::time_point last_ = lowering::ThreadClock::now();
};

uint64_t InstructionsOf(const ir::Module& module) {
  uint64_t count = 0;
  for (const ir::Function& f : module.functions) {
    for (const ir::Block& block : f.blocks) count += block.removed ? 0 : block.insts.size();
  }
  return count;
}

Status MeasureCode(const ir::Module& module, const std::string& kernel, int optimisation, Costs& costs) {
  lowering::EmitOptions emit;
  emit.kernel = kernel;
  emit.target = TRY(lowering::ResolveTarget("native"));
  emit.storage = lowering::Storage::kExternal;
  llvm::LLVMContext context;
  const auto machine = TRY(lowering::CreateTargetMachine(emit.target, optimisation, true));
  costs.Skip();
  lowering::EmittedKernel emitted = TRY(lowering::Emit(context, module, emit));
  costs.Lap("llvm: emit");
  costs.cost().llvm_instructions += emitted.module->getInstructionCount();
  costs.Skip();
  lowering::Optimize(*emitted.module, *machine, optimisation);
  costs.Lap("llvm: optimise");
  static_cast<void>(
      TRY(lowering::GenerateCode(*emitted.module, *machine, llvm::CodeGenFileType::ObjectFile)));
  costs.Lap("llvm: code");
  return {};
}

Status MeasureKernel(const lowering::PtxModule& ptx, const std::string& kernel, const CostOptions& options,
                     Costs& costs) {
  lowering::BuildOptions build;
  build.pipeline.verify_each = false;
  std::vector<lowering::StageTime> times;
  const ir::Module module = TRY(ptx.Build(kernel, build, &times));
  for (const lowering::StageTime& time : times) costs.Add(time.stage, time.milliseconds);
  costs.Skip();
  TRY_STATUS(ir::Verify(module));
  costs.Lap("verify");
  costs.cost().ir_instructions += InstructionsOf(module);
  if (options.code) TRY_STATUS(MeasureCode(module, kernel, options.optimisation, costs));
  return {};
}

}  // namespace

double CompileCost::Total() const {
  double total = 0;
  for (const StageCost& stage : stages) total += stage.milliseconds;
  return total;
}

Result<CompileCost> MeasureCompile(const std::string& text, const CostOptions& options) {
  Costs costs;
  const lowering::PtxModule ptx = TRY(lowering::PtxModule::Parse(text, "shape.ptx"));
  costs.Lap("parse");
  for (const std::string& kernel : ptx.Kernels()) TRY_STATUS(MeasureKernel(ptx, kernel, options, costs));
  return costs.cost();
}

Result<CompileCost> MeasureLinked(std::vector<lowering::PtxModule::Source> texts, const std::string& kernel,
                                  const CostOptions& options) {
  Costs costs;
  const lowering::PtxModule ptx = TRY(lowering::PtxModule::Link(std::move(texts)));
  costs.Lap("parse");
  TRY_STATUS(MeasureKernel(ptx, kernel, options, costs));
  return costs.cost();
}

}  // namespace ptx2cpu::bench
