#include "runtime/check/written_bytes.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "runtime/abi/check.h"
#include "runtime/check/memory.h"
#include "runtime/check/wanted.h"

namespace ptx2cpu::rt::check {

namespace {

// Calls act(word, mask) for the bits `from` to `from + count`.
template <typename Act>
void ForWords(uint64_t from, uint64_t count, const Act& act) {
  for (const uint64_t end = from + count; from < end;) {
    const uint64_t first = from % 64, bits = std::min(64 - first, end - from);
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : ((uint64_t{1} << bits) - 1) << first;
    act(from / 64, mask);
    from += bits;
  }
}

// Bits `from` to `from + count` of words that are numbered from 0.
template <typename Word>
uint32_t BitsOf(uint64_t from, uint32_t count, const Word& word) {
  const uint64_t first = from % 64;
  uint64_t bits = word(from / 64) >> first;
  if (first + count > 64) bits |= word(from / 64 + 1) << (64 - first);
  return static_cast<uint32_t>(bits & ((uint64_t{1} << count) - 1));
}

}  // namespace

void WrittenWindow::Reset(uint64_t bytes) { bits_.assign((bytes + 63) / 64, 0); }

void WrittenWindow::Write(uint64_t from, uint64_t bytes) {
  ForWords(from, bytes, [&](uint64_t word, uint64_t mask) { bits_[word] |= mask; });
}

void WrittenWindow::Clear(uint64_t from, uint64_t bytes) {
  ForWords(from, bytes, [&](uint64_t word, uint64_t mask) { bits_[word] &= ~mask; });
}

uint32_t WrittenWindow::Of(uint64_t from, uint32_t bytes) const {
  return BitsOf(from, bytes, [&](uint64_t word) { return word < bits_.size() ? bits_[word] : 0; });
}

WrittenMemory& WrittenMemory::Get() {
  static auto* const memory = new WrittenMemory;  // kernels may run until the process ends
  return *memory;
}

WrittenMemory::Bits* WrittenMemory::StretchOf(uintptr_t number) {
  struct Recent {
    uintptr_t number = ~uintptr_t{0};
    Bits* bits = nullptr;
  };
  static thread_local Recent recent[16];
  Recent& place = recent[number % 16];
  if (place.number == number) return place.bits;
  const std::shared_lock lock(mutex_);
  const auto found = stretches_.find(number);
  if (found == stretches_.end()) return nullptr;  // it may be followed later
  place = {number, found->second.get()};
  return place.bits;
}

void WrittenMemory::Follow(uintptr_t from, size_t bytes) {
  {
    const std::unique_lock lock(mutex_);
    for (uintptr_t number = from / kStretchBytes; number * kStretchBytes < from + bytes; ++number) {
      std::unique_ptr<Bits>& bits = stretches_[number];
      if (bits == nullptr) bits = std::make_unique<Bits>(kStretchBytes / 64);
    }
  }
  Clear(from, bytes);
}

void WrittenMemory::Change(uintptr_t from, size_t bytes, bool written) {
  for (const uintptr_t end = from + bytes; from < end;) {
    const uintptr_t number = from / kStretchBytes, begin = number * kStretchBytes;
    const uintptr_t stop = std::min(begin + kStretchBytes, end);
    if (Bits* const bits = StretchOf(number)) {
      ForWords(from - begin, stop - from, [&](uint64_t word, uint64_t mask) {
        std::atomic<uint64_t>& at = (*bits)[word];
        // Most stores write what was written before.
        const uint64_t now = at.load(std::memory_order_relaxed) & mask;
        if (written && now != mask) at.fetch_or(mask, std::memory_order_relaxed);
        if (!written && now != 0) at.fetch_and(~mask, std::memory_order_relaxed);
      });
    }
    from = stop;
  }
}

uint32_t WrittenMemory::Of(uintptr_t from, uint32_t bytes) {
  const uintptr_t number = from / kStretchBytes, begin = number * kStretchBytes;
  if (from + bytes > begin + kStretchBytes) {
    const auto first = static_cast<uint32_t>(begin + kStretchBytes - from);
    return Of(from, first) | Of(from + first, bytes - first) << first;
  }
  Bits* const bits = StretchOf(number);
  if (bits == nullptr) return 0;
  return BitsOf(from - begin, bytes,
                [&](uint64_t word) { return (*bits)[word].load(std::memory_order_relaxed); });
}

namespace {

bool IsFresh(uintptr_t word) {
  uint32_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(word), sizeof value);
  return value == kUninitialised && WrittenMemory::Get().Of(word, sizeof value) == 0;
}

}  // namespace

// What a copy of device memory brings may be fresh itself: of whole words that are, nothing is known then.
void NoteHostWrite(const void* to, const void* from, size_t bytes) {
  if ((WantedKinds() & PTX2CPU_CHECKS_INIT) == 0) return;
  WrittenMemory& memory = WrittenMemory::Get();
  const auto address = reinterpret_cast<uintptr_t>(to);
  const auto source = reinterpret_cast<uintptr_t>(from);
  const bool is_copy = from != nullptr && memory.IsFollowed(source) && address % 4 == source % 4;
  memory.Write(address, bytes);
  if (!is_copy) return;
  for (size_t at = -address % 4; at + 4 <= bytes; at += 4) {
    if (IsFresh(source + at)) memory.Clear(address + at, 4);
  }
}

}  // namespace ptx2cpu::rt::check
