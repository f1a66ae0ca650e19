// The list of rules, and the rules about blocks, values and edges. The law itself is in verify.h.
#include "ir/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text/text.h"
#include "ir/verify/rules.h"

namespace ptx2cpu::ir {

namespace verify {

namespace {

enum PhaseSet : uint8_t { kSimt = 1, kSplit = 2, kCollapsed = 4, kAll = 7 };

struct Rule {
  const char* name;
  Status (*check)(Subject&);
  PhaseSet phases;
};

// In order: each may rely on those before it.
constexpr Rule kRules[] = {
    {"blocks", CheckBlocks, kAll},
    {"values", CheckValues, kAll},
    {"types", CheckTypes, kAll},
    {"signature", CheckSignature, kAll},
    {"attributes", CheckAttributes, kAll},
    {"references", CheckReferences, kAll},
    {"memory", CheckMemory, kAll},
    {"edges", CheckEdges, kAll},
    {"dominance", CheckDominance, kAll},
    {"interface", CheckInterface, kAll},
    {"phase", CheckPhaseRows, kAll},
    {"simt levels", CheckSimtLevels, kSimt},
    {"split blocks", CheckSplitBlocks, kSplit},
    {"split branches", CheckSplitBranches, kSplit},
    {"split regions", CheckSplitRegions, kSplit},
    {"collapsed levels", CheckCollapsedLevels, kCollapsed},
    {"collapsed loops", CheckCollapsedLoops, kCollapsed},
    {"collapsed values", CheckCollapsedValues, kCollapsed},
    {"resumable", CheckResumable, kCollapsed},
};

uint32_t PrintedNumber(const Function& f, BlockId block) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < block.index && i < f.blocks.size(); ++i) number += f.blocks[i].removed ? 0 : 1;
  return number;
}

// Ids of one block; `listed` has the instructions seen so far.
Status CheckBlock(const Subject& s, BlockId id, std::vector<bool>& listed) {
  const Block& block = s.f.at_block(id);
  if (block.insts.empty()) return s.Broken(id, "the block is empty, so it has no terminator");
  for (ValueId param : block.params) {
    if (param.index >= s.f.values.size()) return s.Broken(id, "a parameter's id is invalid");
  }
  for (InstId inst_id : block.insts) {
    if (inst_id.index >= s.f.insts.size()) return s.Broken(id, "an instruction's id is invalid");
    const Inst& inst = s.f.at_inst(inst_id);
    if (listed[inst_id.index]) return s.Broken(id, inst, "the instruction is in two places");
    listed[inst_id.index] = true;
    if (inst.block != id) return s.Broken(id, inst, "the instruction names another block as its own");
    bool last = inst_id == block.insts.back();
    if (last && !IsTerminator(inst.op))
      return s.Broken(id, inst, "the block's last instruction is not a terminator");
    if (!last && IsTerminator(inst.op)) return s.Broken(id, inst, "a terminator before the block's end");
    auto valid = [&](ValueId value) { return value.index < s.f.values.size(); };
    for (ValueId value : inst.operands) {
      if (!valid(value)) return s.Broken(id, inst, "an operand's id is invalid");
    }
    for (ValueId value : inst.results) {
      if (!valid(value)) return s.Broken(id, inst, "a result's id is invalid");
    }
    for (const Edge& edge : inst.edges) {
      if (edge.to.index >= s.f.blocks.size()) return s.Broken(id, inst, "an edge's block is invalid");
      if (s.f.at_block(edge.to).removed) return s.Broken(id, inst, "an edge leads to a removed block");
      for (ValueId value : edge.args) {
        if (!valid(value)) return s.Broken(id, inst, "an edge argument's id is invalid");
      }
    }
  }
  return {};
}

}  // namespace

std::string Subject::NameOf(BlockId block) const {
  const std::string& label = f.at_block(block).label;
  return fmt::format("block ^b{}{}", PrintedNumber(f, block),
                     label.empty() ? "" : fmt::format(" \"{}\"", label));
}

std::unexpected<Error> Subject::BrokenAt(std::string place, Position at, std::string what) const {
  Error error{ErrorCode::kInternal, fmt::format("function @{}, {}: {} (rule {})", f.name, place, what, rule)};
  error.at = module.Place(at.ptx_line);
  error.excerpt = module.Line(at.ptx_line);
  return Fail(std::move(error));
}

std::unexpected<Error> Subject::Broken(std::string what) const {
  return BrokenAt(fmt::format("phase {}", Name(f.phase)), f.at, std::move(what));
}

std::unexpected<Error> Subject::Broken(BlockId block, std::string what) const {
  return BrokenAt(NameOf(block), f.at, std::move(what));
}

std::unexpected<Error> Subject::Broken(BlockId block, const Inst& inst, std::string what) const {
  return BrokenAt(fmt::format("{}, `{}`", NameOf(block), Print(f, inst)), inst.at, std::move(what));
}

