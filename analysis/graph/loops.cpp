#include "analysis/graph/loops.h"

#include <algorithm>
#include <utility>

namespace ptx2cpu::analysis {

namespace {

// The depth-first walk whose reverse post order is Cfg::order.
struct Walk {
  std::vector<uint32_t> nodes;    // in pre-order
  std::vector<uint32_t> number;   // by node: its place there, kNoNode when not reached
  std::vector<uint32_t> last_of;  // by node: number after that of its last descendant
  bool Descends(uint32_t node, uint32_t from) const {
    return number[from] <= number[node] && number[node] < last_of[from];
  }
};

Walk WalkFrom(const Cfg& g) {
  Walk walk;
  walk.number.assign(g.size(), kNoNode);
  walk.last_of.assign(g.size(), 0);
  std::vector<std::pair<uint32_t, size_t>> path;
  const auto visit = [&](uint32_t node) {
    walk.number[node] = static_cast<uint32_t>(walk.nodes.size());
    walk.nodes.push_back(node);
    path.push_back({node, 0});
  };
  visit(g.entry);
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == g.successors[node].size()) {
      walk.last_of[node] = static_cast<uint32_t>(walk.nodes.size());
      path.pop_back();
    } else if (const uint32_t to = g.successors[node][next++]; walk.number[to] == kNoNode) {
      visit(to);
    }
  }
  return walk;
}

// The result of Havlak's algorithm. A loop is named by its header, which is a node.
class Nesting {
 public:
  explicit Nesting(const Cfg& g)
      : is_header(g.size()),
        irreducible(g.size()),
        around(g.size(), kNoNode),
        g_(g),
        walk_(WalkFrom(g)),
        stands_for_(g.size()),
        entries_(g.size()) {
    for (uint32_t node = 0; node < g.size(); ++node) stands_for_[node] = node;
    for (auto node = walk_.nodes.rbegin(); node != walk_.nodes.rend(); ++node) Collapse(*node);
  }

  std::vector<bool> is_header, irreducible;
  std::vector<uint32_t> around;  // by node: header of the innermost loop that it is in and not the header of

 private:
  uint32_t Outermost(uint32_t node) {
    uint32_t last = node;
    while (stands_for_[last] != last) last = stands_for_[last];
    while (node != last) node = std::exchange(stands_for_[node], last);
    return last;
  }

  // Merges the descendants of `header` that reach it with the header.
  void Collapse(uint32_t header) {
    std::vector<uint32_t> work;
    const auto reach = [&](uint32_t from) {
      const uint32_t node = Outermost(from);
      if (node == header) return;
      stands_for_[node] = header;
      around[node] = header;
      work.push_back(node);
    };
    for (const uint32_t from : g_.predecessors[header]) {
      if (!Reached(from) || !walk_.Descends(from, header)) continue;
      is_header[header] = true;
      reach(from);
    }
    while (!work.empty()) {
      const uint32_t node = work.back();
      work.pop_back();
      Enter(header, g_.predecessors[node], reach);
      Enter(header, std::exchange(entries_[node], {}), reach);
    }
  }

  template <typename Reach>
  void Enter(uint32_t header, const std::vector<uint32_t>& predecessors, const Reach& reach) {
    for (const uint32_t from : predecessors) {
      if (!Reached(from)) continue;
      if (walk_.Descends(Outermost(from), header)) {
        reach(from);
      } else {  // another way into the loop, which may be one into those around it, too
        irreducible[header] = true;
        entries_[header].push_back(from);
      }
    }
  }

  bool Reached(uint32_t node) const { return walk_.number[node] != kNoNode; }

  const Cfg& g_;
  const Walk walk_;
  std::vector<uint32_t> stands_for_;            // by node: the header that it became one with
  std::vector<std::vector<uint32_t>> entries_;  // by header: where else control enters from
};

// Numbers loops so that each is followed by those within it, and in the order of their headers.
std::vector<uint32_t> NumberLoops(const Cfg& g, const Nesting& nesting, LoopForest& forest) {
  std::vector<uint32_t> count(g.size(), 0);  // by header: of its loop and those within it
  std::vector<uint32_t> headers;
  for (const uint32_t node : g.order) {
    if (nesting.is_header[node]) headers.push_back(node);
  }
  // Outer headers come before inner ones in reverse post order.
  for (auto header = headers.rbegin(); header != headers.rend(); ++header) {
    const uint32_t outer = nesting.around[*header];
    ++count[*header];
    if (outer != kNoNode) count[outer] += count[*header];
  }
  std::vector<uint32_t> index(g.size(), kNoNode), next(g.size(), 0);
  uint32_t next_outermost = 0;
  forest.loops.resize(headers.size());
  for (const uint32_t header : headers) {
    const uint32_t outer = nesting.around[header];
    uint32_t& place = outer == kNoNode ? next_outermost : next[outer];
    index[header] = place;
    next[header] = place + 1;
    place += count[header];
    Loop& loop = forest.loops[index[header]];
    loop.header = header;
    loop.irreducible = nesting.irreducible[header];
    loop.last = index[header] + count[header];
    if (outer != kNoNode) {
      loop.parent = index[outer];
      loop.depth = forest.loops[loop.parent].depth + 1;
    }
  }
  return index;
}

