#include "runtime/engine/kernel_declaration.h"

#include <algorithm>

#include "runtime/engine/kernel_source.h"

namespace ptx2cpu::rt {

Result<KernelDeclaration> DeclarationOf(KernelSource& source, std::string_view kernel) {
  const lowering::PtxModule part = TRY(source.PartFor(kernel));
  lowering::BuildOptions translated;
  translated.pipeline.stop_after = "ir";
  const ir::Module module = TRY(part.Build(kernel, translated));
  const ir::Function& declared = module.functions[0];
  KernelDeclaration result;
  for (const ir::Param& param : declared.params) result.parameters.push_back({param.offset, param.size});
  std::ranges::copy(declared.max_threads, result.max_threads.begin());
  std::ranges::copy(declared.required_cluster, result.required_cluster.begin());
  return result;
}

}  // namespace ptx2cpu::rt
