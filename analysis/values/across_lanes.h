// What rows and special registers do across lanes, for every analysis. A collective that is not named here is
// an exchange: its result differs between lanes.
#pragma once

#include "ir/opcode.h"

namespace ptx2cpu::analysis {

enum class Lanes : uint8_t {
  kAlone,     // each thread by itself
  kMeet,      // waits for the others and returns nothing
  kExchange,  // each member gets its own result
  kVote,      // all members get the same results
  kElect,     // all members get the same first result; the last one holds in one member only
  kPresence,  // the set of lanes that execute it together: the same in all of them
  kAgree,     // all must bring the same operand, which is the result
};
Lanes LanesOf(ir::Opcode op);

enum class Varies : uint8_t {
  kUniformInGrid,   // the same in all threads
  kUniformInBlock,  // the same in all threads of a block
  kUniformInWarp,   // the same in all lanes of a warp
  kAffineInTid,     // the thread's own coordinate
  kAffineInLane,    // the lane's number
  kVarying,         // of the lane, but no sequence
  kTime,            // another value at each read, also in one thread
};
Varies VariesOf(ir::Special special);

}  // namespace ptx2cpu::analysis
