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
// the result of an atomic operation, a volatile or ordered load, a call that may give what one of these has
// read, or of any load or copy of global or shared memory when the loop holds a fence or a sleep. Retry loops
// are not: those whose only such read is a compare-and-swap against a value read anew in the loop succeed as
// soon as no other thread runs. Nor are loops that yield already.
// The result may go through memory that the loop writes: a thread's own local memory, what it stores and
// loads at one address, and in a loop with a barrier or collective all that the loop writes in any way (one
// lane reads a flag for all, an atomic operation counts those that have seen one). `plain` decides about
// loops of the last kind which see only plain loads: CUDA promises them nothing, but lanes that run one by
// one and stop at each collective do see other stores.
std::vector<SpinLoop> FindSpinLoops(const ir::Function& f, PlainReads plain = PlainReads::kDoNotWait);

}  // namespace ptx2cpu::analysis
