// Finds the counters that move an address from trip to trip of a loop, or from one block of threads to the
// next. Reads IR only.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/definitions.h"

namespace ptx2cpu::lowering {

using analysis::DefinitionOf;

constexpr int kDepth = 10, kDepthOfBlock = 18;  // definitions that lie between an address and its counter

// A counter in a sum: a slot of the block or the parameter of a loop, and its factor. Widening and wrapping
// around are ignored: where that matters, other memory is prefetched.
struct Counter {
  ir::ValueId step;
  int64_t factor = 1;
  std::vector<ir::ValueId> factors = {};  // further ones
  std::optional<ir::ValueId> param = {};  // none: a slot
  ir::ValueId now = {};                   // of a slot: what was read of it
};

// The counter of a loop; nothing where there is none, or more than one.
std::optional<Counter> CounterIn(const ir::Function& f, ir::ValueId id, int depth);
// The counter %ctaid.x; it has no step value, since its step is one.
std::optional<Counter> BlockIn(const ir::Function& f, ir::ValueId id, int depth);
// The number of bytes between the addresses of neighbouring blocks in a row of the grid, for the block's
// required shape; nothing where it is unknown.
std::optional<int64_t> BytesBetweenBlocks(const ir::Function& f, ir::ValueId id);
// The pointer among the kernel's parameters that an address is computed from, by its offset.
std::optional<uint64_t> PointerIn(const ir::Function& f, ir::ValueId id, int depth);
bool DependsOnGrid(const ir::Function& f, ir::ValueId id, int depth);

// The test that decides whether a loop continues: a parameter of its head after a step is compared with a
// bound.
struct Test {
  ir::ValueId param, step, bound;
};

std::optional<Test> TestOf(const ir::Function& f, ir::BlockId head);
// The value of a loop head's parameter in the first trip.
std::optional<ir::ValueId> FirstArgument(const ir::Function& f, ir::ValueId param);

// The bound of a loop whose counter is a slot: the value with which the sum of the slot and its step is
// compared.
std::optional<ir::ValueId> BoundOfSlot(const ir::Function& f, const Counter& counter);

}  // namespace ptx2cpu::lowering
