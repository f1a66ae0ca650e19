#include "lowering/llvm/output/describe_kernel.h"

#include <algorithm>

#include "lowering/llvm/module/names.h"
#include "lowering/llvm/output/object.h"

namespace ptx2cpu::lowering {

namespace {

bool HasStorage(const ir::Variable& variable) {
  return variable.space == ir::Space::kGlobal || variable.space == ir::Space::kConst;
}

VariableImage WithoutAddresses(const ir::Module& module, const ir::Variable& variable) {
  VariableImage image;
  image.name = variable.name;
  image.size = variable.size;
  image.align = variable.align;
  image.is_extern = variable.linkage == ir::Variable::Linkage::kExtern;
  image.initial = variable.initial;
  image.waits_for_kernel = std::ranges::any_of(variable.relocations, [&](const auto& relocation) {
    return !relocation.is_function && !HasStorage(module.variables[relocation.index]);
  });
  return image;
}

void AddAddresses(const ir::Module& module, const ir::Variable& variable, const KernelLayout* layout,
                  VariableImage& image) {
  for (const auto& relocation : variable.relocations) {
    VariableImage::Address address{
        relocation.offset, std::min<uint32_t>(relocation.size, 8), relocation.shift, relocation.addend, {}};
    if (relocation.is_function) {
      address.symbol = IdentityName(module.functions[relocation.index].name);
    } else if (const ir::Variable& other = module.variables[relocation.index]; HasStorage(other)) {
      address.symbol = other.name;
    } else {
      address.addend += layout->shared_offset[relocation.index];  // a number in the block's window
    }
    image.addresses.push_back(std::move(address));
  }
}

// Adds the identities of all functions whose address is taken.
void AddIdentities(const ir::Module& module, std::vector<VariableImage>& images) {
  const std::vector<bool> targets = ir::IndirectTargets(module);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i]) continue;
    VariableImage& image = images.emplace_back();
    image.name = IdentityName(module.functions[i].name);
    image.size = image.align = 16;
    uint64_t identity = ir::FunctionIdentity(module.functions[i].name);
    for (; identity != 0; identity >>= 8) image.initial.push_back(static_cast<uint8_t>(identity));
  }
}

}  // namespace

std::vector<VariableImage> DescribeVariables(const ir::Module& module) {
  std::vector<VariableImage> images;
  for (const ir::Variable& variable : module.variables) {
    if (!HasStorage(variable)) continue;
    VariableImage& image = images.emplace_back(WithoutAddresses(module, variable));
    if (!image.waits_for_kernel) AddAddresses(module, variable, nullptr, image);
  }
  AddIdentities(module, images);
  return images;
}

std::vector<KernelImage> DescribeOthers(const ir::Module& module, const ir::Function& kernel,
                                        const KernelImage& image) {
  std::vector<KernelImage> others;
  for (size_t number = 1; number < kernel.entries.size(); ++number) {
    const ir::Function& other = module.functions[kernel.entries[number]];
    KernelImage& own = others.emplace_back();
    static_cast<KernelDescription&>(own) = image;
    DescribeDeclared(other, own);
    own.is_quick = image.is_quick;
    own.better_milliseconds = image.better_milliseconds;
    own.serves_all_shapes = image.serves_all_shapes;
    own.entry = EntryName(other, kernel.resumes);
    if (!own.points.empty()) own.points[0].ptx_line = other.at.ptx_line;
  }
  return others;
}

KernelImage DescribeKernel(const ir::Module& module, const ir::Function& kernel, const KernelLayout& layout) {
  KernelImage image;
  static_cast<KernelDescription&>(image) = layout;
  image.entry = EntryName(kernel);
  image.serves_all_shapes = !kernel.entries.empty();
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    if (!HasStorage(module.variables[i]) || !layout.variables[i]) continue;
    VariableImage& variable = image.variables.emplace_back(WithoutAddresses(module, module.variables[i]));
    AddAddresses(module, module.variables[i], &layout, variable);
  }
  AddIdentities(module, image.variables);
  image.ptx_name = module.name;
  image.source_files = module.source_files;
  return image;
}

}  // namespace ptx2cpu::lowering
