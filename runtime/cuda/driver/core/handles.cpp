#include "runtime/cuda/driver/core/handles.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define PTX2CPU_FINDS_LEAKS
#endif
#endif

namespace ptx2cpu::driver {

namespace {

constexpr size_t kFirstCapacity = 4096;
constexpr uint64_t kEmpty = 0, kTombstone = 1;
constexpr int kKindShift = 48;  // user addresses are shorter

}  // namespace

Handles& Handles::Get() {
  static Handles* const handles = new Handles;  // used to the very end of the process
  return *handles;
}

Handles::Table::Table(size_t capacity) : mask(capacity - 1), words(new std::atomic<uint64_t>[capacity]) {
  for (size_t i = 0; i < capacity; ++i) words[i].store(kEmpty, std::memory_order_relaxed);
}

Handles::Handles() {
  tables_.push_back(std::make_unique<Table>(kFirstCapacity));
  table_.store(tables_.back().get(), std::memory_order_release);
}

uint64_t Handles::WordOf(const void* object, HandleKind kind) {
  return reinterpret_cast<uintptr_t>(object) | uint64_t{static_cast<uint16_t>(kind)} << kKindShift;
}

size_t Handles::Hash(uint64_t word) { return static_cast<size_t>((word >> 4) * 0x9E3779B97F4A7C15u >> 20); }

std::atomic<uint64_t>* Handles::Find(const Table& table, uint64_t word) const {
  for (size_t i = Hash(word) & table.mask;; i = (i + 1) & table.mask) {
    const uint64_t here = table.words[i].load(std::memory_order_acquire);
    if (here == word) return &table.words[i];
    if (here == kEmpty) return nullptr;
  }
}

bool Handles::Has(const void* object, HandleKind kind) const {
  if (object == nullptr || reinterpret_cast<uintptr_t>(object) >> kKindShift != 0) return false;
  return Find(*table_.load(std::memory_order_acquire), WordOf(object, kind)) != nullptr;
}

void Handles::Grow() {
  const Table& old = *tables_.back();
  size_t capacity = old.mask + 1;
  if (live_ * 4 > capacity) capacity *= 2;  // else tombstones fill it: as large again is enough
  auto table = std::make_unique<Table>(capacity);
  for (size_t i = 0; i <= old.mask; ++i) {
    const uint64_t word = old.words[i].load(std::memory_order_relaxed);
    if (word == kEmpty || word == kTombstone) continue;
    size_t at = Hash(word) & table->mask;
    while (table->words[at].load(std::memory_order_relaxed) != kEmpty) at = (at + 1) & table->mask;
    table->words[at].store(word, std::memory_order_relaxed);
  }
  used_ = live_;
  table_.store(table.get(), std::memory_order_release);
  tables_.push_back(std::move(table));
}

void Handles::Add(const void* object, HandleKind kind) {
#ifdef PTX2CPU_FINDS_LEAKS
  __lsan_ignore_object(
      object);  // its address is not in the table as it is; what a program has not destroyed is not lost
#endif
  std::lock_guard lock(mutex_);
  if ((used_ + 1) * 2 > tables_.back()->mask) Grow();
  const Table& table = *tables_.back();
  const uint64_t word = WordOf(object, kind);
  size_t at = Hash(word) & table.mask;
  while (table.words[at].load(std::memory_order_relaxed) > kTombstone) at = (at + 1) & table.mask;
  if (table.words[at].load(std::memory_order_relaxed) == kEmpty) ++used_;
  table.words[at].store(word, std::memory_order_release);
  ++live_;
}

bool Handles::Remove(const void* object, HandleKind kind) {
  if (object == nullptr || reinterpret_cast<uintptr_t>(object) >> kKindShift != 0) return false;
  std::lock_guard lock(mutex_);
  std::atomic<uint64_t>* const word = Find(*tables_.back(), WordOf(object, kind));
  if (word == nullptr) return false;
  const Table& table = *tables_.back();
  size_t at = static_cast<size_t>(word - table.words.get());
  table.words[at].store(kTombstone, std::memory_order_release);
  --live_;
  // Tombstones in front of an empty word lead nowhere: they become empty, so that they do not pile up.
  if (table.words[(at + 1) & table.mask].load(std::memory_order_relaxed) == kEmpty) {
    for (; table.words[at].load(std::memory_order_relaxed) == kTombstone; at = (at - 1) & table.mask) {
      table.words[at].store(kEmpty, std::memory_order_release);
      --used_;
    }
  }
  return true;
}

std::vector<const void*> Handles::All(HandleKind kind) const {
  std::lock_guard lock(mutex_);
  std::vector<const void*> all;
  const Table& table = *tables_.back();
  for (size_t at = 0; at <= table.mask; ++at) {
    const uint64_t word = table.words[at].load(std::memory_order_relaxed);
    if (word <= kTombstone || word >> kKindShift != static_cast<uint64_t>(kind)) continue;
    all.push_back(reinterpret_cast<const void*>(word & ((uint64_t{1} << kKindShift) - 1)));
  }
  return all;
}

size_t Handles::count() const {
  std::lock_guard lock(mutex_);
  return live_;
}

}  // namespace ptx2cpu::driver
