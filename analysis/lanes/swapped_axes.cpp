// Kernels in which the row of a matrix follows from x and the column from y:
//
//   x = ctaid.x * ntid.x + tid.x;  y = ctaid.y * ntid.y + tid.y;  a[x * n + y] = ...
//
// Vectors hold threads along x, and blocks follow each other along x, so each access would be a gather that
// uses little of each line. The ids of threads and blocks of such a kernel are only names of pairs (x, y):
// where it reads nothing else of them, the launch and the kernel may exchange x and y.
#include "analysis/lanes/swapped_axes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::Space;
using ir::Special;

constexpr int64_t kMaxBytesApart = 16;
constexpr uint64_t kTripsOfLoop = 8, kMaxDepth = 4;
constexpr uint64_t kStore = 2;  // scattered, in gathered loads

constexpr std::pair<Special, Special> kAxes[] = {
    {Special::kTidX, Special::kTidY},
    {Special::kNtidX, Special::kNtidY},
    {Special::kCtaidX, Special::kCtaidY},
    {Special::kNctaidX, Special::kNctaidY},
};
constexpr Special kOthers[] = {Special::kTidZ, Special::kNtidZ, Special::kCtaidZ, Special::kNctaidZ};

Special Swapped(Special special) {
  for (const auto& [x, y] : kAxes) {
    if (special == x) return y;
    if (special == y) return x;
  }
  return special;
}

bool IsCoordinate(Special special) {
  return Swapped(special) != special || std::ranges::find(kOthers, special) != std::end(kOthers);
}

// Not what shows in which order threads run, which of them are in one warp, or that they wait.
bool MayRun(const ir::Inst& inst) {
  if (inst.op == Opcode::kSpecialRegister) return IsCoordinate(inst.attrs.special);
  if (inst.op == Opcode::kSymbol) return inst.attrs.space != Space::kShared;
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
    return inst.attrs.space != Space::kShared && inst.attrs.order == ir::MemoryOrder::kWeak &&
           (inst.attrs.flags & ir::kVolatile) == 0;
  }
  if (inst.op == Opcode::kTexture) return true;
  const ir::Effect effect = ir::Info(inst.op).effect;
  if (effect == ir::Effect::kTerminator) return true;
  return effect == ir::Effect::kPure && ir::Info(inst.op).lanes == ir::Lanes::kAlone &&
         inst.op != Opcode::kTensorMemory;
}

bool IsFar(const ThreadShape& address) {
  if (address.uniform()) return false;
  return !address.affine() || address.stride < -kMaxBytesApart || address.stride > kMaxBytesApart;
}

// How many accesses of the code that all threads run, in rows along x, are far apart from thread to thread;
// accesses in loops count more. Nothing: it has no such rows.
std::optional<uint64_t> FarAccesses(const ir::Function& f) {
  const LaneRegionOptions options{.threads = LaneRegionOptions::Threads::kRow,
                                  .varies_outside = [](ir::ValueId) { return false; }};
  uint64_t far = 0;
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks[b].removed || f.terminator({b}).op != Opcode::kForLanes) continue;
    const std::optional<LaneRegion> region = FindLaneRegion(f, f.terminator({b}).edges[0].to, options);
    if (!region) return std::nullopt;
    for (ir::BlockId block : region->blocks) {
      uint64_t trips = 1, depth = 0;
      for (uint32_t level = region->level_of[block.index];
           region->levels[level].parent != LaneRegion::kNone && depth < kMaxDepth;
           level = region->levels[level].parent, ++depth)
        trips *= kTripsOfLoop;
      for (ir::InstId id : f.at_block(block).insts) {
        const ir::Inst& inst = f.at_inst(id);
        const bool is_access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
        const bool is_global = inst.attrs.space == Space::kGlobal || inst.attrs.space == Space::kGeneric;
        if (is_access && is_global && IsFar(region->shapes[inst.operands[0].index]))
          far += inst.op == Opcode::kStore ? kStore * trips : trips;
      }
    }
  }
  return far;
}

}  // namespace

bool WalksAlongColumns(const ir::Function& f) {
  const uint32_t* block = f.required_threads;
  if (!f.is_kernel || !f.is_flat || f.resumes != ir::Resumes::kNever || !f.slots.empty() ||
      f.has_early_exit || block[0] <= 1 || block[1] <= 1)
    return false;
  for (const ir::Inst& inst : f.insts) {
    if (inst.block.valid() && !f.at_block(inst.block).removed && !MayRun(inst)) return false;
  }
  const std::optional<uint64_t> along_x = FarAccesses(f);
  if (along_x.value_or(0) == 0) return false;
  const std::optional<uint64_t> along_y = FarAccesses(WithAxesSwapped(f));
  return along_y && *along_y < *along_x;
}

ir::Function WithAxesSwapped(ir::Function f) {
  for (ir::Inst& inst : f.insts) {
    if (inst.op == Opcode::kSpecialRegister) inst.attrs.special = Swapped(inst.attrs.special);
  }
  if (f.required_threads[0] != 0) {
    f.required_threads[1] = std::max(f.required_threads[1], 1u);
    std::swap(f.required_threads[0], f.required_threads[1]);
  }
  return f;
}

}  // namespace ptx2cpu::analysis
