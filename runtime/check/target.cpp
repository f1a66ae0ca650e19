// Where the bytes of an access are, and whether they are all inside what the program allocated.
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "runtime/check/block_check.h"
#include "runtime/check/memory.h"
#include "runtime/check/written_bytes.h"

namespace ptx2cpu::rt::check {

namespace {

// Who answers for allocations, and how many have answered before.
struct KnownSource {
  MemorySource memory;
  uint64_t number = 0;
  uint64_t version() const { return (number << 48) + memory.version(); }
};
KnownSource source;

// The allocation that this thread found last: kernels stay in a few.
struct Recent {
  uint64_t version = ~uint64_t{0};
  MemoryRange range;
};
thread_local Recent recent[4];
thread_local uint32_t next_recent = 0;

bool Holds(const MemoryRange& range, uint64_t address, uint64_t bytes) {
  const uint64_t at = address - range.base;
  const bool inside = at < range.bytes && bytes <= range.bytes - at;
  return inside && (range.pitch == 0 || at % range.pitch + bytes <= range.width);
}

MemoryRange RangeOf(const uint8_t* base, size_t bytes) { return {reinterpret_cast<uintptr_t>(base), bytes}; }

bool Inside(const uint8_t* base, uint64_t extent, uint64_t address) {
  return base != nullptr && address - reinterpret_cast<uint64_t>(base) < extent;
}

bool InRecentAllocation(uint64_t address, uint64_t bytes, uint64_t version, MemoryRange& holder) {
  for (const Recent& known : recent) {
    if (known.version != version || !Holds(known.range, address, bytes)) continue;
    holder = known.range;
    return true;
  }
  return false;
}

bool InAllocation(uint64_t address, uint64_t bytes, MemoryRange& holder) {
  if (!source.memory.find) return true;
  const uint64_t version = source.version();
  if (InRecentAllocation(address, bytes, version, holder)) return true;
  const auto range = source.memory.find(address);
  if (!range) return false;
  recent[next_recent++ % 4] = {version, *range};
  if (!Holds(*range, address, bytes)) return false;
  holder = *range;
  return true;
}

Target InWindow(Target::Memory memory, const uint8_t* base, uint64_t extent, uint64_t offset,
                uint64_t bytes) {
  Target target;
  target.memory = memory;
  target.offset = offset;
  target.real = reinterpret_cast<uint64_t>(base) + offset;
  target.inside = offset <= extent && bytes <= extent - offset;
  return target;
}

// Parameters, the workspace of grid barriers, blocks of device malloc, allocations of the host.
bool IsKnown(const LaunchCheck& launch, const AccessSite& site, MemoryRange& holder) {
  const uint64_t address = site.address;
  const ptx2cpu_block& block = site.block;
  const std::array windows = {RangeOf(block.params, launch.parameter_bytes),
                              RangeOf(block.grid_workspace, PTX2CPU_GRID_WORKSPACE_BYTES)};
  for (const MemoryRange& window : windows) {
    if (window.base == 0 || address - window.base >= window.bytes) continue;  // not where it begins
    holder = window;
    return Holds(window, address, site.bytes);
  }
  if (const auto found = launch.heap->Find(reinterpret_cast<const void*>(address)))
    return Holds(RangeOf(reinterpret_cast<const uint8_t*>(found->base), found->bytes), address, site.bytes);
  return InAllocation(address, site.bytes, holder) || (launch.holds && launch.holds(address, site.bytes));
}

Target OfReal(const LaunchCheck& launch, const AccessSite& site) {
  const ptx2cpu_block& block = site.block;
  const uint64_t address = site.address;
  // Most accesses. Windows and blocks of the device's heap lie in no allocation of the source.
  if (MemoryRange holder;
      source.memory.find && InRecentAllocation(address, site.bytes, source.version(), holder))
    return {Target::Memory::kGlobal, address, 0, true, holder};
  if (Inside(block.shared, block.shared_bytes, address)) {
    Target target = InWindow(Target::Memory::kShared, block.shared, block.shared_bytes,
                             address - reinterpret_cast<uint64_t>(block.shared), site.bytes);
    target.holder = {reinterpret_cast<uintptr_t>(block.shared), block.shared_bytes};
    return target;
  }
  const uint64_t locals = block.local_stride * block.thread_padded;
  if (Inside(block.local, locals, address)) {
    const uint8_t* own = block.local + site.thread * block.local_stride;
    return InWindow(Target::Memory::kLocal, own, block.local_stride,
                    address - reinterpret_cast<uint64_t>(own), site.bytes);
  }
  Target target;
  target.real = address;
  for (uint32_t rank = 0; rank < block.cluster_nctarank; ++rank) {
    if (!Inside(block.cluster_shared[rank], block.shared_bytes, address)) continue;
    target.memory = Target::Memory::kOther;
    target.inside =
        site.bytes <= block.shared_bytes - (address - reinterpret_cast<uint64_t>(block.cluster_shared[rank]));
    return target;
  }
  target.inside = IsKnown(launch, site, target.holder);
  return target;
}

}  // namespace

MemoryRange AllocationOf(uint64_t address) {
  return source.memory.find ? source.memory.find(address).value_or(MemoryRange()) : MemoryRange();
}

uint64_t SourceVersion() { return source.memory.version ? source.version() : source.number << 48; }

void SetMemorySource(MemorySource wanted) { source = {std::move(wanted), source.number + 1}; }

// The word begins at multiples of its size, wherever the memory begins.
void FillUninitialised(void* memory, size_t bytes) {
  auto* at = static_cast<uint8_t*>(memory);
  const auto byte = [&](const uint8_t* place) {
    return static_cast<uint8_t>(kUninitialised >> 8 * (reinterpret_cast<uintptr_t>(place) % 4));
  };
  uint8_t* const end = at + bytes;
  for (; at != end && reinterpret_cast<uintptr_t>(at) % 4 != 0; ++at) *at = byte(at);
  for (; end - at >= 4; at += 4) std::memcpy(at, &kUninitialised, 4);
  for (; at != end; ++at) *at = byte(at);
}

void MarkUninitialised(void* memory, size_t bytes) {
  FillUninitialised(memory, bytes);
  WrittenMemory::Get().Follow(reinterpret_cast<uintptr_t>(memory), bytes);
}

Target TargetOf(const LaunchCheck& launch, const AccessSite& site) {
  const ptx2cpu_block& block = site.block;
  switch (static_cast<ptx2cpu_access_space>(site.space())) {
    case PTX2CPU_SPACE_SHARED:
      if (site.address >> PTX2CPU_CLUSTER_NUMBER_SHIFT != 0) {
        Target target;
        target.memory = Target::Memory::kOther;
        return target;
      }
      return InWindow(Target::Memory::kShared, block.shared, block.window_bytes, site.address, site.bytes);
    case PTX2CPU_SPACE_LOCAL:
      return InWindow(Target::Memory::kLocal, block.local + site.thread * block.local_stride,
                      block.local_stride, site.address, site.bytes);
    case PTX2CPU_SPACE_REAL:
    case PTX2CPU_SPACE_GLOBAL:
      break;
  }
  return OfReal(launch, site);
}

std::string Describe(const AccessSite& site, const Target& target) {
  const char* const plural = site.bytes == 1 ? "" : "s";
  const bool is_copy = (site.form & PTX2CPU_ACCESS_ASYNC) != 0;
  const char* const what = is_copy          ? (site.Writes() ? "asynchronous write" : "asynchronous read")
                           : !site.Writes() ? "read"
                           : (site.form & PTX2CPU_ACCESS_READS) != 0 ? "atomic operation"
                                                                     : "write";
  char text[128];
  switch (target.memory) {
    case Target::Memory::kShared:
      std::snprintf(text, sizeof text, "%s of %u byte%s at shared 0x%" PRIx64, what, site.bytes, plural,
                    target.offset);
      break;
    case Target::Memory::kLocal:
      std::snprintf(text, sizeof text, "%s of %u byte%s at local 0x%" PRIx64, what, site.bytes, plural,
                    target.offset);
      break;
    case Target::Memory::kGlobal:
    case Target::Memory::kOther:
      std::snprintf(text, sizeof text, "%s of %u byte%s at 0x%" PRIx64, what, site.bytes, plural,
                    target.real);
      break;
  }
  return text;
}

std::string FreedText(const LaunchCheck& launch, uint64_t address) {
  const auto block = launch.heap->FindFreed(reinterpret_cast<const void*>(address));
  if (!block) return source.memory.freed ? source.memory.freed(address) : "";
  const auto base = reinterpret_cast<uint64_t>(block->base);
  char text[128];
  std::snprintf(text, sizeof text,
                "%" PRIu64 " bytes into %" PRIu64 " bytes of device malloc at 0x%" PRIx64
                ", which have been freed",
                address - base, block->bytes, base);
  return text;
}

std::string NearText(const LaunchCheck& launch, uint64_t address) {
  const auto block = launch.heap->FindNear(reinterpret_cast<const void*>(address));
  if (!block) return source.memory.near ? source.memory.near(address) : "";
  const auto base = reinterpret_cast<uint64_t>(block->base);
  const char* where = "into";
  uint64_t bytes = address - base;
  if (address < base)
    where = "before", bytes = base - address;
  else if (bytes >= block->bytes)
    where = "after", bytes -= block->bytes;
  char text[128];
  std::snprintf(text, sizeof text, "%" PRIu64 " bytes %s %" PRIu64 " bytes of device malloc at 0x%" PRIx64,
                bytes, where, block->bytes, base);
  return text;
}

}  // namespace ptx2cpu::rt::check
