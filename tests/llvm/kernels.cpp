#include "tests/llvm/kernels.h"

namespace ptx2cpu::llvm_test {

ir::Module BuildKernel(const std::string& ptx, const std::string& kernel,
                       const lowering::BuildOptions& options) {
  auto parsed = lowering::PtxModule::Parse(ptx, kernel + ".ptx");
  if (!parsed) FAIL(parsed.error().Render());
  auto module = parsed->Build(kernel, options);
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

}  // namespace ptx2cpu::llvm_test
