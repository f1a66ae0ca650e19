// In a loop that keeps a sum in memory and walks along a row of each thread's own, the loads of a trip move
// before its stores where a run-time test shows that the stores do not overlap them.
//
//   before                               after
//     h: %a = load [%p]                    h: %a = load [%p]
//        %s = load [%sum]                     %b = load [%p + 4]
//        %t = fma %a, %x, %s                  %s = load [%sum]
//        store [%sum], %t                     %c = %sum meets %p .. %p + 8
//        %b = load [%p + 4]                   cond_br %c, slow, fast
//        %u = load [%sum]               fast: %t = fma %a, %x, %s
//        %v = fma %b, %x, %u                  %v = fma %b, %x, %t
//        store [%sum], %v                     store [%sum], %v
//        cond_br %d, h, x                     br end
//                                       slow: what was in h
//                                        end: cond_br %d, h, x
//
// The program's compiler may not do that, since it does not know that the arrays are different. Afterwards
// the elements of a thread's row are one access (the next pass), where each was a gather; a store that a
// later store of the trip covers is removed, and a load of bytes that the thread has stored takes the stored
// value.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/build.h"
#include "ir/edit.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/constant_offsets.h"
#include "lowering/passes/ssa_repair.h"
#include "lowering/passes/thread_strides.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Inst;
using ir::InstId;
using ir::Opcode;
using ir::Space;
using ir::ValueId;

constexpr size_t kMaxInstructions = 160;  // of a trip
constexpr size_t kMaxLoops = 8;
constexpr size_t kMaxTests = 8;   // of a trip: pairs of places
constexpr int64_t kMaxParts = 4;  // that lanes' own elements side by side have at most in one access

struct Access {
  InstId inst;
  Place place;
  int64_t bytes = 0;
  bool is_store = false;
  bool Covers(const Access& other) const {
    return place.root == other.place.root && place.offset == other.place.offset && bytes == other.bytes;
  }
  bool Overlaps(const Access& other) const {  // of one root
    return place.offset < other.place.offset + other.bytes && other.place.offset < place.offset + bytes;
  }
};

struct Range {
  int64_t low = INT64_MAX, high = INT64_MIN;  // bytes from the root
  void Add(const Access& access) {
    low = std::min(low, access.place.offset);
    high = std::max(high, access.place.offset + access.bytes);
  }
};

// A trip that is one block.
class Trip {
 public:
  Trip(ir::Function& f, BlockId block, ThreadStrides& strides, ConstantOffsets& offsets)
      : f_(f), block_(block), strides_(strides), offsets_(offsets) {}

  bool Pays() {
    for (InstId id : f_.at_block(block_).insts) {
      if (!Note(id)) return false;
    }
    return HoistsRows();
  }

  bool IsPossible() { return Resolve() && FindTests(); }

  void Divide() {
    const BlockId slow = CopyAll();
    // Addresses and counters first, which both arms share, then the loads that are read at once.
    std::vector<InstId>& insts = f_.block(block_).insts;
    const auto after = std::stable_partition(insts.begin(), insts.end(), [&](InstId id) {
      return shared_.contains(id.index) || hoisted_.contains(id.index);
    });
    const auto where = static_cast<size_t>(after - insts.begin());
    const BlockId fast = SplitBlock(f_, block_, where, "apart");
    const BlockId end = SplitBlock(f_, fast, f_.at_block(fast).insts.size() - 1, "trip_end");
    LeaveOut(fast);
    f_.block(block_).insts.pop_back();
    ir::Builder b{f_, block_, f_.terminator(end).at};
    b.CondBr(TestOf(b), {slow, {}}, {fast, {}});
    ir::Builder{f_, slow, f_.terminator(end).at}.Br(end);
    std::vector<bool> outside(f_.blocks.size(), true);
    for (BlockId block : {block_, fast, slow}) outside[block.index] = false;
    RepairSsa(f_, versions_, outside);
  }

