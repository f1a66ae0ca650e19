#include "analysis/graph/control_dependence.h"

#include <algorithm>

namespace ptx2cpu::analysis {

ControlDependence ControlDependences(const Cfg& g, const DominatorTree& post_dominators) {
  ControlDependence result;
  result.sources.resize(g.size());
  for (uint32_t branch : g.order) {
    if (g.successors[branch].size() < 2) continue;
    uint32_t join = post_dominators.parent[branch];
    for (uint32_t successor : g.successors[branch]) {
      // Everything from the successor up to where the arms meet again depends on this branch.
      for (uint32_t node = successor; node != join && node != kNoNode; node = post_dominators.parent[node]) {
        auto& list = result.sources[node];
        if (std::find(list.begin(), list.end(), branch) == list.end()) list.push_back(branch);
      }
    }
  }
  return result;
}

}  // namespace ptx2cpu::analysis
