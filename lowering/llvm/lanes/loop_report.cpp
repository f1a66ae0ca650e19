#include "lowering/llvm/lanes/loop_report.h"

#include <algorithm>
#include <span>

#include "lowering/llvm/emit/region_blocks.h"
#include "lowering/llvm/module/lane_report.h"

namespace ptx2cpu::lowering {

namespace {

using ir::Opcode;

LaneReport::Loop LoopOver(const ir::Function& f, std::span<const ir::BlockId> blocks) {
  LaneReport::Loop loop;
  for (const ir::BlockId block : blocks) {
    for (const ir::InstId id : f.at_block(block).insts) {
      const uint32_t line = f.at_inst(id).at.ptx_line;
      if (line == 0) continue;
      loop.first_line = loop.first_line == 0 ? line : std::min(loop.first_line, line);
      loop.last_line = std::max(loop.last_line, line);
    }
  }
  return loop;
}

uint32_t& CountOf(LaneReport::Counts& counts, LaneForm form) {
  switch (form) {
    case LaneForm::kUniform:
      return counts.uniform;
    case LaneForm::kVector:
      return counts.consecutive;
    case LaneForm::kUniformIfSeen:
    case LaneForm::kVectorIfSeen:
    case LaneForm::kInGroups:
      return counts.tested;
    case LaneForm::kStrided:
      return counts.strided;
    case LaneForm::kGather:
      return counts.gathers;
    case LaneForm::kEachLane:
      break;
  }
  return counts.one_by_one;
}

void Add(LaneReport::Loop& loop, const ir::Inst& inst, LaneForm form) {
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore)
    ++CountOf(inst.op == Opcode::kLoad ? loop.loads : loop.stores, form);
  else if (form == LaneForm::kEachLane)
    ++loop.others_one_by_one;
  if (form == LaneForm::kGather || form == LaneForm::kEachLane)
    loop.slow.push_back({inst.at.ptx_line, form == LaneForm::kGather});
}

}  // namespace

void ReportVectors(const FunctionEmitter& e, const LanePlan& plan) {
  if (e.m.options.report == nullptr) return;
  LaneReport::Loop loop = LoopOver(e.f, plan.region.blocks);
  loop.width = plan.width;
  loop.loops = static_cast<uint32_t>(plan.region.levels.size() - 1);
  loop.within_rows = plan.quotients.has_value();
  for (const ir::BlockId block : plan.region.blocks) {
    for (const ir::InstId id : e.f.at_block(block).insts) {
      const ir::Inst& inst = e.f.at_inst(id);
      if (!ir::IsTerminator(inst.op)) Add(loop, inst, FormOf(e, plan.region, inst));
    }
  }
  e.m.options.report->loops.push_back(std::move(loop));
}

void ReportScalar(const FunctionEmitter& e, ir::BlockId entry, const Obstacle& why) {
  if (e.m.options.report == nullptr) return;
  LaneReport::Loop loop = LoopOver(e.f, BlocksOfLevel(e.f, entry));
  loop.why = why.what;
  loop.why_line = why.ptx_line;
  e.m.options.report->loops.push_back(std::move(loop));
}

}  // namespace ptx2cpu::lowering
