// What threads of a block synchronise by besides barriers of all its threads and of warps: barriers with a
// count, and mbarrier objects.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/check/knowledge.h"

namespace ptx2cpu::rt::check {

// From the least to the greatest address of some.
struct AddressHull {
  uint64_t least = ~uint64_t{0}, greatest = 0;
  void Add(uint64_t address) {
    least = std::min(least, address);
    greatest = std::max(greatest, address);
  }
  bool HasSomeOf(uint64_t address, uint64_t bytes) const {
    return least < address + bytes && address <= greatest;
  }
};

// What threads know that arrive at the barriers of a block with a count. Uses of one alternate between two
// records: all have left one use before any arrives at the next but one.
class CountedUses {
 public:
  void Begin(uint32_t threads) { threads_ = threads, turns_.clear(); }
  void Arrive(uint32_t thread, uint32_t barrier, const Knowledge& knowledge);
  // What those of the use know that the thread came to last; null: nothing.
  const Knowledge* Leave(uint32_t thread, uint32_t barrier) const;

 private:
  static constexpr uint32_t kBarriers = 16;
  struct Use {
    uint32_t turn = ~0u;
    Knowledge knowledge;
  };
  uint32_t threads_ = 0;
  std::vector<std::array<uint32_t, kBarriers>> turns_;  // by thread: how often it came to each
  std::array<std::array<Use, 2>, kBarriers> uses_;
};

// An mbarrier object, looked at before each change that threads make.
class PhaseObject {
 public:
  explicit PhaseObject(uint64_t memory) : memory_(memory), now_(memory) {}
  // `found`: the object as it is in memory. What changes have made of it shows where a change was not known;
  // lanes that change it at once look before any has.
  void Look(uint64_t found);
  void Count(const Knowledge& knowledge) { pending_.Join(knowledge); }
  void Count(const std::vector<uint32_t>& copies) {
    pending_copies_.insert(pending_copies_.end(), copies.begin(), copies.end());
  }
  // All ones: not known.
  void Change(uint64_t change);
  // Of phases that are complete.
  const Knowledge& known() const { return known_; }
  const std::vector<uint32_t>& copies() const { return copies_; }

 private:
  void Complete();

  uint64_t memory_ = 0;                            // as it was when looked at last
  uint64_t now_ = 0;                               // with the changes that have come since
  Knowledge pending_, known_;                      // of those who arrived in this phase, and in complete ones
  std::vector<uint32_t> pending_copies_, copies_;  // the same
};

// Those of a block, by real address.
class PhaseObjects {
 public:
  void Begin();
  bool Has(uint64_t address) const { return objects_.contains(address); }
  bool HasSomeOf(uint64_t address, uint64_t bytes) const { return hull_.HasSomeOf(address, bytes); }
  PhaseObject& At(uint64_t address, uint64_t memory);
  // The phase that the thread's next load tests.
  void Test(uint32_t thread, uint32_t phase) { tested_[thread] = phase; }
  // Whether the phase that the thread tests is not complete.
  bool IsIncomplete(uint32_t thread, uint64_t memory) const;

 private:
  std::unordered_map<uint32_t, uint32_t> tested_;  // by thread
  std::unordered_map<uint64_t, PhaseObject> objects_;
  AddressHull hull_;
};

}  // namespace ptx2cpu::rt::check
