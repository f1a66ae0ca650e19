#include "lowering/load/variable_storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ptx2cpu::lowering {

namespace {
constexpr size_t kAlign = 256;  // as cudaMalloc
constexpr size_t kMappedFrom = size_t{64} << 10;
}  // namespace

VariableStorage::Memory::Memory(size_t bytes, size_t align) {
  if (bytes > SIZE_MAX / 2) return;
  if (bytes < kMappedFrom) {
    address_ = static_cast<std::byte*>(std::aligned_alloc(align, (bytes + align - 1) / align * align));
    if (address_ != nullptr) std::memset(address_, 0, bytes);
    return;
  }
  mapped_ = bytes + align;
  mapping_ =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) return;
  const auto begin = reinterpret_cast<uintptr_t>(mapping_);
  address_ = static_cast<std::byte*>(mapping_) + ((begin + align - 1) / align * align - begin);
}

VariableStorage::Memory::~Memory() {
  if (address_ == nullptr) return;
  if (mapped_ == 0)
    std::free(address_);
  else
    munmap(mapping_, mapped_);
}

Result<std::vector<const VariableImage*>> VariableStorage::Provide(
    const std::vector<VariableImage>& variables, bool with_kernel) {
  std::vector<const VariableImage*> added;
  for (const VariableImage& variable : variables) {
    if (variable.is_extern || (variable.waits_for_kernel && !with_kernel)) continue;
    Place& place = places_[variable.name];
    if (place.filled) continue;
    if (place.address == nullptr) {
      const size_t align = std::max<size_t>(variable.align, kAlign);
      auto memory = std::make_unique<Memory>(std::max<size_t>(variable.size, 1), align);
      place.address = memory->address();
      if (place.address == nullptr) {
        places_.erase(variable.name);
        return Fail(ErrorCode::kLaunch, "no memory for variable " + variable.name + " of " +
                                            std::to_string(variable.size) + " bytes");
      }
      owned_.push_back(std::move(memory));
    } else {
      std::memset(place.address, 0, variable.size);  // the caller's
    }
    const size_t given = std::min<size_t>(variable.initial.size(), variable.size);
    if (given != 0) std::memcpy(place.address, variable.initial.data(), given);
    place.filled = true;
    place.size = variable.size;
    added.push_back(&variable);
  }
  return added;
}

Status VariableStorage::Relocate(const std::vector<const VariableImage*>& variables) {
  for (const VariableImage* variable : variables) {
    std::byte* place = Find(variable->name);
    for (const VariableImage::Address& address : variable->addresses) {
      uint64_t target = static_cast<uint64_t>(address.addend);
      if (!address.symbol.empty()) {
        const std::byte* other = Find(address.symbol);
        if (other == nullptr)
          return Fail(ErrorCode::kNotFound, "variable " + address.symbol + " is declared but not defined");
        target += reinterpret_cast<uint64_t>(other);
      }
      target >>= address.shift;
      std::memcpy(place + address.offset, &target, address.size);
    }
  }
  return {};
}

std::byte* VariableStorage::Find(std::string_view name) const {
  auto found = places_.find(name);
  return found == places_.end() || !found->second.filled ? nullptr : found->second.address;
}

bool VariableStorage::Bind(std::string_view name, std::byte* address, bool filled) {
  return places_.emplace(std::string(name), Place{address, filled}).second;
}

std::vector<std::pair<std::string, std::span<std::byte>>> VariableStorage::All() const {
  std::vector<std::pair<std::string, std::span<std::byte>>> all;
  for (const auto& [name, place] : places_) {
    if (place.filled) all.emplace_back(name, std::span(place.address, place.size));
  }
  return all;
}

}  // namespace ptx2cpu::lowering
