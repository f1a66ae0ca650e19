// What the threads of a kernel do, counted in the IR as translation makes it: by block of code, then times
// how often threads enter it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>

#include "ir/function.h"
#include "lowering/passes.h"

namespace ptx2cpu::tool::profile {

// The work of one thread, or of all.
struct Work {
  // Float operations by bits; a multiply-add is two. Operations of matrix instructions are `matrix`.
  double float16 = 0, float32 = 0, float64 = 0, matrix = 0;
  double special = 0;                          // of them divisions, roots, sines, logarithms, powers
  double integer = 0;                          // instructions
  double loaded = 0, stored = 0;               // bytes of global memory, and through generic addresses
  double shared = 0, local = 0, constant = 0;  // bytes, both ways; constant: and parameters
  double atomics = 0, textures = 0, barriers = 0, collectives = 0, branches = 0;
  double instructions = 0;
  double copies_of_unknown_size = 0;  // asynchronous ones, whose bytes are not counted

  double floats() const { return float16 + float32 + float64 + matrix; }
  double global() const { return loaded + stored; }
  void Add(const Work& other, double times);
};

Work WorkOf(const ir::Function& f, ir::BlockId block);

// How often threads entered each block of functions[0] and of what it calls.
struct CountedWork {
  Work total;
  double counted_threads = 0;                  // that ran counting code
  std::map<uint32_t, double> entries_by_line;  // of PTX: how often threads executed it
  std::vector<double> entries;                 // by block of functions[0]
};
// `counters`: as InsertCounts numbers them; all of it times `scale`.
CountedWork Count(const ir::Module& module, std::span<const uint64_t> counters, double threads);

}  // namespace ptx2cpu::tool::profile
