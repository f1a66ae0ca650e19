#include "tools/bench/growth.h"

#include <algorithm>

#include "ir/verify/verify.h"
#include "lowering/repetition.h"
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

Status MeasureCode(const ir::Module& module, const std::string& kernel, const CostOptions& options,
                   Costs& costs) {
  const auto jit = TRY(lowering::Jit::Create({.optimisation = options.optimisation,
                                              .lane_width = options.lane_width,
                                              .alignment = lowering::AlignmentChecks::kAssumed}));
  lowering::CompileTimes times;
  lowering::Jit::CompileOptions compile{.quick_from = options.quick_from, .times = &times};
  if (lowering::MayBeginSlowly(module, true)) compile.scalar_from = options.scalar_from;
  static_cast<void>(TRY(jit->Compile(module, kernel, compile)));
  costs.cost().llvm_instructions += times.instructions;
  costs.Add("llvm: emit", times.emit);
  costs.Add("llvm: optimise", times.optimise);
  costs.Add("llvm: code", times.generate);
  return {};
}

Status MeasureKernel(const lowering::PtxModule& ptx, const std::string& kernel, const CostOptions& options,
                     Costs& costs) {
  lowering::BuildOptions build;
  build.pipeline.verify_each = false;
  std::vector<lowering::StageTime> times;
  std::optional<ir::Module> built;
  if (options.shape) built = TRY(ptx.BuildForShape(kernel, build, *options.shape, &times));
  if (!built) built = TRY(ptx.Build(kernel, build, &times));
  const ir::Module& module = *built;
  for (const lowering::StageTime& time : times) costs.Add(time.stage, time.milliseconds);
  if (options.verify) {
    costs.Skip();
    TRY_STATUS(ir::Verify(module));
    costs.Lap("verify");
  }
  costs.cost().ir_instructions += InstructionsOf(module);
  if (options.code) TRY_STATUS(MeasureCode(module, kernel, options, costs));
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
  for (const std::string& kernel : ptx.Kernels()) {
    Status measured = MeasureKernel(ptx, kernel, options, costs);
    if (!measured && options.failed_kernels == nullptr) return Fail(std::move(measured).error());
    if (!measured) options.failed_kernels->push_back(kernel + ": " + measured.error().message);
  }
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
