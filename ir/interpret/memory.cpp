// Memory: where an address leads, loads, stores, copies, address conversions. Atomics are in
// atomic.cpp.
#include <fmt/format.h>

#include <cstring>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

// A volatile access or an atomic may be a thread that spins for another one: it uses up the slice sooner.
constexpr uint64_t kSpinCost = 100;

constexpr uint64_t kNullPage = 4096;

bool Within(uint64_t address, uint32_t size, const std::byte* base, uint64_t bytes) {
  uint64_t offset = address - reinterpret_cast<uint64_t>(base);
  return offset < bytes && size <= bytes - offset;
}

bool Touches(uint64_t address, std::span<const std::byte> range) {
  return Within(address, 1, range.data(), range.size());
}

std::span<std::byte> LocalWindow(Machine& machine, const Thread& thread) {
  return machine.local.subspan(size_t{thread.index} * machine.local_stride, machine.local_stride);
}

std::string_view Verb(Access access) {
  constexpr std::string_view kVerbs[] = {"read", "write", "atomic access"};
  return kVerbs[static_cast<size_t>(access)];
}

std::unexpected<Error> OutOfBounds(const Step& s, Space space, uint64_t address, uint32_t size, Access access,
                                   std::string_view why) {
  if (BadAccess* bad = s.machine.options.bad_access) *bad = {s.thread.index, size, space, address};
  return s.Fault(
      fmt::format("{} of {} bytes at {} address {:#x}: {}", Verb(access), size, Name(space), address, why));
}

Result<std::byte*> LocateInWindow(Step& s, Space space, std::span<std::byte> window, uint64_t offset,
                                  uint32_t size, Access access) {
  if (offset < window.size() && size <= window.size() - offset) return window.data() + offset;
  std::string why = fmt::format("out of bounds, the {} window has {} bytes", Name(space), window.size());
  return OutOfBounds(s, space, offset, size, access, why);
}

// Is the range storage of a module variable? `writable`: whether it may be written.
bool InVariable(const Machine& m, uint64_t address, uint32_t size, bool* writable) {
  for (uint32_t i = 0; i < m.module.variables.size(); ++i) {
    const Variable& variable = m.module.variables[i];
    std::byte* base = m.storage.Address(i);
    if (base == nullptr || !Within(address, size, base, variable.size)) continue;
    *writable = variable.space != Space::kConst;
    return true;
  }
  return false;
}

Result<std::byte*> LocateReal(Step& s, Space space, uint64_t address, uint32_t size, Access access) {
  Machine& m = s.machine;
  auto* at = reinterpret_cast<std::byte*>(address);
  if (Machine* block = BlockOfShared(m, address)) {
    return LocateInWindow(s, Space::kShared, block->shared,
                          address - reinterpret_cast<uint64_t>(block->shared.data()), size, access);
  }
  if (Touches(address, m.local)) {
    std::span<std::byte> own = LocalWindow(m, s.thread);
    if (!Touches(address, own))
      return OutOfBounds(s, space, address, size, access, "local memory of another thread");
    return LocateInWindow(s, Space::kLocal, own, address - reinterpret_cast<uint64_t>(own.data()), size,
                          access);
  }
  bool writable = false, own = false;
  const std::span<const std::byte> workspace = m.cluster.grid_workspace;
  if (Within(address, size, m.params.data(), m.params.size())) {
    own = true;
  } else if (Within(address, size, workspace.data(), workspace.size())) {
    own = writable = true;
  }
  const bool found = own || InVariable(m, address, size, &writable);
  if (found && !writable && access != Access::kRead)
    return OutOfBounds(s, space, address, size, access, "read-only memory");
  if (own || m.storage.InHeap(at, size)) return at;
  if (m.options.memory != nullptr) {
    if (std::byte* const place = m.options.memory->At(address, size, access != Access::kRead)) return place;
    return OutOfBounds(s, space, address, size, access, "this address is in no memory");
  }
  if (found) return at;
  for (std::span<std::byte> range : m.options.allowed) {
    if (Within(address, size, range.data(), range.size())) return at;
  }
  if (m.options.allowed.empty() && address >= kNullPage) return at;
  return OutOfBounds(s, space, address, size, access, "this address is in no memory of the launch");
}

}  // namespace

Result<std::byte*> Locate(Step& s, Space space, uint64_t address, uint32_t size, uint32_t align,
                          Access access) {
  if (align > 1 && address % align != 0) {
    return s.Fault(fmt::format("misaligned {} of {} bytes at {} address {:#x}: not a multiple of {}",
                               Verb(access), size, Name(space), address, align));
  }
  if (space == Space::kShared) return LocateInWindow(s, space, s.machine.shared, address, size, access);
  if (space == Space::kLocal) {
    return LocateInWindow(s, space, LocalWindow(s.machine, s.thread), address, size, access);
  }
  return LocateReal(s, space, address, size, access);
}

Bits128 Fetch(const std::byte* at, Type type) {
  Bits128 bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(Bytes(type)));
  return bits & MaskOf(Bits(type));
}

void Put(std::byte* at, Type type, Bits128 bits) { std::memcpy(at, &bits, static_cast<size_t>(Bytes(type))); }

