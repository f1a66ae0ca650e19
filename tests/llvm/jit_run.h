// One launch through the JIT, in the shape of the test harness.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "lowering/llvm/output/jit.h"
#include "runtime/entry/entry_point_list.h"
#include "runtime/launch/launch.h"
#include "tests/llvm/kernels.h"
#include "tools/harness/kernel_call.h"

namespace ptx2cpu::llvm_test {

inline std::span<const ptx2cpu_entry_point> EntryPoints() { return rt::EntryPoints(); }

// A Jit with one kernel; every Run starts from freshly initialised module variables.
class JitKernel {
 public:
  static Result<std::shared_ptr<JitKernel>> Create(const BuiltKernel& module,
                                                   lowering::JitOptions options = {});
  ~JitKernel();

  Status Run(harness::KernelCall& call, unsigned workers = 1);

  const lowering::CompiledKernel& kernel() const { return kernel_; }
  lowering::Jit& jit() { return *jit_; }
  const ir::Module& module() const { return *module_; }

 private:
  std::optional<BuiltKernel> module_;
  std::unique_ptr<lowering::Jit> jit_;
  lowering::CompiledKernel kernel_;
  std::vector<std::vector<std::byte>> initial_;
};

// Compiles and runs the text's entry `k`. A test whose kernel does not compile or run ends there.
using SharedKernel = std::shared_ptr<JitKernel>;
SharedKernel CompileText(const std::string& text, const lowering::JitOptions& options = {});
void RunOrFail(JitKernel& kernel, harness::KernelCall& call, unsigned workers = 1);
// A buffer that is read and written: `count` words, all different.
rt::Argument MixedWords(size_t count, size_t first = 1);

}  // namespace ptx2cpu::llvm_test
