#include "analysis/regions/spin_loops.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/graph/back_edges.h"
#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;
using ir::Opcode;

bool MayBeRead(const ir::Inst& inst) {
  const ir::Space space = inst.attrs.space;
  const bool shared_memory =
      space == ir::Space::kGlobal || space == ir::Space::kShared || space == ir::Space::kGeneric;
  return shared_memory && (inst.attrs.flags & ir::kNonCoherent) == 0;
}

// Reads that other threads' stores can change, fences and sleeps aside: weak loads count where one of those
// is.
bool MayWait(const ir::Inst& inst) {
  return inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas ||
         (inst.op == Opcode::kLoad && (inst.attrs.order != ir::MemoryOrder::kWeak || MayBeRead(inst)));
}

bool Pauses(const ir::Inst& inst) { return inst.op == Opcode::kFence || inst.op == Opcode::kNanosleep; }

// Loops by their headers, and whether nothing in one can wait: it neither reads what is meant for other
// threads, nor reads plainly and pauses. A loop's blocks are next to each other in the forest, so that sums
// answer for all of the loops within each other.
class LoopsOfHeaders {
 public:
  LoopsOfHeaders(const ir::Function& f, PlainReads plain)
      : forest_(Loops(BuildCfg(f))), plain_(plain), loop_of_(f.blocks.size(), kNoNode), sums_(1) {
    for (uint32_t l = 0; l < forest_.loops.size(); ++l) loop_of_[forest_.loops[l].header] = l;
    for (const uint32_t block : forest_.blocks) {
      Sums sums = sums_.back();
      for (const ir::InstId id : f.at_block({block}).insts) {
        const ir::Inst& inst = f.at_inst(id);
        const bool is_weak = inst.op == Opcode::kLoad && inst.attrs.order == ir::MemoryOrder::kWeak;
        if (MayWait(inst)) ++(is_weak ? sums.weak : sums.strong);
        if (Pauses(inst)) ++sums.pauses;
      }
      sums_.push_back(sums);
    }
  }

  // A back edge's target is the header of a loop, unless another walk met another entry of it first: then
  // nothing is known.
  bool Contains(BlockId header, BlockId block) const {
    const uint32_t loop = loop_of_[header.index];
    return loop == kNoNode || forest_.Contains(loop, block.index);
  }
  bool Runs(BlockId header) const {
    const uint32_t loop = loop_of_[header.index];
    if (loop == kNoNode) return false;
    const std::span<const uint32_t> blocks = forest_.loops[loop].blocks;
    const auto first = static_cast<size_t>(blocks.data() - forest_.blocks.data());
    const Sums &before = sums_[first], &after = sums_[first + blocks.size()];
    const bool plain_count = plain_ == PlainReads::kMayWait || after.pauses != before.pauses;
    return after.strong == before.strong && (after.weak == before.weak || !plain_count);
  }

 private:
  struct Sums {  // of instructions
    uint32_t strong = 0, weak = 0, pauses = 0;
  };

  const LoopForest forest_;
  const PlainReads plain_;
  std::vector<uint32_t> loop_of_;  // by header
  std::vector<Sums> sums_;         // of the forest's first n blocks
};

// What the loops of a function share, so that each costs what it holds.
struct Scratch {
  Scratch(const ir::Function& f, PlainReads plain)
      : plain(plain),
        loops_of(f, plain),
        predecessors(ir::Predecessors(f)),
        inside(f.blocks.size()),
        seen(f.values.size()) {}
  const PlainReads plain;
  const LoopsOfHeaders loops_of;
  const std::vector<std::vector<BlockId>> predecessors;
  std::vector<uint32_t> inside, seen;  // number of the last loop that holds the block, has met the value
  uint32_t loops = 0;
};

