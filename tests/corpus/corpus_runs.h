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

// Launches with more threads than this are left to PTX2CPU_FULL_TESTS; 0: no limit. An engine that forces resumable
// warps is not asked for kernels that need resumable lanes.
void CheckCorpus(const Prepare& prepare, uint64_t most_threads, lowering::Tier tier = lowering::Tier::kAuto);

}  // namespace ptx2cpu::corpus_test
