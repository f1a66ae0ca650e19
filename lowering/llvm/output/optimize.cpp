#include "lowering/llvm/output/optimize.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

namespace ptx2cpu::lowering {

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, int level, const std::atomic<bool>* stop) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = tuning.LoopUnrolling =
      level >= 2;
  llvm::PassInstrumentationCallbacks callbacks;
  if (stop != nullptr) {
    callbacks.registerShouldRunOptionalPassCallback(
        [stop](llvm::StringRef, llvm::Any) { return !stop->load(std::memory_order_relaxed); });
  }
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  constexpr llvm::OptimizationLevel const* kLevels[] = {
      &llvm::OptimizationLevel::O0, &llvm::OptimizationLevel::O1, &llvm::OptimizationLevel::O2,
      &llvm::OptimizationLevel::O3};
  const llvm::OptimizationLevel& chosen = *kLevels[std::clamp(level, 0, 3)];
  llvm::ModulePassManager passes =
      level <= 0 ? builder.buildO0DefaultPipeline(chosen) : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}

Result<std::string> GenerateCode(llvm::Module& module, llvm::TargetMachine& machine,
                                 llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return Fail(ErrorCode::kUnsupported, "the target cannot write this kind of file");
  }
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace ptx2cpu::lowering
