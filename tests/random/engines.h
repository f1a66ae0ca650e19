// A kernel by every engine: the interpreter at any stage and order of threads, and machine code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lowering/compile.h"
#include "tools/harness/compiled_call.h"
#include "tools/record/vectors.h"

namespace ptx2cpu::random_test {

using Buffers = std::vector<std::vector<std::byte>>;  // what the kernel wrote, by argument

struct Engine {
  std::string name;
  // kUnsupported: the compiler refuses the kernel.
  std::function<Result<Buffers>(const lowering::PtxModule&, const rt::VectorRun&)> run;
};

Engine InterpretAfter(const std::string& stage, harness::Turns turns = {},
                      lowering::Tier tier = lowering::Tier::kAuto);  // "": the whole pipeline
// By code for the shape of the run's blocks.
Engine InterpretForBlock();
Engine CompiledForBlock(int optimisation, harness::VectorForm form = {});
// The interpreter after the pipeline; fails where the kernel cannot be built and emitted for one of these
// shapes.
Engine BuiltForShapes(std::vector<analysis::LaunchShape> shapes);
Engine Compiled(int optimisation, lowering::Tier tier = lowering::Tier::kAuto, harness::VectorForm form = {},
                unsigned workers = 1);

// Compiled ahead of time and loaded as a shared object.
Engine AsObject(int optimisation);

enum class Verdict : uint8_t { kSame, kRefused, kFailed, kDiffers };
struct Comparison {
  Verdict verdict = Verdict::kSame;
  std::string what;
};
Comparison Compare(const Engine& engine, const lowering::PtxModule& ptx, const rt::VectorRun& run,
                   const Buffers& expected);

// The `// run:` line of a text with one kernel.
Result<rt::VectorRun> RunOf(const std::string& text);

}  // namespace ptx2cpu::random_test
