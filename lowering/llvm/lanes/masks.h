// Computes the lanes that take each edge of a lane region, and skips code when no lane is active.
#pragma once

#include <map>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneMasks : LanePart {
 public:
  using LanePart::LanePart;
  const Mask& Of(const EdgeRef& edge) const { return edges_.at(edge); }
  void Set(const EdgeRef& edge, const Mask& mask) { edges_[edge] = mask; }
  Mask Either(const std::vector<EdgeRef>& edges);
  Mask EdgeMask(const Mask& mask, llvm::Value* condition);

  struct Guard {
    llvm::BasicBlock *before = nullptr, *skip = nullptr;
  };
  Guard Open(const Mask& mask);
  void Close(const Guard& guard, const std::vector<ir::ValueId>& values, const std::vector<EdgeRef>& edges);

 private:
  std::map<EdgeRef, Mask> edges_;
};

}  // namespace ptx2cpu::lowering
