#include "tests/llvm/kernels.h"

#include <utility>

#include "lowering/compile.h"

namespace ptx2cpu::llvm_test {

BuiltKernel::BuiltKernel(ir::Module module)
    : module_(std::make_shared<const ir::Module>(std::move(module))) {}

BuiltKernel BuildKernel(const std::string& ptx, const std::string& kernel) {
  return BuildKernel(ptx, kernel, {});
}

BuiltKernel BuildKernel(const std::string& ptx, const std::string& kernel,
                        const lowering::BuildOptions& options) {
  auto parsed = lowering::PtxModule::Parse(ptx, kernel + ".ptx");
  if (!parsed) FAIL(parsed.error().Render());
  auto module = parsed->Build(kernel, options);
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

}  // namespace ptx2cpu::llvm_test
