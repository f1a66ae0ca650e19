// Makes a tree smaller while something holds for it.
#include "tests/random/generator/reduce_body.h"
#include "tests/random/generator/tree.h"

namespace ptx2cpu::random_kernels {

namespace {

class Reducer {
 public:
  Reducer(Tree tree, bool (*keep)(const Tree&, void*), void* context)
      : tree_(std::move(tree)), keep_(keep), context_(context) {}

  Tree Run() {
    do {
      changed_ = false;
      const auto keeps = [this] { return Keeps(); };
      ShrinkBody(tree_.body, keeps);
      for (Function& function : tree_.functions) ShrinkBody(function.body, keeps);
      ShrinkLaunch();
    } while (changed_);
    return std::move(tree_);
  }

 private:
  bool Keeps() {
    const bool holds = keep_(tree_, context_);
    changed_ |= holds;
    return holds;
  }

  void ShrinkLaunch() {
    const uint32_t grid = tree_.grid, block = tree_.block;
    if (grid > 1) {
      tree_.grid = 1;
      if (!Keeps()) tree_.grid = grid;
    }
    for (const uint32_t smaller : {1u, 2u, 31u, 32u, 33u, 64u}) {
      if (smaller >= block) return;
      tree_.block = smaller;
      if (Keeps()) return;
      tree_.block = block;
    }
  }

  Tree tree_;
  bool (*keep_)(const Tree&, void*);
  void* context_;
  bool changed_ = false;
};

}  // namespace

Tree Reduce(Tree tree, bool (*keep)(const Tree&, void*), void* context) {
  return Reducer(std::move(tree), keep, context).Run();
}

}  // namespace ptx2cpu::random_kernels
