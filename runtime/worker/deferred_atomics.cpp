#include "runtime/worker/deferred_atomics.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

namespace ptx2cpu::rt {

namespace {

template <typename Word, typename Combine>
void Replace(std::atomic_ref<Word> word, Combine combine) {
  Word old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, combine(old), std::memory_order_relaxed)) {
  }
}

template <typename Word, typename Signed>
void Combine(uint64_t address, Word value, uint32_t operation) {
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(address));
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto as_signed = [](Word bits) { return static_cast<Signed>(bits); };
  switch (static_cast<ptx2cpu_deferred_form>(operation)) {
    case PTX2CPU_DEFERRED_ADD:
      word.fetch_add(value, relaxed);
      break;
    case PTX2CPU_DEFERRED_AND:
      word.fetch_and(value, relaxed);
      break;
    case PTX2CPU_DEFERRED_OR:
      word.fetch_or(value, relaxed);
      break;
    case PTX2CPU_DEFERRED_XOR:
      word.fetch_xor(value, relaxed);
      break;
    case PTX2CPU_DEFERRED_MIN_S:
      Replace(word, [&](Word old) { return as_signed(old) < as_signed(value) ? old : value; });
      break;
    case PTX2CPU_DEFERRED_MIN_U:
      Replace(word, [&](Word old) { return std::min(old, value); });
      break;
    case PTX2CPU_DEFERRED_MAX_S:
      Replace(word, [&](Word old) { return as_signed(old) < as_signed(value) ? value : old; });
      break;
    case PTX2CPU_DEFERRED_MAX_U:
      Replace(word, [&](Word old) { return std::max(old, value); });
      break;
    case PTX2CPU_DEFERRED_64:
      break;  // no operation: the bit is taken off
  }
}

// What changes nothing; of 32-bit words in the low half.
template <typename Word, typename Signed>
uint64_t Neutral(uint32_t operation) {
  if (operation == PTX2CPU_DEFERRED_AND || operation == PTX2CPU_DEFERRED_MIN_U)
    return std::numeric_limits<Word>::max();
  if (operation == PTX2CPU_DEFERRED_MIN_S) return static_cast<Word>(std::numeric_limits<Signed>::max());
  if (operation == PTX2CPU_DEFERRED_MAX_S) return static_cast<Word>(std::numeric_limits<Signed>::min());
  return 0;
}

uint64_t Neutral(uint32_t form) {
  const uint32_t operation = form & ~uint32_t{PTX2CPU_DEFERRED_64};
  return (form & PTX2CPU_DEFERRED_64) != 0 ? Neutral<uint64_t, int64_t>(operation)
                                           : Neutral<uint32_t, int32_t>(operation);
}

void Apply(const ptx2cpu_deferred_entry& entry, uint32_t form) {
  if (entry.address == 0 || entry.value == Neutral(form)) return;
  const uint32_t operation = form & ~uint32_t{PTX2CPU_DEFERRED_64};
  if ((form & PTX2CPU_DEFERRED_64) != 0)
    Combine<uint64_t, int64_t>(entry.address, entry.value, operation);
  else
    Combine<uint32_t, int32_t>(entry.address, static_cast<uint32_t>(entry.value), operation);
}

// Neither entries nor their bounds.
void Clear(ptx2cpu_deferred& deferred) {
  for (uint32_t i = 0; i < deferred.count; ++i) deferred.entries[deferred.used[i]] = {};
  deferred.lowest = ~uint64_t{0}, deferred.end = 0;
  deferred.count = 0;
}

void ApplyAll(ptx2cpu_deferred* table) {
  for (uint32_t i = 0; i < table->count; ++i) Apply(table->entries[table->used[i]], table->form);
  Clear(*table);
}

void Enter(ptx2cpu_deferred* table, uint64_t address, uint32_t form) {
  const auto number = static_cast<uint16_t>((address >> 2) % PTX2CPU_DEFERRED_ENTRIES);
  ptx2cpu_deferred_entry& entry = table->entries[number];
  if (entry.address == 0)
    table->used[table->count++] = number;
  else
    Apply(entry, form);
  entry = {address, Neutral(form)};
  table->form = form;
  table->lowest = std::min(table->lowest, address);
  table->end = std::max(table->end, address + ((form & PTX2CPU_DEFERRED_64) != 0 ? 8 : 4));
  table->credit -= PTX2CPU_DEFERRED_MISS;
  if (table->credit < 0) table->credit = PTX2CPU_DEFERRED_PENALTY;
}

}  // namespace

DeferredAtomics::DeferredAtomics(const ptx2cpu_kernel& kernel, const ptx2cpu_block& block)
    : table_((kernel.flags & PTX2CPU_KERNEL_DEFERS_ATOMICS) != 0 ? new(block.slots) ptx2cpu_deferred{}
                                                                 // the memory holds anything
                                                                 : nullptr) {
  if (table_ == nullptr) return;
  Clear(*table_);
  table_->credit = PTX2CPU_DEFERRED_MAX_CREDIT;
  table_->enter = Enter, table_->apply = ApplyAll;
  table_->prepared = PTX2CPU_DEFERRED_PREPARED;
}

DeferredAtomics::~DeferredAtomics() {
  if (table_ != nullptr) table_->prepared = 0;
}

void DeferredAtomics::Finish() {
  if (table_ != nullptr) ApplyAll(table_);
}

}  // namespace ptx2cpu::rt