// One loop: its blocks from which the back edge is reached without passing its target.
class Candidate {
 public:
  Candidate(const ir::Function& f, Scratch& scratch, BlockId latch, BlockId head)
      : f_(f), scratch_(scratch), number_(++scratch.loops) {
    Reach(head);
    Reach(latch);
    for (size_t i = 1; i < blocks_.size(); ++i) {
      for (BlockId from : scratch_.predecessors[blocks_[i].index]) {
        if (scratch_.loops_of.Contains(head, from)) Reach(from);
      }
    }
    for (BlockId block : blocks_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        pauses_ |= Pauses(inst);
        may_wait_ |= MayWait(inst);
        yields_ |= ir::IsYield(inst.op) && inst.op != Opcode::kLeave;
        meets_ |= ir::IsBarrier(inst.op) || ir::IsCollective(inst.op);
      }
    }
  }

  // The read that decides whether the loop continues, if another thread's store can change it.
  const ir::Inst* Decider() {
    if (!may_wait_ || yields_) return nullptr;
    for (BlockId block : blocks_) {
      bool leaves = false;
      for (const ir::Edge& edge : f_.successors(block)) leaves |= !Inside(edge.to);
      if (leaves) Branch(block);
    }
    Drain();
    if (deciders_.empty() && meets_) DecideThroughMemory();
    return deciders_.empty() ? nullptr : deciders_.back();
  }

  // After Decider.
  bool Probes() {
    const auto moves = [&](const ir::Inst* read) { return FollowsTrips(read->operands[0]); };
    return !meets_ && std::ranges::all_of(deciders_, moves);
  }
  bool by_memory() const { return through_memory_; }
  bool WaitsSeldom() const {
    return through_memory_ || std::ranges::all_of(deciders_, [this](const ir::Inst* read) {
             return TakesNext(read) || ReadsBack(read);
           });
  }

 private:
  bool Inside(BlockId block) const { return scratch_.inside[block.index] == number_; }
  void Reach(BlockId block) {
    if (Inside(block)) return;
    scratch_.inside[block.index] = number_;
    blocks_.push_back(block);
  }
  void Push(ir::ValueId value) {
    uint32_t& seen = scratch_.seen[value.index];
    if (seen == number_ || !Inside(f_.at_value(value).block)) return;
    seen = number_;
    work_.push_back(value);
  }
  void Branch(BlockId block) {
    const ir::Inst& end = f_.terminator(block);
    if (!end.operands.empty() && end.edges.size() > 1) Push(end.operands[0]);
  }

  void Drain() {
    while (!work_.empty()) {
      const ir::ValueId value = work_.back();
      work_.pop_back();
      Trace(value);
    }
  }

  void Trace(ir::ValueId value) {
    const ir::Value& info = f_.at_value(value);
    if (!info.def.valid()) return TraceParam(info);
    const ir::Inst& inst = f_.at_inst(info.def);
    if (Waits(inst)) deciders_.push_back(&inst);
    if (inst.op == Opcode::kLoad && MayBeRead(inst)) plain_.push_back(&inst);
    for (ir::ValueId operand : inst.operands) Push(operand);
  }

  // Where several ways through the loop meet, what they were chosen by decides too.
  void TraceParam(const ir::Value& param) {
    ir::ValueId first;
    bool differ = false;
    for (BlockId from : scratch_.predecessors[param.block.index]) {
      if (!Inside(from)) continue;
      for (const ir::Edge& edge : f_.successors(from)) {
        if (edge.to != param.block) continue;
        const ir::ValueId arg = edge.args[param.number];
        differ |= first.valid() && arg != first;
        if (!first.valid()) first = arg;
        Push(arg);
      }
    }
    if (!differ || all_branches_) return;
    all_branches_ = true;
    for (BlockId block : blocks_) Branch(block);
  }

  // A plain load sees what the loop stores where threads meet: what was stored, and what decided whether it
  // was, decides too.
  void DecideThroughMemory() {
    for (size_t n = 0; n < plain_.size() && deciders_.empty(); ++n) {
      const ir::Space space = plain_[n]->attrs.space;
      bool stores = false;
      for (BlockId block : blocks_) {
        for (ir::InstId id : f_.at_block(block).insts) {
          const ir::Inst& inst = f_.at_inst(id);
          if (inst.op != Opcode::kStore || !MayBeOne(inst.attrs.space, space)) continue;
          stores = true;
          for (size_t k = 1; k < inst.operands.size(); ++k) Push(inst.operands[k]);
        }
      }
      if (stores && !std::exchange(all_branches_, true)) {
        for (BlockId block : blocks_) Branch(block);
      }
      Drain();
    }
    if (deciders_.empty() && scratch_.plain == PlainReads::kMayWait) deciders_ = plain_;
    through_memory_ = true;
  }

  static bool MayBeOne(ir::Space a, ir::Space b) {
    return a == b || a == ir::Space::kGeneric || b == ir::Space::kGeneric;
  }

  // An atomic operation that gives each thread another number: work from a queue, most often.
  bool TakesNext(const ir::Inst* read) const {
    return read->op == Opcode::kAtomic && !IsZero(read->operands[1]) &&
           (read->attrs.atomic == ir::AtomicOp::kInc || read->attrs.atomic == ir::AtomicOp::kAdd);
  }

  // What the loop has stored there, unless another thread has stored since: of those that try, one succeeds.
  bool ReadsBack(const ir::Inst* read) const {
    return read->op == Opcode::kLoad && std::ranges::any_of(blocks_, [&](BlockId block) {
             return std::ranges::any_of(f_.at_block(block).insts, [&](ir::InstId id) {
               const ir::Inst& inst = f_.at_inst(id);
               return inst.op == Opcode::kStore && Narrow(inst.operands[0]) == Narrow(read->operands[0]);
             });
           });
  }

  // Each access widens its address anew.
  ir::ValueId Narrow(ir::ValueId address) const {
    const ir::InstId def = f_.at_value(address).def;
    const bool widens = def.valid() && f_.at_inst(def).op == Opcode::kZext;
    return widens ? f_.at_inst(def).operands[0] : address;
  }

  bool Waits(const ir::Inst& inst) const {
    if (inst.op == Opcode::kAtomic) return true;
    if (inst.op == Opcode::kAtomicCas)
      return !Inside(f_.at_value(inst.operands[1]).block) || IsConstant(inst.operands[1]);
    return inst.op == Opcode::kLoad &&
           (inst.attrs.order != ir::MemoryOrder::kWeak || (pauses_ && MayBeRead(inst)));
  }
  // Whether the value is computed from a parameter of the loop's head.
  bool FollowsTrips(ir::ValueId value) {
    std::vector<ir::ValueId> work{value};
    std::set<ir::ValueId> seen;
    while (!work.empty()) {
      const ir::ValueId at = work.back();
      work.pop_back();
      const ir::Value& info = f_.at_value(at);
      if (!seen.insert(at).second || !Inside(info.block)) continue;
      if (!info.def.valid()) {
        if (info.block == blocks_.front()) return true;
        for (BlockId from : scratch_.predecessors[info.block.index]) {
          for (const ir::Edge& edge : f_.successors(from)) {
            if (edge.to == info.block) work.push_back(edge.args[info.number]);
          }
        }
        continue;
      }
      const ir::Inst& inst = f_.at_inst(info.def);
      if (ir::Info(inst.op).effect == ir::Effect::kPure)
        work.insert(work.end(), inst.operands.begin(), inst.operands.end());
    }
    return false;
  }
  bool IsConstant(ir::ValueId value) const {
    ir::InstId def = f_.at_value(value).def;
    return def.valid() && f_.at_inst(def).op == Opcode::kConst;
  }
  bool IsZero(ir::ValueId value) const {
    return IsConstant(value) && f_.at_inst(f_.at_value(value).def).attrs.bits == 0;
  }

  const ir::Function& f_;
  Scratch& scratch_;
  const uint32_t number_;
  std::vector<BlockId> blocks_;
  std::vector<ir::ValueId> work_;
  bool pauses_ = false, may_wait_ = false, yields_ = false, meets_ = false, all_branches_ = false;
  bool through_memory_ = false;
  std::vector<const ir::Inst*> deciders_, plain_;
};

}  // namespace

std::vector<SpinLoop> FindSpinLoops(const ir::Function& f, PlainReads plain) {
  std::vector<SpinLoop> found;
  const bool may_wait =
      std::ranges::any_of(f.insts, [](const ir::Inst& inst) { return inst.block.valid() && MayWait(inst); });
  if (!may_wait) return found;
  Scratch scratch(f, plain);
  const std::vector<BlockEdge> back_edges = FindBackEdges(f);
  for (BlockEdge back : back_edges) {
    const BlockId head = f.successors(back.from)[back.edge].to;
    if (scratch.loops_of.Runs(head)) continue;
    Candidate loop(f, scratch, back.from, head);
    if (const ir::Inst* decider = loop.Decider())
      found.push_back({back, decider->at, loop.WaitsSeldom() || loop.Probes(), loop.by_memory()});
  }
  return found;
}

}  // namespace ptx2cpu::analysis