 private:
  bool Note(InstId id) {
    const Inst& inst = f_.at_inst(id);
    if (ir::IsTerminator(inst.op)) return inst.op == Opcode::kCondBr;
    if (inst.op == Opcode::kSpecialRegister && (inst.attrs.flags & ir::kVolatile) != 0)
      return false;  // a clock
    const bool frozen =
        inst.op == Opcode::kLoad && (inst.attrs.space == Space::kParam || inst.attrs.space == Space::kConst);
    if (frozen ||
        (ir::Info(inst.op).effect == ir::Effect::kPure && ir::Info(inst.op).lanes == ir::Lanes::kAlone)) {
      if (std::ranges::all_of(inst.operands, [&](ValueId value) { return IsShared(value); }))
        shared_.insert(id.index);
      return true;
    }
    const bool is_store = inst.op == Opcode::kStore;
    if ((inst.op != Opcode::kLoad && !is_store) || inst.attrs.space != Space::kGlobal ||
        inst.attrs.order != ir::MemoryOrder::kWeak || (inst.attrs.flags & ir::kVolatile) != 0 ||
        (is_store ? inst.operands.size() != 2 : inst.results.size() != 1))
      return false;
    const Place place = offsets_.Of(inst.operands[0]);
    if (!IsShared(inst.operands[0]) || !IsShared(place.root) || f_.type_of(place.root) != ir::Type::kI64)
      return false;
    accesses_.push_back({id, place, ir::Bytes(inst.type), is_store});
    return true;
  }

  // Made before the trip's first load.
  bool IsShared(ValueId value) const {
    const ir::Value& made = f_.at_value(value);
    return made.block != block_ || !made.def.valid() || shared_.contains(made.def.index);
  }

  // Whether elements side by side of a row that is each thread's own are apart because of a store.
  bool HoistsRows() {
    std::map<uint32_t, std::vector<Access>> loads;
    std::set<uint32_t> stored, after_store;
    for (const Access& access : accesses_) {
      if (access.is_store) {
        stored.insert(access.place.root.index);
      } else {
        loads[access.place.root.index].push_back(access);
        if (!stored.empty()) after_store.insert(access.place.root.index);
      }
    }
    for (auto& [root, of_root] : loads) {
      if (!after_store.contains(root) || stored.contains(root)) continue;
      const std::optional<int64_t> stride = strides_.Of(of_root[0].place.root);
      if (stride ? std::abs(*stride) <= kMaxParts * of_root[0].bytes
                 : !strides_.IsApart(of_root[0].place.root))
        continue;
      std::ranges::sort(of_root, {}, [](const Access& access) { return access.place.offset; });
      for (size_t n = 1; n < of_root.size(); ++n) {
        if (of_root[n].place.offset == of_root[n - 1].place.offset + of_root[n - 1].bytes) return true;
      }
    }
    return false;
  }

  // What each load reads and which stores remain, where no two roots meet.
  bool Resolve() {
    for (size_t n = 0; n < accesses_.size(); ++n) {
      const Access& access = accesses_[n];
      bool known = false;
      for (size_t m = n; m-- > 0 && !known;) {
        const Access& before = accesses_[m];
        if (!before.is_store || before.place.root != access.place.root || !before.Overlaps(access)) continue;
        if (!before.Covers(access)) return false;
        known = true;
        if (access.is_store)
          left_out_.insert(before.inst.index);
        else if (!Forward(access, before))
          return false;
      }
      if (!known && !access.is_store) hoisted_.insert(access.inst.index);
    }
    return true;
  }

  // The load takes what was stored, which only this trip reads.
  bool Forward(const Access& load, const Access& store) {
    const Inst &to = f_.at_inst(load.inst), &from = f_.at_inst(store.inst);
    ValueId value = from.operands[1];
    if (to.type != from.type || f_.type_of(to.results[0]) != f_.type_of(value) ||
        IsUsedOutside(to.results[0]))
      return false;
    forwarded_[to.results[0].index] = value;
    left_out_.insert(load.inst.index);
    return true;
  }

