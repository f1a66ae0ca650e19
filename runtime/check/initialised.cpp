// Reads of memory that nothing has written. Fresh memory holds a word: while an aligned word of global or
// shared memory does so, and no thread is known to have written a part of it, it is fresh. Where code is
// known to have written a part, the other bytes are fresh if they still hold theirs. Words that have other
// contents although no code wrote them were written by what no check sees. Of local memory, which only code
// writes, the record of what was written is all.
#include <bit>
#include <cstring>

#include "runtime/check/block_check.h"
#include "runtime/check/memory.h"

namespace ptx2cpu::rt::check {

void Initialised::Begin(const ptx2cpu_block& block) {
  FillUninitialised(block.shared, block.window_bytes);
  shared_.Reset(block.window_bytes);
  local_.Reset(block.local_stride * block.thread_padded);
}

namespace {

// What follows the memory in its last word is not its own.
uint64_t EndOf(const AccessSite& site, const Target& target) {
  if (target.memory == Target::Memory::kShared) return target.real - target.offset + site.block.window_bytes;
  const MemoryRange& holder = target.holder;
  return holder.bytes == 0 ? ~uint64_t{0} : holder.base + holder.bytes;
}

}  // namespace

uint32_t Initialised::WrittenOf(const Target& target, uint64_t real, uint32_t bytes) const {
  if (target.memory == Target::Memory::kGlobal) return WrittenMemory::Get().Of(real, bytes);
  if (target.memory == Target::Memory::kShared)
    return shared_.Of(target.offset + (real - target.real), bytes);
  return 0;
}

uint32_t Initialised::FreshBytes(const AccessSite& site, const Target& target, uint32_t at,
                                 uint32_t bytes) const {
  if (target.memory == Target::Memory::kLocal) {
    const uint64_t place = site.thread * site.block.local_stride + target.offset + at;
    return bytes - static_cast<uint32_t>(std::popcount(local_.Of(place, bytes)));
  }
  uint32_t fresh = 0;
  bool in_part = false;
  const uint64_t begin = target.real + at, end = begin + bytes, limit = EndOf(site, target);
  for (uint64_t word = begin & ~uint64_t{3}; word < end; word += 4) {
    uint32_t differ = 0;
    std::memcpy(&differ, reinterpret_cast<const void*>(word), sizeof differ);
    differ ^= kUninitialised;
    if (limit - word < 4) differ &= (1u << 8 * (limit - word)) - 1;
    const uint32_t written = WrittenOf(target, word, 4);
    if (written == 0 && differ != 0) continue;
    for (uint32_t i = 0; i < 4; ++i) {
      const bool is_fresh = (written >> i & 1) == 0 && (differ >> 8 * i & 255) == 0;
      if (!is_fresh || word + i < begin || word + i >= end) continue;
      ++fresh;
      in_part |= written != 0;
    }
  }
  // The program's own stores may have written the others.
  if (in_part && target.memory == Target::Memory::kGlobal && AllocationOf(begin).is_written_by_host) return 0;
  return fresh;
}

// A copy may bring what is fresh itself: its words decide, as if nothing were known.
void Initialised::Write(const AccessSite& site, const Target& target) {
  const bool is_copy = (site.form & PTX2CPU_ACCESS_ASYNC) != 0;
  switch (target.memory) {
    case Target::Memory::kGlobal:
      if (is_copy) return WrittenMemory::Get().Clear(target.real, site.bytes);
      return WrittenMemory::Get().Write(target.real, site.bytes);
    case Target::Memory::kShared:
      return is_copy ? shared_.Clear(target.offset, site.bytes) : shared_.Write(target.offset, site.bytes);
    case Target::Memory::kLocal:
      return local_.Write(site.thread * site.block.local_stride + target.offset, site.bytes);
    case Target::Memory::kOther:
      return;
  }
}

}  // namespace ptx2cpu::rt::check