// A loop's own blocks, then those of the loops within it.
void PlaceBlocks(const Cfg& g, LoopForest& forest) {
  std::vector<uint32_t> own(forest.loops.size(), 0);
  for (const uint32_t node : g.order) {
    if (forest.innermost[node] != kNoNode) ++own[forest.innermost[node]];
  }
  std::vector<uint32_t> first(forest.loops.size() + 1, 0);
  for (size_t l = 0; l < forest.loops.size(); ++l) first[l + 1] = first[l] + own[l];
  forest.blocks.resize(first.back());
  for (size_t l = 0; l < forest.loops.size(); ++l) {
    Loop& loop = forest.loops[l];
    loop.blocks = std::span(forest.blocks).subspan(first[l], first[loop.last] - first[l]);
  }
  for (const uint32_t node : g.order) {
    if (forest.innermost[node] != kNoNode) forest.blocks[first[forest.innermost[node]]++] = node;
  }
}

// Finds the outermost loop that an edge leaves. The loops around a block are searched from both ends in turn,
// so that an edge takes time with the logarithm of the depth.
class Outermost {
 public:
  explicit Outermost(const LoopForest& forest) : forest_(forest), jump_(forest.loops.size()) {
    for (uint32_t l = 0; l < jump_.size(); ++l) {
      const uint32_t parent = forest.loops[l].parent;
      if (parent == kNoNode) {
        jump_[l] = l;
        continue;
      }
      const uint32_t far = jump_[parent], further = jump_[far];
      const auto depth = [&](uint32_t loop) { return forest.loops[loop].depth; };
      jump_[l] = depth(parent) - depth(far) == depth(far) - depth(further) ? further : parent;
    }
  }

  // kNoNode: the edge leaves none.
  uint32_t LeftBy(uint32_t from, uint32_t to) const {
    uint32_t left = forest_.innermost[from];
    if (left == kNoNode || forest_.Contains(left, to)) return kNoNode;
    while (true) {
      const uint32_t parent = forest_.loops[left].parent;
      if (parent == kNoNode || forest_.Contains(parent, to)) return left;
      left = forest_.Contains(jump_[left], to) ? parent : jump_[left];
    }
  }

 private:
  const LoopForest& forest_;
  std::vector<uint32_t> jump_;  // by loop: one around it (Myers, "An applicative random-access stack", 1983)
};

// Counts the edges that leave each loop, by sums over the loops within it: an edge counts from the innermost
// loop that it leaves to the outermost.
void FindExits(const Cfg& g, LoopForest& forest) {
  const Outermost outermost(forest);
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  struct Sum {
    int64_t count = 0, numbers = 0;
  };
  std::vector<Sum> sums(forest.loops.size());
  for (uint32_t node = 0; node < g.size(); ++node) {
    for (const uint32_t to : g.successors[node]) {
      const uint32_t left = to == g.exit ? kNoNode : outermost.LeftBy(node, to);
      if (left == kNoNode) continue;
      const auto number = static_cast<int64_t>(edges.size());
      edges.push_back({node, to});
      forest.loops[left].exits.push_back({node, to});
      const uint32_t in = forest.innermost[node], around = forest.loops[left].parent;
      sums[in].count += 1;
      sums[in].numbers += number;
      forest.loops[in].least_depth_left =
          std::min(forest.loops[in].least_depth_left, forest.loops[left].depth);
      if (around == kNoNode) continue;
      sums[around].count -= 1;
      sums[around].numbers -= number;
    }
  }
  for (size_t l = forest.loops.size(); l-- > 0;) {
    Loop& loop = forest.loops[l];
    if (loop.least_depth_left > loop.depth) loop.least_depth_left = kNoNode;
    loop.exit_count = static_cast<uint32_t>(sums[l].count);
    if (loop.exit_count == 1) loop.only_exit = edges[static_cast<size_t>(sums[l].numbers)];
    if (loop.parent == kNoNode) continue;
    sums[loop.parent].count += sums[l].count;
    sums[loop.parent].numbers += sums[l].numbers;
    Loop& around = forest.loops[loop.parent];
    around.least_depth_left = std::min(around.least_depth_left, loop.least_depth_left);
  }
}

}  // namespace

LoopForest Loops(const Cfg& g) {
  const Nesting nesting(g);
  LoopForest forest;
  const std::vector<uint32_t> index = NumberLoops(g, nesting, forest);
  forest.innermost.assign(g.size(), kNoNode);
  for (const uint32_t node : g.order) {
    const uint32_t header = nesting.is_header[node] ? node : nesting.around[node];
    if (header != kNoNode) forest.innermost[node] = index[header];
  }
  PlaceBlocks(g, forest);
  for (uint32_t node = 0; node < g.size(); ++node) {
    for (const uint32_t to : g.successors[node]) {
      const uint32_t header = index[to];
      if (header != kNoNode && forest.Contains(header, node)) forest.loops[header].latches.push_back(node);
    }
  }
  FindExits(g, forest);
  return forest;
}

}  // namespace ptx2cpu::analysis
