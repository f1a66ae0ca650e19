// Counts the memory that a device reports for graphs. Here an address has its memory from the creation of the
// node on, and pages are allocated when they are written. On a GPU an address gets memory when a graph is
// launched, from memory that earlier launches no longer need. Programs observe how that memory grows, so it
// is counted as on a GPU.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::driver {

// A node of a launch, in an order in which the nodes may run.
struct MemoryStep {
  cuda::CUdeviceptr address = 0;
  size_t bytes = 0;  // 0: a free
  int device = 0;
};

class GraphFootprint {
 public:
  static GraphFootprint& Get();

  // A launch that is done with `ticket`. Takes pieces that no other stream still uses; else new ones.
  void Launch(std::span<const MemoryStep> steps, const rt::Ticket& ticket);
  // Called when memory is freed other than by a node, or ends with its graph.
  void Free(cuda::CUdeviceptr address);
  // Frees memory that is not in use.
  void Trim(int device);

  struct Sizes {
    size_t used = 0, used_high = 0;
  };
  Sizes SizesOf(int device);
  void ResetHigh(int device);

 private:
  struct Piece {
    size_t bytes = 0;
    int device = 0;
    cuda::CUdeviceptr address = 0;  // 0: free
    rt::Ticket last;                // its latest user
  };
  Piece& Find(const MemoryStep& step, const rt::Ticket& ticket);
  size_t Used(int device) const;
  size_t& High(int device);

  std::mutex mutex_;  // all that follows
  std::vector<Piece> pieces_;
  std::vector<size_t> high_;  // by device
};

}  // namespace ptx2cpu::driver
