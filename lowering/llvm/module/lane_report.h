// A report on a kernel's loops over threads: whether they became vectors and of which width, the forms of
// their memory accesses, and why a loop has no vectors. It is for people, and for tests that keep kernels
// from losing vectors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ptx2cpu::ir {
struct Module;
}  // namespace ptx2cpu::ir

namespace ptx2cpu::lowering {

struct LaneReport {
  // Accesses of memory and operations by what they are in vectors.
  struct Counts {
    uint32_t uniform = 0;      // one for all threads
    uint32_t consecutive = 0;  // one vector access
    uint32_t tested = 0;       // the same where a test at run time finds the addresses consecutive
    uint32_t strided = 0;      // a vector access with gaps, or downward
    uint32_t gathers = 0;      // an address of each thread's own; stores: scatters
    uint32_t one_by_one = 0;   // thread by thread, with scalar code
  };
  struct Slow {
    uint32_t ptx_line = 0;   // 0: not known
    bool is_gather = false;  // else one by one
  };
  // A loop over the threads of a row or over the lanes of a warp.
  struct Loop {
    uint32_t first_line = 0, last_line = 0;  // PTX lines of its code
    uint32_t width = 1;                      // threads that a vector holds; 1: no vectors
    uint32_t loops = 0;                      // of the program, within
    bool within_rows = false;                // vectors end where a row of the data does
    Counts loads, stores;
    uint32_t others_one_by_one = 0;  // atomics, calls and the like
    std::vector<Slow> slow;          // gathers, and what runs thread by thread
    std::string why;                 // at width 1
    uint32_t why_line = 0;
  };
  std::vector<Loop> loops;
};

// A line for each loop and for what is slow in it, with the PTX lines of `module`. Ends with a newline.
std::string Render(const LaneReport& report, const ir::Module& module);

}  // namespace ptx2cpu::lowering
