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
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"
#include "runtime/abi/joined_blocks.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMaxValues = 64, kMaxLoads = 4;
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

// Values of the step's first thread in the next block of the grid's order.
class InNextBlock {
 public:
  explicit InNextBlock(FunctionEmitter& e) : e_(e), values_(e.values) {}

  // Null: it is not made of the places of thread and block alone.
  Value Compute(ValueId id) {
    if (computed_.contains(id.index)) return e_.values.Get(id);
    const ir::Inst* inst = DefinitionOf(e_.f, id);
    if (inst == nullptr || computed_.size() == kMaxValues || !MayCompute(*inst)) return nullptr;
    for (ValueId operand : inst->operands) {
      if (Compute(operand) == nullptr) return nullptr;
    }
    Value place = Place(*inst);
    for (ValueId result : inst->results) {
      values_.Set(result, ShapedValue{place});
      computed_.insert(result.index);
    }
    return place != nullptr ? place : e_.EmitInst(*inst) ? e_.values.Get(id) : nullptr;
  }

 private:
  static bool MayCompute(const ir::Inst& inst) {
    if (inst.op == Opcode::kLoad) return inst.attrs.space == ir::Space::kParam;
    if (inst.op == Opcode::kSpecialRegister) {
      const ir::Varies varies = Info(inst.attrs.special).varies;
      return varies == ir::Varies::kAffineInTid || varies == ir::Varies::kUniformInGrid ||
             inst.attrs.special == ir::Special::kCtaidX || inst.attrs.special == ir::Special::kCtaidY ||
             inst.attrs.special == ir::Special::kCtaidZ;
    }
    const ir::OpcodeInfo& info = ir::Info(inst.op);
    return info.effect == ir::Effect::kPure && info.lanes == ir::Lanes::kAlone;
  }

  // Of the next block; null: not a place that differs.
  Value Place(const ir::Inst& inst) {
    if (inst.op != Opcode::kSpecialRegister) return nullptr;
    const bool is_x = inst.attrs.special == ir::Special::kCtaidX;
    if (!is_x && inst.attrs.special != ir::Special::kCtaidY) return nullptr;
    llvm::IRBuilder<>& b = e_.b;
    const auto field = [&](size_t offset) { return e_.body.Field(offset, b.getInt32Ty(), "place"); };
    const auto follows = [&](unsigned axis) {
      return b.CreateAdd(field(offsetof(ptx2cpu_block, ctaid) + 4 * axis), b.getInt32(1));
    };
    const auto is_end = [&](unsigned axis) {
      return b.CreateICmpEQ(follows(axis), field(offsetof(ptx2cpu_block, nctaid) + 4 * axis));
    };
    if (is_x) return b.CreateSelect(is_end(0), b.getInt32(0), follows(0));
    Value goes_on = b.CreateAnd(is_end(0), b.CreateNot(is_end(1)));
    return b.CreateSelect(goes_on, follows(1), field(offsetof(ptx2cpu_block, ctaid) + 4));
  }

  FunctionEmitter& e_;
  ValueMap::Overrides values_;
  std::set<uint32_t> computed_;
};

}  // namespace

// Loads of whole rows by regions that each thread runs once.
std::vector<const ir::Inst*> LaneVectors::LoadsOfTile() const {
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
void LaneVectors::PrefetchNextTile() {
  if (std::exchange(has_stored_, true) || !OfRow() || region_.levels.size() != 1) return;
  const uint32_t* shape = f.required_threads;
  const bool has_rows = f.is_flat && f.resumes == ir::Resumes::kNever && shape[0] >= width_ && shape[1] > 1;
  if (!has_rows || (e.m.layout.flags & PTX2CPU_KERNEL_JOINS_BLOCKS) != 0) return;
  if (analysis::AreRepeated(f, region_.blocks[0])) return;
  const std::vector<const ir::Inst*> loads = LoadsOfTile();
  uint64_t bytes = 0;
  for (const ir::Inst* load : loads)
    bytes += static_cast<uint64_t>(ir::Bytes(load->type)) * load->results.size();
  bytes *= uint64_t{shape[0]} * shape[1] * std::max(shape[2], 1u);
  if (loads.size() > kMaxLoads || bytes > kMaxBytesOfTile) return;
  CurrentStep::Scope scope(e.step, ScalarStep());
  InNextBlock next(e);
  for (const ir::Inst* load : loads) {
    if (next.Compute(load->operands[0]) == nullptr) continue;
    Memory memory;
    Value pointer = e.memory.Pointer(load->attrs.space, load->operands[0], &memory);
    const auto element = static_cast<unsigned>(ir::Bytes(load->type) * load->results.size());
    PrefetchLines(pointer, width_ * element);
  }
}

}  // namespace ptx2cpu::lowering