  bool IsUsedOutside(ValueId value) const {
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (InstId id : block.insts) {
        const Inst& inst = f_.at_inst(id);
        const bool inside = inst.block == block_ && !ir::IsTerminator(inst.op);
        if (!inside && std::ranges::find(inst.operands, value) != inst.operands.end()) return true;
        for (const ir::Edge& edge : inst.edges) {
          if (std::ranges::find(edge.args, value) != edge.args.end()) return true;
        }
      }
    }
    return false;
  }

  // Every root that is stored to against each other one.
  bool FindTests() {
    for (const Access& access : accesses_)
      (access.is_store ? stores_ : loads_)[access.place.root].Add(access);
    for (const auto& [store, of_store] : stores_) {
      for (const auto& [load, of_load] : loads_) {
        if (load != store) tests_.push_back({store, load});
      }
    }
    return tests_.size() <= kMaxTests;
  }

  // Whether the load's range and the store's meet: store + [s, s2) and load + [l, l2) do where store - load
  // lies between l - s2 and l2 - s.
  ValueId TestOf(ir::Builder& b) {
    ValueId any;
    for (const auto& [store, load] : tests_) {
      const Range &s = stores_.at(store), &l = loads_.at(load);
      const ValueId apart = b.Binary(Opcode::kSub, ir::Type::kI64, store, load);
      const ValueId least = b.Const(ir::Type::kI64, static_cast<uint64_t>(s.high - l.low - 1));
      const ValueId count =
          b.Const(ir::Type::kI64, static_cast<uint64_t>(l.high - l.low + s.high - s.low - 1));
      const ValueId meets =
          b.Icmp(ir::Compare::kUlt, b.Binary(Opcode::kAdd, ir::Type::kI64, apart, least), count);
      any = any.valid() ? b.Binary(Opcode::kOr, ir::Type::kI1, any, meets) : meets;
    }
    return any;
  }

  // All but what both arms share, in its order.
  BlockId CopyAll() {
    const BlockId slow = ir::AddBlock(f_, "in_order", f_.at_block(block_).level);
    std::map<uint32_t, ValueId> copies;
    const std::vector<InstId> insts = f_.at_block(block_).insts;
    for (InstId id : insts) {
      if (shared_.contains(id.index) || ir::IsTerminator(f_.at_inst(id).op)) continue;
      Inst copy = f_.at_inst(id);
      const std::vector<ValueId> results = copy.results;
      copy.results.clear();
      for (ValueId& operand : copy.operands) {
        if (const auto made = copies.find(operand.index); made != copies.end()) operand = made->second;
      }
      const InstId made = ir::Append(f_, slow, std::move(copy), static_cast<uint32_t>(results.size()));
      for (size_t n = 0; n < results.size(); ++n) {
        copies[results[n].index] = f_.at_inst(made).results[n];
        versions_.push_back({results[n], f_.at_inst(made).results[n]});
      }
    }
    return slow;
  }

  void LeaveOut(BlockId fast) {
    std::erase_if(versions_, [&](const Versions& of) { return forwarded_.contains(of[0].index); });
    for (InstId id : f_.at_block(fast).insts) {
      for (ValueId& operand : f_.inst(id).operands) {
        for (auto by = forwarded_.find(operand.index); by != forwarded_.end();
             by = forwarded_.find(operand.index))
          operand = by->second;
      }
    }
    std::vector<InstId> gone;
    for (uint32_t id : left_out_) gone.push_back({id});
    ir::RemoveAll(f_, gone);
  }

  ir::Function& f_;
  const BlockId block_;
  ThreadStrides& strides_;
  ConstantOffsets& offsets_;
  std::vector<Access> accesses_;                    // in program order
  std::set<uint32_t> shared_, hoisted_, left_out_;  // instructions
  std::map<uint32_t, ValueId> forwarded_;           // by the load's result
  std::map<ValueId, Range> stores_, loads_;         // by root
  std::vector<std::pair<ValueId, ValueId>> tests_;  // a root that is stored to, one that is read
  std::vector<Versions> versions_;
};

// A loop of one block, which may be made twice.
bool Repeats(const ir::Function& f, BlockId block) {
  return f.at_block(block).insts.size() <= kMaxInstructions &&
         std::ranges::any_of(f.successors(block), [&](const ir::Edge& edge) { return edge.to == block; });
}

}  // namespace

Status ReadBeforeStores(ir::Module&, ir::Function& f, const PassOptions& options) {
  if (options.checks != 0 || options.counts) return {};
  std::optional<ThreadStrides> strides;
  std::optional<ConstantOffsets> offsets;
  size_t loops = 0;
  for (BlockId block : ir::ReversePostOrder(f)) {
    if (!Repeats(f, block)) continue;
    if (!strides) strides.emplace(f), offsets.emplace(f);
    Trip trip(f, block, *strides, *offsets);
    if (!trip.Pays()) continue;
    if (trip.IsPossible()) {
      trip.Divide();
      strides.reset(), offsets.reset();  // they know the blocks as they were
    }
    if (++loops == kMaxLoops) break;  // each walks the function
  }
  return {};
}

}  // namespace ptx2cpu::lowering
