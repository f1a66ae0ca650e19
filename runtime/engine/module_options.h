// Options for compiling the kernels of a module.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lowering/forms.h"
#include "lowering/llvm/module/emit_options.h"
#include "runtime/check/wanted.h"
#include "runtime/engine/cache/kernel_cache.h"

namespace ptx2cpu::rt {

struct ModuleOptions {
  bool contract = true;                     // the image's --fmad
  int optimisation = OptimisationWanted();  // 0..3
  bool line_info = true;                    // PTX lines of faults
  lowering::Tier tier = TierWanted();
  lowering::CollapseForm collapse = lowering::CollapseForm::kAuto;
  KernelCache* cache = KernelCache::Get();  // null: compile always
  bool quick_tier = QuickTierWanted();      // large kernels run at -O1 until -O3 is ready
  bool specialise = SpecialiseWanted();     // kernels that are launched often: code for their block shape
  lowering::AlignmentChecks alignment = AlignmentChecksWanted();
  uint32_t checks = check::WantedKinds();  // PTX2CPU_CHECKS_*: code that reports what it accesses
  uint32_t lane_width = 0;                 // as in lowering::JitOptions
  std::optional<lowering::MatrixSums> matrix_sums = {};  // none: MatrixSumsWanted
  std::string omit = lowering::PassesToOmit();           // as in lowering::CodeOptions

  // The sizes, in LLVM instructions, from which on kernels have quick code first. For scalar code: all
  // kernels that do more than return. The best code of the smallest takes 8 ms more, that of one with a loop
  // 20 ms (measured by tools/bench's `translation`).
  size_t scalar_from = 30;
  // For vectors: about a fifteenth of a second or more at -O3 (0.03 to 0.06 ms each, measured by
  // tests/cache/compile_times_benchmark.cpp; -O1 takes half of that or more).
  size_t quick_from = 2000;
  // In milliseconds: once the second kernel has taken longer, others are compiled before launches need them
  // (ahead.h).
  double ahead_from = 200;

  // Sets the options for launches in other orders (LaunchOptions::order): lanes run one by one and yield
  // before accesses. Each kernel has only one code, independent of shapes and time.
  void RunInAnyOrder();

  // From PTX2CPU_CHECK_ALIGNMENT: 1 checks each access, slowly; 0 checks only where lanes run one by one;
  // otherwise the checks cost little.
  static lowering::AlignmentChecks AlignmentChecksWanted();
  static int OptimisationWanted();     // PTX2CPU_OPT
  static lowering::Tier TierWanted();  // PTX2CPU_EXEC: kLanes with `lanes`, else kAuto
  static bool QuickTierWanted();       // false with PTX2CPU_QUICK=0 or PTX2CPU_OPT=0
  static bool SpecialiseWanted();      // false with PTX2CPU_SPECIALISE=0
};

}  // namespace ptx2cpu::rt
