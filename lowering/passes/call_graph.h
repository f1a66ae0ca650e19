// The call graph, and the functions in which a lane may have to wait.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

class CallGraph {
 public:
  explicit CallGraph(const ir::Module& module);

  struct Node {
    // Leads to a barrier, a warp collective, an exit, or a loop that waits for another thread; so its caller
    // must know. Or it has local variables whose addresses may be in 32 bits: they must be the kernel's.
    bool suspends = false;
    bool recursive = false;
    bool address_taken = false;
    bool calls_indirectly = false;
    size_t size = 0;  // instructions
    uint32_t call_sites = 0;
    uint32_t most_calls = 0;  // those in the caller with most of them
    std::vector<uint32_t> calls;
  };
  const Node& operator[](uint32_t function) const { return nodes_[function]; }
  // All functions, callees before their callers where these are not recursive.
  const std::vector<uint32_t>& order() const { return order_; }
  // Functions that suspend and that an indirect call may reach.
  std::vector<uint32_t> IndirectTargets() const;

 private:
  void Scan(const ir::Function& f, Node& node);
  void FindSuspending();
  void FindRecursive();
  std::vector<Node> nodes_;
  std::vector<uint32_t> order_;
};

// Flags the calls that may return what other threads have stored meanwhile (kVolatile): a loop in which such
// a call decides waits for them, though its read is in another function.
void FlagCallsThatAsk(ir::Module& module);

}  // namespace ptx2cpu::lowering
