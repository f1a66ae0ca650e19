// The contents of a kernel's image besides the object. No LLVM type appears here.
#pragma once

#include <vector>

#include "ir/function.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "lowering/load/kernel_image.h"

namespace ptx2cpu::lowering {

// Everything except the object.
KernelImage DescribeKernel(const ir::Module& module, const ir::Function& kernel, const KernelLayout& layout);
// The images of the other kernels whose code is that of `image`, the first one's, in the order of
// ir::Function::entries; without the parts that all have in common (WithCommonOf).
std::vector<KernelImage> DescribeOthers(const ir::Module& module, const ir::Function& kernel,
                                        const KernelImage& image);
// The .global and .const variables of a module. Variables that wait for a kernel have no addresses here.
std::vector<VariableImage> DescribeVariables(const ir::Module& module);

}  // namespace ptx2cpu::lowering