namespace {

void CountSpin(Step& s) {
  if (s.inst.attrs.order != MemoryOrder::kWeak || s.Has(kVolatile)) {
    s.thread.budget -= std::min(s.thread.budget, kSpinCost);
  }
}

Result<std::byte*> LocateVector(Step& s, size_t count, Access access) {
  uint32_t size = static_cast<uint32_t>(Bytes(s.inst.type)) * static_cast<uint32_t>(count);
  uint32_t align = s.inst.attrs.align != 0 ? s.inst.attrs.align : size;
  return Locate(s, s.inst.attrs.space, s.Operand64(0), size, align, access);
}

}  // namespace

Status ExecuteLoad(Step& s) {
  CountSpin(s);
  std::byte* at = TRY(LocateVector(s, s.inst.results.size(), Access::kRead));
  for (size_t i = 0; i < s.inst.results.size(); ++i) {
    s.Return(Fetch(at + i * static_cast<size_t>(Bytes(s.inst.type)), s.inst.type), i);
  }
  return {};
}

Status ExecuteStore(Step& s) {
  size_t count = s.inst.operands.size() - 1;
  std::byte* at = TRY(LocateVector(s, count, Access::kWrite));
  for (size_t i = 0; i < count; ++i) {
    Put(at + i * static_cast<size_t>(Bytes(s.inst.type)), s.inst.type, s.Operand(i + 1));
  }
  return {};
}

Status ExecuteFence(Step& s) { return {}; }
// The interpreter has checks of its own.
Status ExecuteCheckAccess(Step& s) { return {}; }
Status ExecuteCheckSync(Step& s) { return {}; }

Status ExecuteCopyAsync(Step& s) {
  uint32_t bytes = s.Operand32(2), source_bytes = std::min(s.Operand32(3), bytes);
  std::byte* to = TRY(Locate(s, Space::kShared, s.Operand64(0), bytes, bytes, Access::kWrite));
  if (source_bytes != 0) {
    std::byte* from = TRY(Locate(s, Space::kGlobal, s.Operand64(1), source_bytes, bytes, Access::kRead));
    std::memcpy(to, from, source_bytes);
  }
  std::memset(to + source_bytes, 0, bytes - source_bytes);
  return {};
}

namespace {

constexpr uint64_t kOffsetMask = (uint64_t{1} << kClusterRankShift) - 1;

// Where no block has the rank, an address in the null page, which nothing can access.
uint64_t ClusterAddress(Machine& m, uint64_t address) {
  const uint64_t offset = address & kOffsetMask, number = address >> kClusterRankShift;
  if (number > m.cluster.blocks.size()) return 0;
  Machine& block = number == 0 ? m : *m.cluster.blocks[number - 1];
  return reinterpret_cast<uint64_t>(block.shared.data()) + offset;
}

uint64_t ClusterOffset(Machine& m, uint64_t address) {
  Machine* block = BlockOfShared(m, address);
  if (block == nullptr) return ~uint64_t{0};
  const uint64_t offset = address - reinterpret_cast<uint64_t>(block->shared.data());
  return block == &m ? offset : offset | uint64_t{block->cluster_rank + 1} << kClusterRankShift;
}

// Where offset 0 of a space lies in the generic address space.
uint64_t WindowBase(Step& s) {
  switch (s.inst.attrs.space) {
    case Space::kShared:
      return reinterpret_cast<uint64_t>(s.machine.shared.data());
    case Space::kLocal:
      return reinterpret_cast<uint64_t>(LocalWindow(s.machine, s.thread).data());
    case Space::kGeneric:
    case Space::kGlobal:
    case Space::kConst:
    case Space::kParam:
    case Space::kSharedCluster:
      break;
  }
  return 0;
}
}  // namespace

Status ExecuteToGeneric(Step& s) {
  const bool cluster = s.inst.attrs.space == Space::kSharedCluster;
  s.Return(cluster ? ClusterAddress(s.machine, s.Operand64(0)) : s.Operand64(0) + WindowBase(s));
  return {};
}

Status ExecuteFromGeneric(Step& s) {
  const bool cluster = s.inst.attrs.space == Space::kSharedCluster;
  s.Return(cluster ? ClusterOffset(s.machine, s.Operand64(0)) : s.Operand64(0) - WindowBase(s));
  return {};
}

Status ExecuteIsSpace(Step& s) {
  Machine& m = s.machine;
  uint64_t address = s.Operand64(0);
  bool shared = Touches(address, m.shared), local = Touches(address, m.local), writable = true;
  bool constant = InVariable(m, address, 1, &writable) && !writable;
  bool cluster = BlockOfShared(m, address) != nullptr;
  switch (s.inst.attrs.space) {
    case Space::kSharedCluster:
      s.Return(cluster);
      break;
    case Space::kShared:
      s.Return(shared);
      break;
    case Space::kLocal:
      s.Return(local);
      break;
    case Space::kConst:
      s.Return(constant);
      break;
    case Space::kParam:
      s.Return(Touches(address, m.params));
      break;
    case Space::kGeneric:
    case Space::kGlobal:
      s.Return(!cluster && !local && !constant);
      break;  // global, which holds the parameters too
  }
  return {};
}

Result<std::string> ReadText(Step& s, uint64_t address) {
  constexpr size_t kLimit = 65536;
  std::string text;
  while (text.size() < kLimit) {
    std::byte* at = TRY(Locate(s, Space::kGeneric, address + text.size(), 1, 1, Access::kRead));
    if (*at == std::byte{0}) return text;
    text += static_cast<char>(*at);
  }
  return text;
}

}  // namespace ptx2cpu::ir::interpret
