// A launch of compiled code: the kernel is translated once, launched any number of times, each on fresh
// module variables.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lowering/llvm/output/jit.h"
#include "tools/harness/kernel_call.h"

namespace ptx2cpu::harness {

class CompiledCall {
 public:
  // `module` is the result of lowering::PtxModule::Build: functions[0] the Collapsed kernel.
  static Result<CompiledCall> Make(std::shared_ptr<const ir::Module> module,
                                   lowering::JitOptions options = {});
  Status Run(KernelCall& call, unsigned max_workers = 0);

 private:
  Status Compile();
  std::shared_ptr<const ir::Module> module_;
  lowering::JitOptions options_;
  std::unique_ptr<lowering::Jit> jit_;
  lowering::CompiledKernel code_;
  bool has_variables_ = false;
  bool used_ = false;
};

// Code for other vectors than this machine's usual ones: a width (0: chosen), and a processor that the code
// is held to ("": this one).
struct VectorForm {
  uint32_t width = 0;
  const char* target = "";
};
inline constexpr std::array<VectorForm, 9> kVectorForms = {{{1, ""},
                                                            {4, ""},
                                                            {8, ""},
                                                            {16, ""},
                                                            {64, ""},
                                                            {0, "x86-64-v3"},
                                                            {32, "x86-64-v3"},
                                                            {0, "x86-64-v2"},
                                                            {4, "x86-64-v2"}}};
// On a machine that lacks the processor's features: its own code of that width.
Result<lowering::JitOptions> OptionsFor(const VectorForm& form, int optimisation);
std::string NameOf(const VectorForm& form);

// Runs a kernel descriptor, whatever made its code.
Status RunDescriptor(const ptx2cpu_kernel& kernel, const std::vector<ir::Param>& params, KernelCall& call,
                     unsigned max_workers);

}  // namespace ptx2cpu::harness
