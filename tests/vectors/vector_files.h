// What the vector tests of all engines share: the files, comparing with records, one loop over runs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ir/result.h"
#include "lowering/compile.h"
#include "tools/harness/kernel_call.h"
#include "tools/record/vectors.h"

namespace ptx2cpu::vectors_test {

// tests/ptx/*.ptx, sorted; only the one named by PTX2CPU_VECTOR (a stem) while somebody works on it.
std::vector<std::filesystem::path> VectorFiles();

// The tier to force: lanes for a kernel that warps which suspend do not run.
lowering::Tier TierFor(const lowering::PtxModule& ptx, const std::string& kernel, lowering::Tier wanted);
// Whether any kernel of the file has a barrier or a warp operation.
bool LetsThreadsWait(const std::filesystem::path& path);

// Differences of one run from expectations and the GPU record; empty when all is well or nothing is recorded.
std::vector<std::string> Compare(const rt::VectorRun& run, const harness::KernelCall& call,
                                 const std::optional<rt::VectorRecord>& record);

// Runs every vector of a file in one engine. `prepare` is called once per kernel and gives the function that
// runs a call; Catch checks fail with at most three messages per file.
using Runner = std::function<Status(harness::KernelCall&)>;
using Prepare = std::function<Result<Runner>(const lowering::PtxModule&, const std::string& kernel)>;
void CheckVectors(const std::filesystem::path& path, const Prepare& prepare);

}  // namespace ptx2cpu::vectors_test
