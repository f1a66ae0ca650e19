// How the kernels of a module are compiled.
#pragma once

#include "lowering/compile.h"
#include "runtime/cache/kernel_cache.h"

namespace ptx2cpu::rt {

struct ModuleOptions {
  bool contract = true;    // the image's --fmad
  int optimisation = 3;    // 0..3
  bool line_info = true;   // PTX lines of faults
  lowering::Tier tier = lowering::Tier::kAuto;
  lowering::CollapseForm collapse = lowering::CollapseForm::kAuto;
  KernelCache* cache = KernelCache::Get();  // null: compile always
  bool quick_tier = QuickTierWanted();      // large kernels run at -O1 until -O3 is ready
  bool check_alignment = AlignmentChecksWanted();  // every access to global memory, slowly; else where it costs little

  static bool AlignmentChecksWanted();  // true with PTX2CPU_CHECK_ALIGNMENT=1
  static bool QuickTierWanted();  // false with PTX2CPU_QUICK=0
};

}  // namespace ptx2cpu::rt
