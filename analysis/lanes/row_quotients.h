// Quotients and remainders that find a thread's place in rows of data, where consecutive threads have
// consecutive numbers, as in
//
//   i = blockIdx.x * blockDim.x + threadIdx.x;  column = i % width;  row = i / width;  plane = i / (width *
//   height)
//
// Threads of one row of the data have one quotient, and remainders that increase by one from thread to
// thread. Reads IR only.
#pragma once

#include <optional>

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

struct RowQuotients {
  ir::ValueId place;                  // one more from thread to thread
  std::vector<ir::ValueId> results;   // its quotients and rests
  std::vector<ir::ValueId> divisors;  // uniform, each once
  std::vector<size_t> divisor_of;     // by result
  bool is_signed = false;             // some division is
};

// Shorter rows of data are not worth a step of their own.
inline constexpr uint64_t kLeastRow = 8;

// For a region that a row's threads run. Nothing: it divides places of several kinds, or none.
std::optional<RowQuotients> FindRowQuotients(const ir::Function& f, const LaneRegion& region,
                                             const std::function<bool(ir::ValueId)>& varies_outside);

bool IsQuotient(ir::Opcode op);
bool IsRest(ir::Opcode op);

}  // namespace ptx2cpu::analysis
