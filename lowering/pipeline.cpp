#include "lowering/pipeline.h"

#include <algorithm>
#include <array>

#include "ir/text/text.h"
#include "ir/verify/verify.h"
#include "lowering/thread_clock.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Phase;

constexpr std::array kPasses = {
    PassEntry{"inline-calls", InlineCalls, Phase::kSimt, For::kAll, false,
              "a barrier, collective or exit in a callee concerns the caller's regions, so it must be "
              "visible there"},
    PassEntry{"flatten-calls", FlattenCalls, Phase::kSimt, For::kAll, true,
              "after inlining: handles the remaining calls (recursion, function pointers) that lead to a "
              "place where lanes wait"},
    PassEntry{"simplify", Simplify, Phase::kSimt, For::kAll, false,
              "every branch and value that it removes saves a region or a slot later"},
    PassEntry{"forward-stores-across-barriers", ForwardStoresAcrossBarriers, Phase::kSimt, For::kAll, true,
              "before the next pass: a load that it removes is no reason to keep a barrier"},
    PassEntry{"remove-redundant-barriers", RemoveRedundantBarriers, Phase::kSimt, For::kAll, true,
              "a barrier that it removes ends no region, needs no slot and requires no other tier"},
    PassEntry{"insert-implicit-warp-barriers", InsertImplicitWarpBarriers, Phase::kSimt, For::kAll, true,
              "collectives become boundaries, the reason for extra barriers"},
    PassEntry{
        "split-at-barriers", SplitAtBarriers, Phase::kSimt, For::kAll, true,
        "boundaries are blocks of their own from here on, so control dependence between blocks suffices"},
    PassEntry{"choose-tier", ChooseTier, Phase::kSimt, For::kAll, true,
              "the last point that all tiers share; it tries the next passes on a copy"},
    PassEntry{"check-supported", CheckSupported, Phase::kSimt, For::kRegions, true,
              "after inlining and simplification, so that dead code is not refused, and before the passes "
              "that rely on it"},
    PassEntry{"insert-extra-barriers", InsertExtraBarriers, Phase::kSplit, For::kRegions, true,
              "needs every boundary alone; afterwards each region leads to one boundary"},
    PassEntry{"mask-divergent-arms", MaskDivergentArms, Phase::kSplit, For::kRegions, true,
              "before slots are made: a value that differs between the arms needs one for each lane"},
    PassEntry{"collapse", Collapse, Phase::kCollapsed, For::kRegions, true, "turns those regions into loops"},
    PassEntry{"sequence-divergent-arms", SequenceDivergentArms, Phase::kCollapsed, For::kRegions, true,
              "the second half of mask-divergent-arms: lanes that wait are kept in slots, and loops over "
              "lanes run the others"},
    PassEntry{"make-warps-resumable", MakeWarpsResumable, Phase::kCollapsed, For::kWarps, true,
              "after the arms, which are within one turn of a warp: cuts what is left at its barriers"},
    PassEntry{"insert-yields", InsertYields, Phase::kSimt, For::kLanes, true,
              "a sleep is a suspension for the next pass"},
    PassEntry{
        "make-lanes-resumable", MakeLanesResumable, Phase::kCollapsed, For::kLanes, true,
        "needs barriers and collectives alone in their blocks; accepts any graph, so it needs no other pass"},
};

bool Concerns(const PassEntry& pass, const ir::Function& f) {
  if (!f.is_kernel && pass.kernels_only) return false;
  switch (pass.tier) {
    case For::kAll:
      return true;
    case For::kRegions:
      return f.resumes != ir::Resumes::kLanes;
    case For::kWarps:
      return f.resumes == ir::Resumes::kWarps;
    case For::kLanes:
      return f.resumes == ir::Resumes::kLanes;
  }
  return false;
}

Status CheckName(const std::string& name) {
  if (name.empty() || name == "all") return {};
  if (std::any_of(kPasses.begin(), kPasses.end(), [&](const PassEntry& p) { return p.name == name; }))
    return {};
  Error error;
  error.code = ErrorCode::kUsage;
  error.message = "no pass is named '" + name + "'";
  for (const PassEntry& pass : kPasses)
    error.hint += (error.hint.empty() ? "passes: " : ", ") + std::string(pass.name);
  return Fail(std::move(error));
}

bool Wanted(const std::vector<std::string>& names, std::string_view pass) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& n) { return n == "all" || n == pass; });
}

}  // namespace

std::span<const PassEntry> Passes() { return kPasses; }

Result<std::vector<PassTime>> RunPipeline(ir::Module& module, ir::Function& f,
                                          const PipelineOptions& options) {
  TRY_STATUS(CheckName(options.stop_after));
  for (const std::string& name : options.dump_after) TRY_STATUS(CheckName(name));
  std::vector<PassTime> times;
  bool dumps = options.dump && !options.dump_after.empty();
  std::string before = dumps ? ir::Print(module, f) : "";
  for (const PassEntry& pass : kPasses) {
    if (!Concerns(pass, f)) {
      if (pass.name == options.stop_after) break;
      continue;
    }
    auto start = ThreadClock::now();
    TRY_STATUS(pass.run(module, f, options.passes));
    times.push_back({pass.name, ThreadClock::now() - start});
    CHECK(f.phase == pass.after || !f.is_kernel, std::string(pass.name));
    if (dumps) {
      std::string text = ir::Print(module, f);
      if (Wanted(options.dump_after, pass.name) && text != before) options.dump(pass.name, text);
      before = std::move(text);
    }
    if (options.verify_each) {
      if (Status status = ir::Verify(module, f); !status) {
        status.error().message += "; after pass " + std::string(pass.name);
        return Fail(std::move(status.error()));
      }
    }
    if (pass.name == options.stop_after) break;
  }
  return times;
}

}  // namespace ptx2cpu::lowering
