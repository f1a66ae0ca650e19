#include "runtime/cuda/driver/core/entries.h"

#include <atomic>

namespace ptx2cpu::driver {

namespace {

struct Registered {
  std::span<const Entry> entries;
  EntrySource source = EntrySource::kInner;
};

// Constructors of libraries write it, before main or within dlopen; programs read it on any thread.
Registered slots[2];
std::atomic<const Registered*> current{nullptr};

}  // namespace

void RegisterEntries(std::span<const Entry> entries, EntrySource source) {
  Registered& slot = slots[static_cast<size_t>(source)];
  slot = {entries, source};
  const Registered* now = current.load();
  if (now == nullptr || now->source == EntrySource::kInner) current.store(&slot);
}

std::span<const Entry> Entries() {
  const Registered* now = current.load();
  return now == nullptr ? std::span<const Entry>() : now->entries;
}

}  // namespace ptx2cpu::driver
