// Random trees, and smaller ones.
#include "tests/random/generator/random_words.h"
#include "tests/random/generator/reduce_body.h"
#include "tests/random/patterns/tree.h"

namespace ptx2cpu::random_patterns {

namespace {

using random_kernels::RandomWords;
using Shape = std::array<uint32_t, 3>;

struct KindFacts {
  uint32_t weight[2];  // together, parted
  uint32_t arms;
};
constexpr KindFacts kKinds[] = {
#define KIND(name, together, parted, arms) {{together, parted}, arms},
#include "tests/random/patterns/kinds.def"
#undef KIND
};

constexpr Shape kBlocks[] = {{32, 1, 1}, {64, 1, 1},  {128, 1, 1}, {256, 1, 1}, {8, 8, 1},  {16, 16, 1},
                             {24, 5, 1}, {33, 1, 1},  {1, 1, 1},   {32, 8, 1},  {4, 4, 4},  {5, 7, 3},
                             {16, 2, 2}, {100, 1, 1}, {31, 1, 1},  {2, 64, 1},  {64, 4, 1}, {1, 40, 1},
                             {3, 3, 3},  {48, 2, 1},  {32, 4, 1},  {16, 4, 1},  {8, 4, 2},  {192, 1, 1},
                             {32, 2, 2}, {12, 12, 1}};
constexpr Shape kGrids[] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {1, 3, 1}, {5, 1, 1}};

class Grower {
 public:
  explicit Grower(uint64_t seed) : random_(seed) {}

  Tree Run(uint64_t seed) {
    Tree tree;
    tree.seed = seed;
    tree.block = random_.Chance(6) ? Shape{1 + random_.Below(160), 1 + random_.Below(2), 1}
                                   : kBlocks[random_.Below(std::size(kBlocks))];
    tree.grid = kGrids[random_.Below(std::size(kGrids))];
    tree.states_block = random_.Chance(6);
    budget_ = 3 + random_.Below(11);
    tree.body = List(2 + random_.Below(5), false, 0);
    return tree;
  }

 private:
  Body List(uint32_t length, bool parted, uint32_t depth) {
    Body body;
    while (body.size() < length && budget_ > 0) body.push_back(Statement(parted, depth));
    return body;
  }

  Kind Choose(bool parted, uint32_t depth) {
    uint32_t total = 0;
    std::array<uint32_t, std::size(kKinds)> weights{};
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      if (depth >= 3 && kKinds[i].arms != 0) continue;
      total += weights[i] = kKinds[i].weight[parted];
    }
    uint32_t at = random_.Below(total);
    for (size_t i = 0;; ++i) {
      if (at < weights[i]) return static_cast<Kind>(i);
      at -= weights[i];
    }
  }

  Node Statement(bool parted, uint32_t depth) {
    --budget_;
    Node node{.kind = Choose(parted, depth)};
    for (uint32_t& word : node.word) word = random_.Word();
    const bool keeps_together = node.kind == Kind::kUniformIf || node.kind == Kind::kLoop;
    for (uint32_t i = 0; i < kKinds[static_cast<size_t>(node.kind)].arms; ++i)
      node.arms.push_back(List(1 + random_.Below(3), parted || !keeps_together, depth + 1));
    return node;
  }

  RandomWords random_;
  uint32_t budget_ = 0;
};

}  // namespace

Tree Grow(uint64_t seed) { return Grower(seed).Run(seed); }

size_t CountNodes(const Tree& tree) { return random_kernels::CountStatements(tree.body); }

Tree Reduce(Tree tree, bool (*keep)(const Tree&, void*), void* context) {
  for (bool changed = true; changed;) {
    changed = false;
    const auto keeps = [&] {
      const bool holds = keep(tree, context);
      changed |= holds;
      return holds;
    };
    random_kernels::ShrinkBody(tree.body, keeps);
    for (Shape* shape : {&tree.grid, &tree.block}) {
      for (uint32_t& size : *shape) {
        const uint32_t before = size;
        for (const uint32_t smaller : {1u, 2u, 8u, 16u, 32u, 33u, 64u}) {
          if (smaller >= before) break;
          size = smaller;
          if (keeps()) break;
          size = before;
        }
      }
    }
  }
  return tree;
}

}  // namespace ptx2cpu::random_patterns