Status CheckBlocks(Subject& s) {
  const Function& f = s.f;
  if (f.entry.index >= f.blocks.size()) return s.Broken("the function has no entry block");
  if (f.at_block(f.entry).removed) return s.Broken("the entry block is removed");
  std::vector<bool> seen(f.blocks.size()), listed(f.insts.size());
  std::vector<BlockId> work{f.entry};
  seen[f.entry.index] = true;
  while (!work.empty()) {
    BlockId block = work.back();
    work.pop_back();
    TRY_STATUS(CheckBlock(s, block, listed));
    for (const Edge& edge : f.successors(block)) {
      if (!seen[edge.to.index]) work.push_back(edge.to);
      seen[edge.to.index] = true;
    }
  }
  s.blocks = ReversePostOrder(f);
  return {};
}

Status CheckValues(Subject& s) {
  std::vector<bool> defined(s.f.values.size());
  auto matches = [&](ValueId id, InstId def, BlockId block, size_t number) {
    const Value& value = s.f.at_value(id);
    bool first = !defined[id.index];
    defined[id.index] = true;
    return first && value.def == def && value.block == block && value.number == number;
  };
  for (BlockId id : s.Blocks()) {
    const Block& block = s.f.at_block(id);
    for (size_t n = 0; n < block.params.size(); ++n) {
      if (!matches(block.params[n], InstId{}, id, n)) {
        return s.Broken(id, fmt::format("parameter {} names another definition", n));
      }
    }
    for (InstId inst_id : block.insts) {
      const Inst& inst = s.f.at_inst(inst_id);
      for (size_t n = 0; n < inst.results.size(); ++n) {
        if (!matches(inst.results[n], inst_id, id, n)) {
          return s.Broken(id, inst, fmt::format("result {} names another definition", n));
        }
      }
    }
  }
  return {};
}

namespace {
// How many edges an instruction that has `count` of them must have.
size_t EdgesOf(const Function& f, Opcode op, size_t count) {
  if (op == Opcode::kBr) return 1;
  if (op == Opcode::kCondBr || op == Opcode::kForWarps) return 2;
  if (op == Opcode::kForLanes)
    return count == 3 && f.parked_slot != ~0u ? 3 : 2;  // 2: of lanes that are parked
  if (op == Opcode::kSwitch || op == Opcode::kDispatch) return std::max<size_t>(count, 1);
  if (op == Opcode::kResume) return f.resume_points.size();
  return 0;
}
}  // namespace

Status CheckEdges(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    const size_t count = inst.edges.size(), wanted = EdgesOf(s.f, inst.op, count);
    if (count != wanted) return s.Broken(block, inst, fmt::format("{} edges, expected {}", count, wanted));
    for (size_t e = 0; e < count; ++e) {
      const auto& params = s.f.at_block(inst.edges[e].to).params;
      const auto& args = inst.edges[e].args;
      if (args.size() != params.size()) {
        return s.Broken(block, inst,
                        fmt::format("edge {} has {} arguments, its block has {} parameters", e, args.size(),
                                    params.size()));
      }
      for (size_t n = 0; n < args.size(); ++n) {
        Type is = s.f.type_of(args[n]), wants = s.f.type_of(params[n]);
        if (is == wants) continue;
        return s.Broken(
            block, inst,
            fmt::format("edge {}: argument {} is {}, the parameter is {}", e, n, Name(is), Name(wants)));
      }
    }
    return {};
  });
}

}  // namespace verify

Status Verify(const Module& module, const Function& f) {
  verify::Subject s{module, f, {}};
  if (f.is_declaration && f.blocks.empty()) return {};
  int phase = 1 << static_cast<int>(f.is_kernel ? f.phase : Phase::kSimt);
  for (const verify::Rule& rule : verify::kRules) {
    if ((rule.phases & phase) == 0) continue;
    s.rule = rule.name;
    TRY_STATUS(rule.check(s));
  }
  return {};
}

namespace {
template <typename Condition>
bool AnyWarpBlockEnds(const Function& f, Condition condition) {
  return std::ranges::any_of(f.blocks, [&](const Block& block) {
    return !block.removed && !block.insts.empty() && block.level == Level::kWarp &&
           condition(f.at_inst(block.insts.back()));
  });
}
}  // namespace

bool HasDivergentBranches(const Function& f) {
  return AnyWarpBlockEnds(f, [](const Inst& end) { return (end.attrs.flags & kDivergent) != 0; });
}

bool HasOpenArms(const Function& f) {
  return HasDivergentBranches(f) ||
         AnyWarpBlockEnds(f, [](const Inst& end) { return end.op == Opcode::kExit; });
}

bool IsFinished(const Function& f) {
  return f.phase == Phase::kCollapsed && !HasOpenArms(f) &&
         (f.resumes == Resumes::kNever || !f.resume_points.empty());
}

Status Verify(const Module& module) {
  for (const Function& function : module.functions) TRY_STATUS(Verify(module, function));
  return {};
}

}  // namespace ptx2cpu::ir
