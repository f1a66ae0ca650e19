// What a kernel's image has besides the object. No LLVM type appears here.
#pragma once

#include <vector>

#include "ir/function.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "lowering/load/kernel_image.h"

namespace ptx2cpu::lowering {

// Everything except the object.
KernelImage DescribeKernel(const ir::Module& module, const ir::Function& kernel, const KernelLayout& layout);
// The images of kernels that are one code: of `image`, which is that of the first, for the others in the
// order of ir::Function::entries. Without what they have in common (WithCommonOf).
std::vector<KernelImage> DescribeOthers(const ir::Module& module, const ir::Function& kernel,
                                        const KernelImage& image);
// The .global and .const variables of a module. Those that wait for a kernel have no addresses here.
std::vector<VariableImage> DescribeVariables(const ir::Module& module);

}  // namespace ptx2cpu::lowering
