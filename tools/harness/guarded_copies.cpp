#include "tools/harness/guarded_copies.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace ptx2cpu::harness {

namespace {
constexpr size_t kAlign = 16;  // of a buffer: the widest access
}  // namespace

GuardedCopies::GuardedCopies(KernelCall& call) : call_(call) {
  if (!call.guarded) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const rt::Argument& argument : call.arguments) {
    addresses_.push_back(nullptr);
    if (!argument.IsBuffer()) continue;
    const size_t bytes = (argument.data.size() + kAlign - 1) / kAlign * kAlign;
    const size_t inside = (bytes + page - 1) / page * page, whole = inside + 2 * page;
    void* mapping = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapping != MAP_FAILED, "no memory for a buffer");
    auto* first = static_cast<std::byte*>(mapping) + page;
    CHECK(mprotect(first, inside, PROT_READ | PROT_WRITE) == 0, "no memory for a buffer");
    mappings_.emplace_back(static_cast<std::byte*>(mapping), whole);
    addresses_.back() = first + inside - bytes;
    std::ranges::copy(argument.data, addresses_.back());
  }
}

GuardedCopies::~GuardedCopies() {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    std::vector<std::byte>& data = call_.arguments[i].data;
    if (addresses_[i] != nullptr) std::copy_n(addresses_[i], data.size(), data.begin());
  }
  for (const std::span<std::byte> mapping : mappings_) munmap(mapping.data(), mapping.size());
}

}  // namespace ptx2cpu::harness
