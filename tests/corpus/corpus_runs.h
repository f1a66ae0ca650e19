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

enum class Engine : uint8_t { kOracle, kOther };

// Launches with more threads than this are left to PTX2CPU_FULL_TESTS; 0: no limit. The oracle runs every kernel.
void CheckCorpus(const Prepare& prepare, uint64_t most_threads, Engine engine = Engine::kOther);

}  // namespace ptx2cpu::corpus_test
