// How the cost of compiling a text grows with its length, stage by stage.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/result.h"
#include "lowering/compile.h"
#include "lowering/llvm/output/jit.h"
#include "tools/bench/shapes.h"

namespace ptx2cpu::bench {

struct StageCost {
  std::string stage;
  double milliseconds = 0;  // of the thread's processor time
};

struct CompileCost {
  std::vector<StageCost> stages;   // in order; kernels of one text added up
  uint64_t ir_instructions = 0;    // after the last pass
  uint64_t llvm_instructions = 0;  // as given to LLVM
  double Total() const;
};

// As runtime/engine/module_options.h has it.
inline constexpr size_t kScalarFrom = 30, kQuickFrom = 2000;

struct CostOptions {
  bool code = true;  // also what LLVM does
  int optimisation = 3;
  uint32_t lane_width = 0;  // as in lowering::JitOptions
  bool verify = true;       // also the verifier of the IR, which programs do not wait for
  // As in lowering::Jit::CompileOptions.
  size_t scalar_from = lowering::Jit::CompileOptions::kNever, quick_from = scalar_from;
  std::optional<analysis::LaunchShape> shape = {};     // code for blocks of this shape, where that is better
  std::vector<std::string>* failed_kernels = nullptr;  // receives them; else the first ends the measurement
};

// Compiles all kernels of a text as a program's first launches of them do.
Result<CompileCost> MeasureCompile(const std::string& text, const CostOptions& options);

// The same for one kernel of a program that is linked from several texts.
Result<CompileCost> MeasureLinked(std::vector<lowering::PtxModule::Source> texts, const std::string& kernel,
                                  const CostOptions& options);

}  // namespace ptx2cpu::bench
