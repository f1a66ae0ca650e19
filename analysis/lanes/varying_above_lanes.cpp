#include "analysis/lanes/varying_above_lanes.h"

#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

using ir::Level;

namespace {

// Branches above lane level go the same way for all threads that the code is for, so only values make values
// differ. An instruction is emitted once, in the form of its operands: a sequence is a vector, also where the
// result is uniform.
class VaryingValueFinder {
 public:
  explicit VaryingValueFinder(const ir::Function& f) : f_(f), shapes_(f.values.size()) {}

  std::vector<bool> Run() {
    do {
      changed_ = false;
      for (const ir::Block& block : f_.blocks) {
        if (!block.removed && block.level != Level::kLane) Visit(block);
      }
    } while (changed_);
    std::vector<bool> varying(f_.values.size());
    for (uint32_t i = 0; i < varying.size(); ++i) {
      const ir::BlockId block = f_.values[i].block;
      const bool of_block = block.valid() && f_.at_block(block).level == Level::kBlock;
      varying[i] = shapes_[i].kind > (of_block ? Uniformity::kBlock : Uniformity::kWarp);
    }
    return varying;
  }

 private:
  void Visit(const ir::Block& block) {
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = f_.at_inst(id);
      operands_.clear();
      for (ir::ValueId operand : inst.operands) operands_.push_back(shapes_[operand.index]);
      for (size_t n = 0; n < inst.results.size(); ++n) {
        Raise(inst.results[n], transfer_.Result(inst, n, block.level, operands_));
      }
      for (const ir::Edge& edge : inst.edges) {
        const ir::Block& to = f_.at_block(edge.to);
        if (to.level == Level::kLane) continue;
        for (size_t n = 0; n < edge.args.size(); ++n) Raise(to.params[n], shapes_[edge.args[n].index]);
      }
    }
  }

  void Raise(ir::ValueId value, const ThreadShape& shape) {
    ThreadShape joined = Join(shapes_[value.index], shape, group_);
    if (joined == shapes_[value.index]) return;
    shapes_[value.index] = joined;
    changed_ = true;
  }

  // A block's shape, where it is promised, makes coordinates the same in each warp.
  static ThreadGroup GroupOf(const ir::Function& f) {
    ThreadGroup group = ThreadGroup::WarpOf(PromisedShape(f));
    group.at_once = true;
    group.forms = false;
    return group;
  }

  const ir::Function& f_;
  const ThreadGroup group_ = GroupOf(f_);
  const ThreadTransfer transfer_{f_, group_};
  std::vector<ThreadShape> shapes_, operands_;
  bool changed_ = false;
};

}  // namespace

std::vector<bool> FindVaryingAboveLanes(const ir::Function& f) { return VaryingValueFinder(f).Run(); }

}  // namespace ptx2cpu::analysis
