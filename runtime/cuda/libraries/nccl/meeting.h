// The messages between the process that made a unique id and the ranks.
#pragma once

#include <cstdint>

#include "runtime/cuda/libraries/nccl/network.h"

namespace ptx2cpu::nccl {

// The part of an id that no other process can guess.
inline constexpr size_t kNameBytes = 48;

struct Hello {
  char name[kNameBytes];
  int32_t ranks, rank;
};
enum class Answer : int32_t {
  kOtherCount,
  kTaken,    // the rank exists
  kGone,     // a rank ended before all had come
  kMemory,   // with a file: the region
  kNetwork,  // each rank sends where it listens, receives where all do, connects to those before it and is
             // greeted by those after it, sends a byte, and receives one when all have done so
};
struct Place {
  char address[80];
};
struct Greeting {
  char name[kNameBytes];
  int32_t rank;
};

// Waits for the ranks at both sockets, of which the second may be none, and returns when they have met.
void HostMeeting(const std::string& name, const Descriptor& local, const Descriptor& network);

}  // namespace ptx2cpu::nccl
