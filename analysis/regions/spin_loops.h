// Loops in which a thread may wait for a store of another thread: locks, flags, tickets.
#pragma once

#include "analysis/regions/regions.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct SpinLoop {
  BlockEdge back;   // the edge that starts the next trip
  ir::Position at;  // the read whose result decides about it
  // Each read that decides is at a place that trips choose (open addressing): it seldom is the same twice, so
  // that most trips do not wait. The loop has one back edge, no barrier and no collective.
  bool probes = false;
};

// A back edge is listed when a branch that leaves its loop, or decides what such a branch sees, depends on
// the result of an atomic operation, a volatile or ordered load, or of any load of global or shared memory
// when the loop holds a fence or a sleep. Retry loops are not: those whose only such read is a
// compare-and-swap against a value read anew in the loop succeed as soon as no other thread
// runs. Nor are loops that yield already.
std::vector<SpinLoop> FindSpinLoops(const ir::Function& f);

}  // namespace ptx2cpu::analysis
