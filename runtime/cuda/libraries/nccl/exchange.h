// What one rank does in a collective or in messages, on its own thread, waiting for the others.
//
// Ranks of one process read each other's buffers. Ranks of several processes pass their elements in pieces
// through the stages of the region. Both reduce each element once, over the ranks in their order, so results
// are the same to the bit, whatever the processes and the times at which they come.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/nccl/elements.h"
#include "runtime/cuda/libraries/nccl/region.h"

namespace ptx2cpu::nccl {

enum class Kind : uint32_t {
  kAllReduce,
  kReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kReceive,
  kSplit,  // not an operation of a stream: ranks pass color and key
};

// `count` counts elements as the function of this kind does: of one rank's part.
struct Operation {
  Kind kind = Kind::kAllReduce;
  const void* send = nullptr;
  void* receive = nullptr;
  size_t count = 0;
  cuda::ncclDataType_t type = cuda::ncclInt8;
  Reduction reduction = Reduction::kSum;
  int root = 0;                     // or the peer of a message
  uint64_t factor = 0;              // of kScaledSum
  const void* factor_at = nullptr;  // where it is on the device; null: `factor` is it
};

enum class Outcome : uint8_t {
  kDone,
  kGone,      // a rank has ended, or the communicator was aborted
  kMismatch,  // the ranks' calls differ
};

class Exchange {
 public:
  Exchange(Region& region, int rank);

  Outcome Collective(const Operation& operation);
  // All of them side by side; those between two ranks in one direction in order.
  Outcome Messages(std::span<const Operation> operations);
  // Passes color and key to all ranks, and returns when all have passed theirs (Shown).
  Outcome Show(int color, int key);
  const Announcement& Shown(int rank) const { return AnnouncementOf(rank, number_ - 1); }
  Announcement& Own() { return AnnouncementOf(rank_, number_ - 1); }
  bool Barrier() { return region_.Barrier(); }

 private:
  struct Message;
  Announcement& AnnouncementOf(int rank, uint64_t number) const {
    return region_.part(rank).announcements[number % 2];
  }
  Outcome Announce(const Operation& operation);
  Outcome AwaitAnnouncements();
  Outcome ReduceDirectly(const Operation& operation);
  Outcome MoveDirectly(const Operation& operation);
  Outcome ReduceInStages(const Operation& operation);
  Outcome ScatterInStages(const Operation& operation);
  Outcome MoveInStages(const Operation& operation);
  bool Direct(int peer) const { return region_.part(peer).process == region_.part(rank_).process; }
  bool Advance(Message& message);
  bool AdvanceSend(Message& message, Channel& channel);
  bool AdvanceReceive(Message& message, Channel& channel);

  Region& region_;
  const int rank_, ranks_;
  const bool direct_;    // all ranks are of this process
  uint64_t number_ = 0;  // of collectives
  unsigned turn_ = 0;    // which area of the stages is next
};

}  // namespace ptx2cpu::nccl
