// Asynchronous copies of a block: which are done, and which threads know. A copy is done when a thread has
// waited for its group, or for the phase of an mbarrier object that it is counted in; then it is as if that
// thread had made the accesses at that time. No other thread knows, and no barrier waits for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ptx2cpu::rt::check {

class Copies {
 public:
  struct Seen {
    uint32_t thread = 0, time = 0;
  };
  // The copies of one group of a thread, of bulk copies either what they read or what they write.
  struct Copy {
    Seen first;                // who knew first, mostly the one who made it
    std::vector<Seen> others;  // by thread
    bool only_reads = false, is_seen = false;
    bool IsSeenBy(uint32_t thread) const;
    // Of any of those who know.
    template <typename Test>
    bool IsSeenBySome(const Test& test) const {
      return is_seen && (test(first) || std::any_of(others.begin(), others.end(), test));
    }
  };

  void Begin();
  bool empty() const { return copies_.empty(); }
  const Copy& At(uint32_t copy) const { return copies_[copy]; }
  // In which a thread knew that it was done; none yet: ~0u.
  uint32_t FirstEpochOf(uint32_t copy) const { return first_epochs_[copy]; }
  // Copies that threads may not know of although they have passed the last barrier of the block.
  bool IsPending() const { return !pending_.empty(); }
  // What has been seen before this barrier of the whole block, all threads know.
  void Forget(uint32_t barrier);

  // The copy that an access of the thread's running group belongs to. `kind`: PTX2CPU_COPY_*.
  uint32_t Issue(uint32_t thread, uint32_t kind, bool writes);
  void Commit(uint32_t thread, uint32_t kind);
  // At most so many groups are not done from now on, of bulk copies what they read: the copies that
  // are done then, until the next call.
  std::span<const uint32_t> Wait(uint32_t thread, uint32_t kind, uint32_t groups);
  // The thread's next change of an mbarrier object counts these copies.
  void Carry(uint32_t thread, uint32_t kind);
  struct Carried {
    std::vector<uint32_t> copies;
    bool is_bulk = false;  // the copy makes the change, not the thread
  };
  Carried TakeCarried(uint32_t thread);
  void See(uint32_t copy, uint32_t thread, uint32_t epoch, uint32_t time);

 private:
  struct Group {
    std::array<uint32_t, 2> copies{};  // one for each value of only_reads
    uint32_t count = 0;
    std::span<const uint32_t> all() const { return std::span(copies).first(count); }
  };
  struct Thread {
    Group open[2];  // by kind
    std::vector<Group> groups[2];
    Carried carried;
    bool is_used = false;
  };
  Thread& Of(uint32_t thread);

  std::vector<Copy> copies_;
  std::vector<uint32_t> first_epochs_;  // of the same
  std::vector<uint32_t> pending_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> used_;  // those of them that have copies
  std::vector<uint32_t> done_;
};

}  // namespace ptx2cpu::rt::check
