// Lines that a block stores: the region before fetches them for writing.
//
//   for i in trips: squares += f(x[i + lane ..]);   barrier;   for i in trips: y[i + lane ..] = g(x[i + lane
//   ..])
//   ->   the same, and in the first loop: prefetch y[i + lane ..] for writing
//
// A store waits until its line is there, and those after it wait for it; the region before mostly works on
// what is in the first cache already. Not where stores go past the caches.
#include <algorithm>

#include "analysis/lanes/repeated_lanes.h"
#include "lowering/llvm/lanes/counters.h"
#include "lowering/llvm/lanes/elsewhere.h"
#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr int kDepthOfSame = 12;
constexpr size_t kMaxRegions = 64;  // each is looked at for each

// Whether both are computed alike, of the same.
bool IsSame(const ir::Function& f, ValueId x, ValueId y, int depth = kDepthOfSame) {
  if (x == y) return true;
  const ir::Inst *a = DefinitionOf(f, x), *b = DefinitionOf(f, y);
  if (a == nullptr || b == nullptr || depth == 0) return false;
  const bool parameter = a->op == Opcode::kLoad && a->attrs.space == ir::Space::kParam;
  if (!parameter && ir::Info(a->op).effect != ir::Effect::kPure) return false;
  if (a->op != b->op || a->type != b->type || a->attrs != b->attrs || a->results.size() != 1 ||
      b->results.size() != 1 || a->operands.size() != b->operands.size())
    return false;
  for (size_t n = 0; n < a->operands.size(); ++n) {
    if (!IsSame(f, a->operands[n], b->operands[n], depth - 1)) return false;
  }
  return true;
}

// The loops over lanes, in the order in which threads come to them.
std::vector<BlockId> EntriesInOrder(const ir::Function& f) {
  std::vector<BlockId> order, entries;
  std::vector<bool> seen(f.blocks.size());
  std::vector<std::pair<BlockId, size_t>> open{{f.entry, 0}};
  seen[f.entry.index] = true;
  while (!open.empty()) {
    auto& [block, next] = open.back();
    const std::vector<ir::Edge>& edges = f.terminator(block).edges;
    if (next == edges.size()) {
      order.push_back(block);
      open.pop_back();
      continue;
    }
    const BlockId to = edges[edges.size() - ++next].to;  // what follows a loop before its body
    if (!seen[to.index]) seen[to.index] = true, open.push_back({to, 0});
  }
  std::ranges::reverse(order);
  for (const BlockId block : order) {
    const ir::Inst& end = f.terminator(block);
    if (end.op == Opcode::kForLanes) entries.push_back(end.edges[0].to);
  }
  return entries;
}

}  // namespace

// The access of whole rows in global memory that the region begins with; null: there is none.
const ir::Inst* LanePrefetch::FirstOfRows(const LaneRegion& region, Opcode op) const {
  for (const BlockId block : region.blocks) {
    for (const ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op == op && inst.attrs.space == ir::Space::kGlobal &&
          FormOf(e, region, inst) == LaneForm::kVector)
        return &inst;
    }
  }
  return nullptr;
}

// The head of the loop that the region is, if it is one; nothing: it has more loops, or the access is
// outside.
std::optional<BlockId> LanePrefetch::LoopAround(const LaneRegion& region, const ir::Inst& access) const {
  const uint32_t level = region.level_of[access.block.index];
  if (region.levels.size() != 2 || level != 1 || region.levels[1].items.empty()) return std::nullopt;
  return region.levels[1].items[0].block;
}

// Finds, once, after which load of this region which store's lines are fetched.
void LanePrefetch::FindStoreAhead() {
  if (std::exchange(has_looked_ahead_, true)) return;
  if (!e.m.traits.is_x86 || f.resumes != ir::Resumes::kNever || f.required_threads[0] < width_) return;
  if (region_.levels.size() > 2 || std::ranges::find(e.streaming_stores, true) == e.streaming_stores.end())
    return;
  const ir::Inst* load = FirstOfRows(region_, Opcode::kLoad);
  if (load == nullptr || FirstOfRows(region_, Opcode::kStore) != nullptr) return;
  const std::vector<BlockId> entries = EntriesInOrder(f);
  if (entries.size() > kMaxRegions || analysis::AreRepeated(f, region_.blocks[0])) return;
  bool is_after = false;
  for (const BlockId entry : entries) {
    const bool is_mine = entry == region_.blocks[0];
    is_after |= is_mine;
    if (is_mine || !is_after) continue;
    const auto region = RegionOfRow(e, entry);
    if (!region) return;
    const ir::Inst* store = FirstOfRows(*region, Opcode::kStore);
    if (store == nullptr) {
      if (FirstOfRows(*region, Opcode::kLoad) != nullptr) return;  // that one is nearer
      continue;
    }
    const auto number = static_cast<size_t>(store - f.insts.data());
    if (region->levels.size() != region_.levels.size() || !e.streaming_stores[number] ||
        analysis::AreRepeated(f, entry))
      return;
    if (region_.levels.size() == 2) {
      const auto mine = LoopAround(region_, *load), theirs = LoopAround(*region, *store);
      const auto test = mine ? TestOf(f, *mine) : std::nullopt,
                 other = theirs ? TestOf(f, *theirs) : std::nullopt;
      if (!test || !other || !IsSame(f, test->step, other->step)) return;
      const auto first = FirstArgument(f, test->param), others_first = FirstArgument(f, other->param);
      if (!first || !others_first || !IsSame(f, *first, *others_first)) return;
      store_ahead_.counter = test->param, store_ahead_.its_counter = other->param;
    }
    store_ahead_.load = load, store_ahead_.store = store;
    return;
  }
}

void LanePrefetch::PrefetchStoreAfter(const ir::Inst& load) {
  FindStoreAhead();
  if (store_ahead_.load != &load) return;
  const ir::Inst& store = *store_ahead_.store;
  Value counter = nullptr;
  if (store_ahead_.counter) {
    const ShapedValue now = e.values.Shaped(*store_ahead_.counter);
    counter = now.first != nullptr ? now.first : now.value;
    if (counter->getType()->isVectorTy()) return;
  }
  Value pointer;
  Value is_cached = b.CreateNot(v.order.IsLarge(store));
  {
    CurrentStep::Scope scope(e.step, ScalarStep());
    Elsewhere later(e, Elsewhere::Block::kThis);
    if (counter != nullptr) later.Give(*store_ahead_.its_counter, counter);
    if (later.Compute(store.operands[0]) == nullptr) return;
    Memory memory;
    pointer = e.memory.Pointer(store.attrs.space, store.operands[0], &memory);
  }
  llvm::BasicBlock *prefetch = e.body.NewBlock("prefetch"), *after = e.body.NewBlock("prefetched");
  b.CreateCondBr(is_cached, prefetch, after);
  b.SetInsertPoint(prefetch);
  PrefetchLines(pointer, width_ * static_cast<unsigned>(ir::Bytes(store.type) * ElementCount(store)),
                kFirstCache, true);
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

}  // namespace ptx2cpu::lowering
