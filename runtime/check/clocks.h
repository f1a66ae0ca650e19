// What is ordered before what among the threads of one launch: happens-before by logical time.
//
// A launch has one clock, which advances at each release: an arrival at a barrier, an operation that
// publishes. An access carries the time at which it happened; a thread knows, of each other thread, until
// when it is ordered after it:
//   - everything up to a barrier of the whole block, as a number of such barriers (an epoch),
//   - the lanes of its own warp, by warp operations: a row of times,
//   - any thread of the block, by counted barriers and by memory (a row of the block's length, made when
//   needed),
//   - other blocks, by memory and cluster barriers: one time for the whole block (so a thread that
//   synchronises makes
//     its block know: some races between blocks are not found, and none is invented).
// Memory orders as programs use it: an atomic or volatile store after a fence publishes, also the fence of
// another thread of the block; an atomic or volatile load of that address acquires.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/abi/limits.h"

namespace ptx2cpu::rt::check {

inline constexpr uint32_t kThreads = PTX2CPU_MAX_THREADS_PER_BLOCK, kLanes = PTX2CPU_WARP_SIZE;

// The time and place of an access. 16 bytes.
struct Stamp {
  uint32_t block = 0;  // 1 + index in the grid; 0: no access
  uint32_t thread : 10 = 0;
  uint32_t ptx_line : 22 = 0;
  uint32_t epoch = 0;  // barriers of the whole block that the thread had passed
  uint32_t time = 0;
};

// What is known at a time of the threads of one block.
struct Knowledge {
  uint32_t epoch = 0;           // all accesses before this epoch
  std::vector<uint32_t> until;  // by thread: accesses before this time; empty: none
  void Join(const Knowledge& other);
  void Raise(uint32_t thread, uint32_t time);
};

// What an address that threads synchronise by has published.
struct Publication {
  std::map<uint32_t, uint32_t> blocks;  // by block + 1: until when
  uint32_t block = 0;                   // the block whose threads `threads` knows
  Knowledge threads;
};

// One launch. One worker runs all of its blocks where races are looked for, so there is no lock.
struct LaunchClock {
  uint32_t Tick() { return ++time; }
  uint32_t time = 0;
  std::unordered_map<uint64_t, Publication> published;  // by real address
};

class BlockClock {
 public:
  // A new block of `threads` threads; `block` is its index in the grid plus 1.
  void Begin(LaunchClock& launch, uint32_t block, uint32_t threads);

  Stamp Now(uint32_t thread, uint32_t ptx_line) const {
    return {block_, thread, ptx_line, state_[thread].epoch, launch_->time};
  }
  // Is the access of the stamp ordered before what the thread does now?
  bool IsOrdered(const Stamp& stamp, uint32_t thread, bool lockstep) const;

  void ArriveAtBlock(uint32_t thread, uint32_t barrier, bool whole_block);
  void LeaveBlock(uint32_t thread, uint32_t barrier, bool whole_block);
  void ArriveAtWarp(uint32_t thread);
  void LeaveWarp(uint32_t thread, uint32_t membermask);
  void Fence() { fenced_ = true; }
  bool fenced() const { return fenced_; }
  void Publish(uint32_t thread, uint64_t address);
  void Acquire(uint32_t thread, uint64_t address);

 private:
  struct Thread {
    uint32_t epoch = 0, known_epoch = 0;
    std::array<uint16_t, 16> turns{};             // of counted barriers: how often it came to each
    std::array<uint32_t, kLanes> lanes{};         // of its warp: until when it knows them
    std::unique_ptr<std::vector<uint32_t>> more;  // of all threads
  };
  struct Counted {  // one use of a counted barrier
    uint32_t turn = ~0u;
    Knowledge knowledge;
  };
  Knowledge KnowledgeOf(uint32_t thread) const;
  void Learn(uint32_t thread, const Knowledge& knowledge);

  LaunchClock* launch_ = nullptr;
  uint32_t block_ = 0, threads_ = 0;
  bool fenced_ = false;
  std::vector<Thread> state_;
  std::vector<uint32_t> arrivals_;  // at warp operations, by thread
  std::array<std::array<Counted, 2>, 16> counted_;
  std::map<uint32_t, uint32_t> blocks_;  // other blocks: until when they are known
};

}  // namespace ptx2cpu::rt::check
