// The memory that the ranks of a communicator share: the present ranks, barriers, and the data that each
// passes to the others. A file without a name (memfd): nothing remains of it when the processes have ended,
// however they end.
//
// A rank holds a robust lock of its own while it lives. The system marks the lock when its holder ends, so a
// rank that waits finds out that another one has ended, also by a signal.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/cuda/libraries/nccl/exchange.h"

namespace ptx2cpu::nccl {

// One collective as a rank passes it: all ranks must pass the same `shape`.
struct Announcement {
  Shape shape;
  const void* send;  // for ranks of the same process
  void* receive;
  uint64_t scalar;  // of ncclRedOpCreatePreMulSum, in the type of the elements
  Card card;        // of ncclCommSplit
};

// From one rank to another, in order: messages, each announced with its size and carried in pieces through a
// ring, or copied from where it is by ranks of one process.
struct Channel {
  static constexpr size_t kRing = 256 * 1024;
  alignas(64) std::atomic<uint64_t> announced;  // messages
  uint64_t bytes;                               // of the last of them
  const void* from;
  std::atomic<uint64_t> written;  // bytes of all messages so far
  alignas(64) std::atomic<uint64_t> taken, read;
};

struct RankPart {
  pthread_mutex_t life;
  std::atomic<uint32_t> joined;
  std::atomic<uint32_t> bell;  // rung when a channel from or to this rank has changed
  uint64_t process;            // a random number of its process
  // For collectives with even and odd numbers: a rank may be in the next collective while others still read
  // these.
  Announcement announcements[2];
};

// A random number of this process.
uint64_t ProcessNumber();

// Ranks of one process map the region each at an address of its own, so that ThreadSanitizer does not see
// that words in it order their accesses to each other's buffers. Before a word is written that others wait
// for, and after it has been read; for ThreadSanitizer only.
void ReleaseOrder();
void AcquireOrder();

class Region {
 public:
  static constexpr size_t kStage = 512 * 1024;  // bytes that a rank passes at once
  static constexpr int kMaxRanks = 1024;

  // A region for `ranks` ranks; the file's descriptor, or -1.
  static int MakeFile(int ranks);
  // Maps the file and closes it. Null: the system does not.
  static std::shared_ptr<Region> Map(int file, int ranks);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  int ranks() const { return ranks_; }
  RankPart& part(int rank) const { return parts_[rank]; }
  Channel& channel(int from, int to) const;
  std::byte* ring(int from, int to) const;
  // One of two areas of kStage bytes of the rank.
  std::byte* stage(int rank, unsigned turn) const;

  // The calling thread is this rank from now on; to be called once a rank. False: the rank exists already.
  bool Join(int rank, uint64_t process);
  void Leave(int rank);  // by the same thread
  // Waits until all have joined. False: one has ended, or the communicator is aborted.
  bool AwaitAll();
  // Waits until all ranks have called it as often as this one. False as above.
  bool Barrier();
  // Waits until the rank's bell differs from `seen`. False: one of `peers` has left or ended, or the
  // communicator is aborted; the caller looks once more then.
  bool AwaitBell(int rank, uint32_t seen, std::span<const int> peers);
  void Ring(int rank);

  void Abort();
  bool aborted() const { return head_->aborted.load(std::memory_order_acquire) != 0; }

 private:
  struct Head {
    std::atomic<uint32_t> aborted;
    std::atomic<uint32_t> joined;  // ranks that have
    alignas(64) std::atomic<uint32_t> arrived, generation;
  };
  struct Layout;
  Region(std::byte* base, size_t bytes, int ranks);
  // True: it has joined, and has left or ended since.
  bool Gone(int rank) const;
  bool SomeoneGone() const;
  // Looks and sleeps until done(); false when aborted() or gone() before that.
  template <typename Done, typename IsGone>
  bool Await(std::atomic<uint32_t>& word, const Done& done, const IsGone& gone);

  std::byte* const base_;
  const size_t bytes_;
  const int ranks_;
  Head* const head_;
  RankPart* const parts_;
};

}  // namespace ptx2cpu::nccl
