// The contents of a drawing of a function's control flow, in any phase; dot.h draws it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/values/uniformity.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct CfgViewOptions {
  enum class Body : uint8_t { kPtx, kIr, kNone };
  Body body = Body::kPtx;  // PTX needs Module::text; without it the IR is shown
  bool dominator_tree = false;
  // Replaces the text of a block; empty: by `body`.
  std::function<std::string(ir::BlockId)> block_text = {};
};

struct CfgView {
  enum class Role : uint8_t { kPlain, kBarrier, kCollective, kPeeledBranch, kJoin, kLoop };
  struct Node {
    ir::BlockId block;
    ir::Level level = ir::Level::kLane;
    Role role = Role::kPlain;
    std::string title;               // "^b3 $L__BB0_2"
    std::string why;                 // of a boundary: the barrier and PTX line it exists for
    std::vector<std::string> lines;  // instructions
    bool branches = false;           // several ways out, and how the decision may differ:
    Uniformity decision = Uniformity::kBlock;
    uint32_t cluster = ~0u;    // innermost parallel region
    uint32_t dominator = ~0u;  // node number, with dominator_tree
  };
  struct Edge {
    uint32_t from, to;  // node numbers
    std::string label;  // the predicate
    bool divergent = false;
    bool back = false;
  };
  struct Cluster {    // a parallel region: what becomes, or is, a loop over warps or lanes
    ir::Level level;  // kWarp: over lanes; kBlock: over warps (or all threads in the flat form)
    std::string title;
    uint32_t parent = ~0u;
  };
  std::string title;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Cluster> clusters;   // outer before inner
  std::vector<std::string> notes;  // why loops are split
};

CfgView MakeCfgView(const ir::Module& module, const ir::Function& f, const CfgViewOptions& options = {});

}  // namespace ptx2cpu::analysis
