#include "analysis/regions/spin_loops.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/graph/back_edges.h"
#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;
using ir::Opcode;

bool MayBeRead(const ir::Inst& inst) {
  const ir::Space space = inst.attrs.space;
  const bool constant = space == ir::Space::kConst || space == ir::Space::kParam;
  return !constant && (inst.attrs.flags & ir::kNonCoherent) == 0;
}

// Copies read what they write elsewhere. No thread writes the memory of a texture.
bool IsCopy(const ir::Inst& inst) {
  return ir::Info(inst.op).effect == ir::Effect::kMemory && ir::ReadsMemory(inst.op) &&
         inst.op != Opcode::kAtomic && inst.op != Opcode::kAtomicCas;
}

// Reads of memory that may have been stored to, by this thread or another one.
bool ReadsStored(const ir::Inst& inst) {
  const bool reads =
      inst.op == Opcode::kLoad || (ir::AccessesMemory(inst.op) && ir::ReadsMemory(inst.op)) || IsCopy(inst);
  return reads && MayBeRead(inst);
}
bool ReadsOthers(const ir::Inst& inst) { return ReadsStored(inst) && inst.attrs.space != ir::Space::kLocal; }

// Gives what is meant for other threads, whatever else the loop does.
bool ReadsInOrder(const ir::Inst& inst) {
  if (inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas) return true;
  if (inst.op == Opcode::kLoad) return inst.attrs.order != ir::MemoryOrder::kWeak;
  return ir::IsCall(inst.op) && (inst.attrs.flags & ir::kVolatile) != 0;
}

// Reads that other threads' stores can change, fences and sleeps aside: weak ones count where one of those
// is.
bool MayWait(const ir::Inst& inst) { return ReadsInOrder(inst) || ReadsOthers(inst); }

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
        if (MayWait(inst)) ++(ReadsInOrder(inst) ? sums.strong : sums.weak);
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
  std::unordered_map<uint32_t, ir::ValueId> local_places;  // by variable: one of its addresses
};

constexpr int kAddressDepth = 5;  // operations on top of each other
bool ExtendsOrCuts(Opcode op) { return op == Opcode::kZext || op == Opcode::kSext || op == Opcode::kTrunc; }

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
    if (deciders_.empty()) DecideThroughMemory();
    return deciders_.empty() ? nullptr : deciders_.back();
  }

  // After Decider.
  bool Probes() {
    const auto moves = [&](const ir::Inst* read) {
      return !ir::IsCall(read->op) && FollowsTrips(read->operands[0]);
    };
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
    if (ReadsStored(inst)) reads_.push_back(&inst);
    for (ir::ValueId operand : inst.operands) Push(operand);
  }

  // Where several paths through the loop meet, the condition that chose between them decides too.
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

  // A plain read sees what the loop stores where threads meet, and what its own thread stores: so the value,
  // the address and the condition of such a store decide too.
  void DecideThroughMemory() {
    if (reads_.empty()) return;
    FindStores();
    for (size_t n = 0; n < reads_.size() && deciders_.empty(); ++n) {
      const ir::Inst& read = *reads_[n];
      const ir::Space space = read.attrs.space;
      if (meets_ && space != ir::Space::kLocal) {
        if (!std::exchange(traced_[static_cast<size_t>(space)], true)) {
          for (const ir::Inst* store : stores_) {
            if (MayBeOne(SpaceWritten(*store), space)) TraceStore(*store);
          }
        }
      } else if (read.op == Opcode::kLoad) {
        const auto [first, last] = stores_at_.equal_range(PlaceOf(read.operands[0]).index);
        for (auto at = first; at != last; ++at) TraceStore(*at->second);
      }
      Drain();
    }
    through_memory_ = meets_;
    if (!deciders_.empty() || !meets_ || scratch_.plain != PlainReads::kMayWait) return;
    std::ranges::copy_if(reads_, std::back_inserter(deciders_),
                         [](const ir::Inst* read) { return ReadsOthers(*read); });
  }

  void FindStores() {
    for (BlockId block : blocks_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (!ir::WritesMemory(inst.op) && !ir::IsCall(inst.op)) continue;
        stores_.push_back(&inst);
        if (!inst.operands.empty()) stores_at_.emplace(PlaceOf(inst.operands[0]).index, &inst);
      }
    }
  }

  // What a thread's own accesses of one place have in common: the address, or the local variable that it is
  // in, by one of its symbols.
  ir::ValueId PlaceOf(ir::ValueId address) {
    const ir::Inst* local = FindLocal(address, kAddressDepth);
    if (local == nullptr) return Narrow(address);
    return scratch_.local_places.try_emplace(local->attrs.index, local->results[0]).first->second;
  }
  const ir::Inst* FindLocal(ir::ValueId address, int depth) const {
    const ir::InstId def = f_.at_value(address).def;
    if (!def.valid() || depth == 0) return nullptr;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kSymbol) return inst.attrs.space == ir::Space::kLocal ? &inst : nullptr;
    if (inst.op != Opcode::kAdd && inst.op != Opcode::kSub && !ExtendsOrCuts(inst.op)) return nullptr;
    for (ir::ValueId part : inst.operands) {
      if (const ir::Inst* local = FindLocal(part, depth - 1)) return local;
    }
    return nullptr;
  }

  void TraceStore(const ir::Inst& store) {
    for (ir::ValueId operand : store.operands) Push(operand);
    if (ir::IsCall(store.op) && Waits(store)) deciders_.push_back(&store);
    if (IsCopy(store) && copies_.insert(&store).second) {
      reads_.push_back(&store);
      if (Waits(store)) deciders_.push_back(&store);
    }
    if (std::exchange(all_branches_, true)) return;
    for (BlockId block : blocks_) Branch(block);
  }

  // Copies and calls may write anywhere.
  static ir::Space SpaceWritten(const ir::Inst& inst) {
    return (ir::Info(inst.op).attributes & ir::kSpace) != 0 ? inst.attrs.space : ir::Space::kGeneric;
  }
  static bool MayBeOne(ir::Space a, ir::Space b) {
    const auto is_any = [](ir::Space space) {
      return space == ir::Space::kGeneric || space == ir::Space::kSharedCluster;
    };
    return a == b || is_any(a) || is_any(b);
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
    return ReadsInOrder(inst) || (pauses_ && ReadsOthers(inst));
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
  std::vector<const ir::Inst*> deciders_, reads_, stores_;
  std::unordered_multimap<uint32_t, const ir::Inst*> stores_at_;  // by address
  std::unordered_set<const ir::Inst*> copies_;                    // among the reads
  std::array<bool, ir::kCountOf<ir::Space>> traced_{};            // where stores have been traced
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
