// Blocks that read a tile of a matrix and store their results after a barrier: where they store, the next
// block's tile is prefetched.
//
//   for rows y: tile[y][x] = in[y * n + block * W + x];   barrier;   for rows y: out[..] = f(tile)
//   ->   the same, and where results are stored: prefetch in[y * n + (block + 1) * W + x]
//
// Processors foresee nothing of short rows that lie far apart. The next block would wait for them before it
// has anything to do, and while this one stores, it reads nothing else. The address is computed again from
// the thread's and the block's place, so that it is right for whatever it is made of.
#include <algorithm>
#include <set>

#include "analysis/lanes/repeated_lanes.h"
#include "lowering/llvm/lanes/counters.h"
#include "lowering/llvm/lanes/elsewhere.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMaxLoads = 4;
constexpr ptrdiff_t kMaxRegions = 64;        // each is looked at
constexpr uint64_t kMaxBytesOfTile = 16384;  // half of most first caches

// Blocks that most threads come to: arms of `tid.x == 0` are left out.
std::set<BlockId> BlocksOfMost(const ir::Function& f, BlockId entry) {
  std::set<BlockId> found;
  std::vector<BlockId> open{entry};
  while (!open.empty()) {
    const BlockId block = open.back();
    open.pop_back();
    if (!found.insert(block).second) continue;
    const ir::Inst& end = f.terminator(block);
    const ir::Inst* test = end.op == Opcode::kCondBr ? DefinitionOf(f, end.operands[0]) : nullptr;
    const bool compares = test != nullptr && test->op == Opcode::kIcmp;
    for (size_t n = 0; n < end.edges.size(); ++n) {
      const ir::Compare holds = n == 0 ? ir::Compare::kEq : ir::Compare::kNe;
      if (!compares || test->attrs.compare != holds) open.push_back(end.edges[n].to);
    }
  }
  return found;
}

bool IsPlainLoad(const ir::Inst& inst) {
  return inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kGlobal &&
         inst.attrs.order == ir::MemoryOrder::kWeak && (inst.attrs.flags & ir::kVolatile) == 0;
}

}  // namespace

// Loads of whole rows by regions that each thread runs once.
std::vector<const ir::Inst*> LanePrefetch::LoadsOfTile() const {
  std::vector<const ir::Inst*> loads;
  for (const ir::Inst& lanes : f.insts) {
    if (!lanes.block.valid() || lanes.op != Opcode::kForLanes) continue;
    const BlockId entry = lanes.edges[0].to;
    if (entry == region_.blocks[0] || analysis::AreRepeated(f, entry)) continue;
    const auto region = RegionOfRow(e, entry);
    if (!region || region->levels.size() != 1) continue;
    for (BlockId block : BlocksOfMost(f, entry)) {
      for (ir::InstId id : f.at_block(block).insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (IsPlainLoad(inst) && FormOf(e, *region, inst) == LaneForm::kVector) loads.push_back(&inst);
      }
    }
  }
  return loads;
}

// Once for a step of a region that each thread runs once.
void LanePrefetch::PrefetchNextTile() {
  if (std::exchange(has_stored_, true) || !OfRow() || region_.levels.size() != 1) return;
  const uint32_t* shape = f.required_threads;
  const bool has_rows = f.is_flat && f.resumes == ir::Resumes::kNever && shape[0] >= width_ && shape[1] > 1;
  if (!has_rows || (e.m.layout.flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0) return;
  const auto is_loop = [](const ir::Inst& inst) {
    return inst.block.valid() && inst.op == Opcode::kForLanes;
  };
  if (std::ranges::count_if(f.insts, is_loop) > kMaxRegions || analysis::AreRepeated(f, region_.blocks[0]))
    return;
  const std::vector<const ir::Inst*> loads = LoadsOfTile();
  uint64_t bytes = 0;
  for (const ir::Inst* load : loads)
    bytes += static_cast<uint64_t>(ir::Bytes(load->type)) * load->results.size();
  bytes *= uint64_t{shape[0]} * shape[1] * std::max(shape[2], 1u);
  if (loads.size() > kMaxLoads || bytes > kMaxBytesOfTile) return;
  CurrentStep::Scope scope(e.step, ScalarStep());
  Elsewhere next(e, Elsewhere::Block::kNext);
  for (const ir::Inst* load : loads) {
    if (next.Compute(load->operands[0]) == nullptr) continue;
    Memory memory;
    Value pointer = e.memory.Pointer(load->attrs.space, load->operands[0], &memory);
    const auto element = static_cast<unsigned>(ir::Bytes(load->type) * load->results.size());
    PrefetchLines(pointer, width_ * element);
  }
}

}  // namespace ptx2cpu::lowering
