// Every launch of the corpus through one engine, compared with the results recorded on a GPU.
#pragma once

#include <functional>
#include <string>

#include "lowering/compile.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "tools/harness/kernel_call.h"
#include "tools/record/manifest.h"

namespace ptx2cpu::corpus_test {

using Runner = std::function<Status(harness::KernelCall&)>;
// Called once per kernel; the runner gets a fresh module state for every call.
using Prepare = std::function<Result<Runner>(const lowering::PtxModule&, const std::string& kernel)>;

// The part of the corpus that an engine runs; with PTX2CPU_FULL_TESTS every engine runs all launches of all
// kernels.
struct CorpusPart {
  uint64_t most_threads = 0;  // launches with more are left out; 0: no limit
  uint32_t one_in = 1;        // kernels: this many engines share them
  uint32_t first = 0;         // which ones: those whose number mod one_in is this
  lowering::Tier tier =
      lowering::Tier::kAuto;  // forced: kernels that resumable warps do not run are left out
};
void CheckCorpus(const Prepare& prepare, CorpusPart part);

}  // namespace ptx2cpu::corpus_test
