// Independent pieces of one call on the threads of the pool.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/worker/fault.h"

namespace ptx2cpu::libraries {

// Thrown by ForEach on the thread that called it, when a piece met a bad address.
struct PieceFault {
  rt::FaultRecord record;
};

namespace internal {
using Piece = void (*)(const void* body, int64_t index);
void RunPieces(int64_t count, Piece piece, const void* body);
}  // namespace internal

// Calls body(0) ... body(count - 1), in any order and on any thread of the pool, and returns when all have
// ended. Pieces are claimed one at a time, so each had better last some microseconds.
template <typename Body>
void ForEach(int64_t count, const Body& body) {
  if (count == 1) return body(0);
  internal::RunPieces(
      count, [](const void* object, int64_t index) { (*static_cast<const Body*>(object))(index); }, &body);
}

// How many threads can work on the pieces of one call.
int64_t Threads();

// Calls body(begin, end) for parts of 0 ... count, each of at least `grain` indices where there are as many.
template <typename Body>
void ForRanges(int64_t count, int64_t grain, const Body& body) {
  int64_t parts = count / grain;
  if (parts > 4 * Threads()) parts = 4 * Threads();
  if (parts <= 1) return count > 0 ? body(int64_t{0}, count) : void();
  ForEach(parts, [&](int64_t part) {
    const int64_t each = count / parts, more = count % parts;
    const int64_t begin = part * each + (part < more ? part : more);
    body(begin, begin + each + (part < more));
  });
}

}  // namespace ptx2cpu::libraries
