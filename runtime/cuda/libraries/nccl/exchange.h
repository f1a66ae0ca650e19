// The part of one rank in a collective or in messages, on its own thread, where it waits for the others. By
// any transport, each element is reduced once, over the ranks in their order, so results are the same to the
// bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/nccl/elements.h"

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
  kSplit,  // not an operation of a stream: ranks pass cards
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

// What all ranks must state alike of a collective.
struct Shape {
  uint32_t kind, type, op, root;
  uint64_t count;
  bool operator==(const Shape&) const = default;
};
Shape ShapeOf(const Operation& operation);
// The factor, read where it is on the device.
uint64_t FactorOf(const Operation& operation);

// How the collectives that reduce nothing differ.
struct Movement {
  Kind kind;
  bool root_gives;  // the root alone, or all ranks
  bool each;        // a part for each rank, or one for all
  bool root_takes;
};
// Null: the collective reduces.
const Movement* MovementOf(Kind kind);

// The elements that a rank reduces of those that all ranks do.
struct Segment {
  size_t begin, count;
  Segment(size_t all, int rank, int ranks);
};

// What a rank passes to all others in ncclCommSplit.
struct Card {
  int32_t color = 0, key = 0;
  cuda::ncclUniqueId part = {};  // the id of the ranks with this rank's color, from their first
};

enum class Outcome : uint8_t {
  kDone,
  kGone,      // a rank has ended, or the communicator was aborted
  kMismatch,  // the ranks' calls differ
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int ranks() const = 0;

  // By the rank's thread before all others. InvalidUsage: the rank exists; RemoteError: a rank ended before
  // all had come.
  virtual cuda::ncclResult_t Join() = 0;
  virtual Outcome Collective(const Operation& operation) = 0;
  // All of them side by side; those between two ranks in one direction in order.
  virtual Outcome Messages(std::span<const Operation> operations) = 0;
  // Each rank's card, in order.
  virtual Outcome Pass(const Card& own, std::vector<Card>& all) = 0;
  // The last call by the rank's thread.
  virtual void Leave() = 0;
  // By any thread: all ranks' calls end.
  virtual void Abort() = 0;
};

}  // namespace ptx2cpu::nccl
