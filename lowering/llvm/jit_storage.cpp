#include "lowering/llvm/jit_storage.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ptx2cpu::lowering {

namespace {
constexpr size_t kAlign = 256;  // as cudaMalloc
bool HasStorage(const ir::Variable& variable) {
  return variable.space == ir::Space::kGlobal || variable.space == ir::Space::kConst;
}
bool HoldsFunctions(const ir::Variable& variable) {
  return std::ranges::any_of(variable.relocations,
                             [](const auto& relocation) { return relocation.is_function; });
}
}  // namespace

void VariableStorage::FreeDeleter::operator()(std::byte* memory) const { std::free(memory); }

Result<std::vector<uint32_t>> VariableStorage::Provide(const ir::Module& module, const KernelLayout& layout) {
  std::vector<uint32_t> added;
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const ir::Variable& variable = module.variables[i];
    if (!HasStorage(variable) || address_.contains(variable.name) ||
        variable.linkage == ir::Variable::Linkage::kExtern)
      continue;
    if (HoldsFunctions(variable) && !layout.variables[i]) continue;
    size_t align = std::max<size_t>(variable.align, kAlign);
    size_t bytes = (std::max<size_t>(variable.size, 1) + align - 1) / align * align;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(align, bytes));
    if (memory == nullptr) {
      return Fail(ErrorCode::kLaunch, "no memory for variable " + variable.name + " of " +
                                          std::to_string(variable.size) + " bytes");
    }
    owned_.emplace_back(memory);
    std::memset(memory, 0, bytes);
    if (!variable.initial.empty())
      std::memcpy(memory, variable.initial.data(), std::min<size_t>(variable.initial.size(), variable.size));
    address_[variable.name] = memory;
    added.push_back(i);
  }
  return added;
}

Status VariableStorage::Relocate(const ir::Module& module, const std::vector<uint32_t>& variables,
                                 const KernelLayout& layout,
                                 const std::function<Result<uint64_t>(uint32_t)>& function_address) {
  for (uint32_t index : variables) {
    const ir::Variable& variable = module.variables[index];
    for (const auto& relocation : variable.relocations) {
      uint64_t target = static_cast<uint64_t>(relocation.addend);
      if (relocation.is_function) {
        target += TRY(function_address(relocation.index));
      } else if (const ir::Variable& other = module.variables[relocation.index]; HasStorage(other)) {
        std::byte* address = Find(other.name);
        if (address == nullptr)
          return Fail(ErrorCode::kNotFound, "variable " + other.name + " is declared but not defined");
        target += reinterpret_cast<uint64_t>(address);
      } else {
        target += layout.shared_offset[relocation.index];
      }
      target >>= relocation.shift;
      std::memcpy(Find(variable.name) + relocation.offset, &target, std::min<uint32_t>(relocation.size, 8));
    }
  }
  return {};
}

std::byte* VariableStorage::Find(std::string_view name) const {
  auto found = address_.find(name);
  return found == address_.end() ? nullptr : found->second;
}

bool VariableStorage::Bind(std::string_view name, std::byte* address) {
  return address_.emplace(std::string(name), address).second;
}

}  // namespace ptx2cpu::lowering
