// Storage of module variables and the device heap.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir {

namespace {

struct FreeDeleter {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeDeleter>;

Memory AllocateZeroed(size_t bytes, size_t align) {
  align = std::max<size_t>(align, 256);  // as cudaMalloc; also satisfies every vector access
  size_t rounded = (std::max<size_t>(bytes, 1) + align - 1) / align * align;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(align, rounded));
  if (memory != nullptr) std::memset(memory, 0, rounded);
  return Memory(memory);
}

bool HasStorage(const Variable& variable) {
  return variable.space == Space::kGlobal || variable.space == Space::kConst;
}

}  // namespace

struct ModuleStorage::State {
  const Module& module;
  std::vector<Memory> owned;
  std::vector<std::byte*> address;
  std::map<std::byte*, std::pair<Memory, size_t>> heap;

  void Relocate(uint32_t variable) {
    for (const Variable::Relocation& relocation : module.variables[variable].relocations) {
      uint64_t target = static_cast<uint64_t>(relocation.addend);
      if (relocation.is_function) {
        target += interpret::AddressOfFunction(module.functions[relocation.index].name);
      } else if (const Variable& other = module.variables[relocation.index]; HasStorage(other)) {
        target += reinterpret_cast<uint64_t>(address[relocation.index]);
      } else {
        target += interpret::SymbolOffset(module, other);
      }
      target >>= relocation.shift;
      std::memcpy(address[variable] + relocation.offset, &target, std::min<uint32_t>(relocation.size, 8));
    }
  }
};

ModuleStorage::ModuleStorage(const Module& module) : state_(new State{module, {}, {}, {}}) {
  for (const Variable& variable : module.variables) {
    state_->owned.push_back(HasStorage(variable) ? AllocateZeroed(variable.size, variable.align) : Memory());
    std::byte* at = state_->owned.back().get();
    state_->address.push_back(at);
    if (at != nullptr && !variable.initial.empty()) {
      std::memcpy(at, variable.initial.data(), std::min<size_t>(variable.initial.size(), variable.size));
    }
  }
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    if (state_->address[i] != nullptr) state_->Relocate(i);
  }
}

ModuleStorage::~ModuleStorage() { delete state_; }

std::byte* ModuleStorage::Address(uint32_t variable) const { return state_->address[variable]; }

void ModuleStorage::Bind(uint32_t variable, std::byte* address) { state_->address[variable] = address; }

std::byte* ModuleStorage::Allocate(size_t bytes, size_t align) {
  if (bytes > (size_t{1} << 28)) return nullptr;  // CUDA's default heap has 8 MiB
  Memory memory = AllocateZeroed(bytes, std::max<size_t>(align, 16));
  std::byte* at = memory.get();
  if (at != nullptr) state_->heap.emplace(at, std::pair(std::move(memory), bytes));
  return at;
}

bool ModuleStorage::Free(std::byte* address) { return state_->heap.erase(address) != 0; }

bool ModuleStorage::InHeap(const std::byte* address, size_t bytes) const {
  auto after = state_->heap.upper_bound(const_cast<std::byte*>(address));
  if (after == state_->heap.begin()) return false;
  const auto& [base, block] = *std::prev(after);
  size_t offset = static_cast<size_t>(address - base);
  return offset <= block.second && bytes <= block.second - offset;
}

}  // namespace ptx2cpu::ir
