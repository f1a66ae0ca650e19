// PTX text of any kind through parser, matcher, translation, every pass with the verifier after it, and a
// short run in the interpreter before and after. Whatever the text is: no crash, no invalid IR.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ir/interpret/interpret.h"
#include "ir/verify/verify.h"
#include "lowering/compile.h"

using namespace ptx2cpu;

namespace {

constexpr size_t kMaxKernels = 3;
constexpr uint64_t kMaxInstructions = 20000;
constexpr size_t kMemory = 4096;

// Parameters all point into one zeroed buffer; anything else the kernel touches is a fault, not a crash.
struct Run {
  bool ended = false;
  std::vector<std::byte> memory;
};

Run RunKernel(const ir::Module& module) {
  Run run;
  run.memory.assign(kMemory, std::byte{0});
  const ir::Function& kernel = module.functions[0];
  if (kernel.param_bytes > 4096) return run;
  std::vector<std::byte> params(kernel.param_bytes);
  const std::byte* address = run.memory.data();
  for (const ir::Param& param : kernel.params) {
    if (param.size == sizeof address && param.offset + sizeof address <= params.size())
      std::memcpy(&params[param.offset], &address, sizeof address);
  }
  ir::ModuleStorage storage(module);
  ir::InterpretOptions options;
  options.block = {5, 1, 1};
  options.instruction_limit = kMaxInstructions;
  options.allowed = {std::span(run.memory)};
  options.print = [](std::string_view) {};
  run.ended = ir::Interpret(module, kernel, storage, params, options).has_value();
  return run;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 64 * 1024) return 0;
  auto ptx = lowering::PtxModule::Parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  if (!ptx) return 0;
  size_t count = 0;
  for (const std::string& kernel : ptx->Kernels()) {
    if (++count > kMaxKernels) break;
    lowering::BuildOptions options;
    options.pipeline.stop_after = "ir";
    auto simt = ptx->Build(kernel, options);
    if (!simt) {
      if (simt.error().code == ErrorCode::kInternal)
        std::fprintf(stderr, "%s", simt.error().Render().c_str()), std::abort();
      continue;
    }
    options.pipeline.stop_after.clear();
    auto collapsed = ptx->Build(kernel, options);
    if (!collapsed && collapsed.error().code == ErrorCode::kInternal)
      std::fprintf(stderr, "%s", collapsed.error().Render().c_str()), std::abort();
    RunKernel(*simt);
    if (collapsed) RunKernel(*collapsed);
  }
  return 0;
}
