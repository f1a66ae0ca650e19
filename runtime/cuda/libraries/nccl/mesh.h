// The connections of one rank with all others, and the transfers over them.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "runtime/cuda/libraries/nccl/exchange.h"
#include "runtime/cuda/libraries/nccl/network.h"

namespace ptx2cpu::nccl {

// Goes before the bytes of each transfer, so that calls that differ are found out.
struct Header {
  Shape shape;
  uint64_t bytes;
  uint64_t scalar;  // the sender's factor, of ncclRedOpCreatePreMulSum
  bool operator==(const Header&) const = default;
};

// Bytes to one rank, or from one.
struct Transfer {
  int peer = 0;
  bool sends = false;
  const void* from = nullptr;  // what is sent
  void* to = nullptr;          // where it is received
  Header header = {};          // sent; or expected, and then the sender's
  size_t done = 0;             // bytes of the header and of the data

  bool over() const { return done == sizeof header + header.bytes; }
};

class Mesh {
 public:
  // One connection for each other rank; none at `rank`.
  Mesh(int rank, std::vector<Descriptor> peers);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(peers_.size()); }

  // All of them side by side; those with one rank in one direction in order. What is received must have the
  // shape and the size that are expected, and comes with the sender's scalar. Transfers with itself come in
  // pairs.
  Outcome Move(std::span<Transfer> transfers);
  // By any thread: the connections end, here and for the others.
  void Close();

 private:
  struct Queue;
  enum class Step : uint8_t { kWaits, kAdvanced, kGone, kMismatch };
  Outcome MoveToItself(std::span<Transfer> transfers) const;
  Step Advance(Transfer& transfer, Header& read) const;
  Step Send(Transfer& transfer) const;
  Step Receive(Transfer& transfer, Header& read) const;

  const int rank_;
  const std::vector<Descriptor> peers_;
  std::atomic<bool> closed_{false};
};

}  // namespace ptx2cpu::nccl
