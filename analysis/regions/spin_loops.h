// Loops in which a thread may wait for a store of another thread: locks, flags, tickets.
#pragma once

#include "analysis/regions/regions.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct SpinLoop {
  BlockEdge back;   // the edge that starts the next trip
  ir::Position at;  // the read whose result decides about it
  // Most trips do not wait: each read that decides is at a place that trips choose (open addressing), so that
  // it seldom is the same twice, or it is an atomic operation that takes the next number (a queue), or it
  // reads back what the loop has stored, or its result comes by way of plain memory.
  bool seldom = false;
  bool by_memory = false;  // the last of these; threads meet in each trip
};

enum class PlainReads : uint8_t { kDoNotWait, kMayWait };

// A back edge is listed when a branch that leaves its loop, or decides what such a branch sees, depends on
// the result of an atomic operation, a volatile or ordered load, or of any load of global or shared memory
// when the loop holds a fence or a sleep. Retry loops are not: those whose only such read is a
// compare-and-swap against a value read anew in the loop succeed as soon as no other thread
// runs. Nor are loops that yield already.
// In a loop with a barrier or collective the result may go through memory that the loop stores plainly (one
// lane reads a flag for all). `plain` decides about loops of that kind which see only plain loads: CUDA
// promises them nothing, but lanes that run one by one and stop at each collective do see other stores.
std::vector<SpinLoop> FindSpinLoops(const ir::Function& f, PlainReads plain = PlainReads::kDoNotWait);

}  // namespace ptx2cpu::analysis
