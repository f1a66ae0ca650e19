#include "ir/interpret/find_thread.h"

#include "ir/interpret/private_memory.h"

namespace ptx2cpu::ir {

namespace {

constexpr uint64_t kMaxInstructions = 20'000'000;  // a second or two

constexpr uint64_t kUserBytes = uint64_t{1} << 47;

// x86-64 has 48 bits of addresses; the upper bits repeat the last of them.
bool IsCanonical(uint64_t address) { return address + kUserBytes < 2 * kUserBytes; }

// Copies of memory, except for the fault's address, which stays inaccessible.
class WatchedMemory final : public GlobalMemory {
 public:
  explicit WatchedMemory(uint64_t address) : address_(address), can_read_(memory_.CanRead(address)) {}

  std::byte* At(uint64_t address, uint32_t bytes, bool writes) override {
    if (Covers(address, bytes) && (writes || !can_read_)) return nullptr;
    return memory_.At(address, bytes);
  }
  bool Covers(uint64_t address, uint32_t bytes) const {
    return address_ - address < bytes || (address_ == 0 && !IsCanonical(address));
  }

 private:
  interpret::PrivateMemory memory_;
  const uint64_t address_;
  const bool can_read_;  // then the fault was a write
};

}  // namespace

std::optional<FaultingAccess> FindThread(const Module& module, const Function& kernel, ModuleStorage& storage,
                                         std::span<const std::byte> params, const FaultOfBlock& fault) {
  WatchedMemory memory(fault.address);
  BadAccess access;
  InterpretOptions options;
  options.grid = fault.grid;
  options.block = fault.block;
  if (fault.cluster.x * fault.cluster.y * fault.cluster.z > 1) options.cluster = fault.cluster;
  options.dynamic_shared_bytes = fault.dynamic_shared_bytes;
  options.instruction_limit = kMaxInstructions;
  options.print = [](std::string_view) {};
  options.memory = &memory;
  options.only_block = fault.place;
  options.bad_access = &access;
  if (Interpret(module, kernel, storage, params, options) || access.bytes == 0) return std::nullopt;
  switch (fault.outside_of) {
    case GuardedMemory::kNone:
      if (!memory.Covers(access.address, access.bytes)) return std::nullopt;
      break;
    case GuardedMemory::kShared:
      if (access.space != Space::kShared) return std::nullopt;
      break;
    case GuardedMemory::kLocal:
      if (access.space != Space::kLocal) return std::nullopt;
      break;
  }
  const bool is_global = fault.outside_of == GuardedMemory::kNone;
  return FaultingAccess{access.thread,
                        is_global && !IsCanonical(access.address) ? access.address : fault.address};
}

}  // namespace ptx2cpu::ir
