#include "lowering/pipeline.h"

#include <algorithm>
#include <array>

#include "ir/internal_error.h"
#include "ir/text/text.h"
#include "ir/verify/verify.h"
#include "lowering/thread_clock.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Phase;

constexpr std::array kPasses = {
    PassEntry{"insert-checks", nullptr, Phase::kSimt, For::kAll, On::kModule, Without::kNever,
              "first: checks the program's accesses, not those that other passes make; only where checks are "
              "wanted",
              InsertChecks},
    PassEntry{
        "insert-counts", nullptr, Phase::kSimt, For::kAll, On::kModule, Without::kNever,
        "before any pass changes blocks: those of the program are counted; only where a profile wants it",
        InsertCounts},
    PassEntry{"join-kernels", nullptr, Phase::kSimt, For::kAll, On::kModule, Without::kSlower,
              "before any pass that changes the kernel's code: later ones see one kernel", JoinKernels},
    PassEntry{"simplify-callees", Simplify, Phase::kSimt, For::kAll, On::kCallees, Without::kSlower,
              "before inlining: sizes decide there, and dead code does not count"},
    PassEntry{"keep-lanes-in-step", nullptr, Phase::kSimt, For::kAll, On::kModule, Without::kNever,
              "before inlining: a function in which lanes wait for each other concerns the caller's regions",
              KeepLanesInStep},
    PassEntry{"keep-statements-in-step", KeepStatementsInStep, Phase::kSimt, For::kAll, On::kKernels,
              Without::kNever, "before any pass that moves accesses: the barriers keep them in place"},
    PassEntry{"inline-calls", nullptr, Phase::kSimt, For::kAll, On::kModule, Without::kNever,
              "a barrier, collective or exit in a callee concerns the caller's regions, so it must be "
              "visible there",
              InlineCalls},
    PassEntry{"flatten-calls", FlattenCalls, Phase::kSimt, For::kAll, On::kKernels, Without::kNever,
              "after inlining: handles the remaining calls (recursion, function pointers) that lead to a "
              "place where lanes wait"},
    PassEntry{"resolve-generic-addresses", ResolveGenericAddresses, Phase::kSimt, For::kAll, On::kKernels,
              Without::kSlower,
              "after inlining: callees take generic addresses; before all passes that look at memory"},
    PassEntry{"restore-divisions", RestoreDivisions, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
              "before the next pass: a quotient's range is known"},
    PassEntry{
        "cancel-quotients", CancelQuotients, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
        "after the pass before, which finds quotients; before those that simplify and compare addresses"},
    PassEntry{"decide-by-ranges", DecideByRanges, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
              "after inlining: callees are the kernel's code then; before the pass that folds the branches"},
    PassEntry{"join-halves", JoinHalves, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
              "before the next pass, which removes what no longer reads the halves"},
    PassEntry{"simplify", Simplify, Phase::kSimt, For::kAll, On::kFunctions, Without::kNever,
              "every branch and value that it removes saves a region or a slot later"},
    PassEntry{
        "repeat-short-loops", RepeatShortLoops, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
        "after the pass before, which removes what unrolled loops leave over; before those that choose what "
        "becomes of loops"},
    PassEntry{"settle-checks", SettleChecks, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
              "after inlining: all that the kernel writes is visible; while each access has its check"},
    PassEntry{"forward-stores-across-barriers", ForwardStoresAcrossBarriers, Phase::kSimt, For::kAll,
              On::kKernels, Without::kSlower,
              "before the next pass: a load that it removes is no reason to keep a barrier"},
    PassEntry{"remove-redundant-barriers", RemoveRedundantBarriers, Phase::kSimt, For::kAll, On::kKernels,
              Without::kSlower,
              "a barrier that it removes ends no region, needs no slot and requires no other tier"},
    PassEntry{"keep-early-reads", KeepEarlyReads, Phase::kSimt, For::kAll, On::kKernels, Without::kNever,
              "after the pass before, which would compare all intervals with its barriers"},
    PassEntry{"read-before-stores", ReadBeforeStores, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
              "before the next pass: no store lies between loads that it joins"},
    PassEntry{"join-neighbouring-accesses", JoinNeighbouringAccesses, Phase::kSimt, For::kAll, On::kFunctions,
              Without::kSlower,
              "after the passes that compare single accesses, while blocks are as long as they will be"},
    PassEntry{"broadcast-butterflies", BroadcastButterflies, Phase::kSimt, For::kAll, On::kKernels,
              Without::kSlower, "last of those before boundaries: it makes another collective"},
    PassEntry{"insert-implicit-warp-barriers", InsertImplicitWarpBarriers, Phase::kSimt, For::kAll,
              On::kKernels, Without::kNever, "collectives become boundaries, the reason for extra barriers"},
    PassEntry{
        "split-at-barriers", SplitAtBarriers, Phase::kSimt, For::kAll, On::kKernels, Without::kNever,
        "boundaries are blocks of their own from here on, so control dependence between blocks suffices"},
    PassEntry{"meet-at-waits", MeetAtWaits, Phase::kSimt, For::kAll, On::kKernels, Without::kSlower,
              "just before the choice: it tries what the tier would be with and without its barriers"},
    PassEntry{"choose-tier", ChooseTier, Phase::kSimt, For::kAll, On::kKernels, Without::kNever,
              "the last point that all tiers share; it tries the next passes on a copy"},
    PassEntry{"insert-yields", InsertYields, Phase::kSimt, For::kLanes, On::kKernels, Without::kNever,
              "a sleep is a suspension for the next pass"},
    PassEntry{
        "make-lanes-resumable", nullptr, Phase::kSimt, For::kAll, On::kModule, Without::kNever,
        "needs barriers and collectives alone in their blocks, and no other pass; the copy for warps that "
        "it makes goes through those of regions",
        MakeLanesResumable},
    PassEntry{"defer-waits", DeferWaits, Phase::kSimt, For::kBlocks, On::kKernels, Without::kNever,
              "first of those that the choice decides about: it makes barriers and boundaries"},
    PassEntry{"check-supported", CheckSupported, Phase::kSimt, For::kRegions, On::kKernels, Without::kNever,
              "after inlining and simplification, so that dead code is not refused, and before the passes "
              "that rely on it"},
    PassEntry{"interchange-loops", InterchangeLoops, Phase::kSimt, For::kRegions, On::kKernels,
              Without::kSlower,
              "puts barriers into loops without changing the tier, which is chosen by then"},
    PassEntry{"order-rows", OrderRows, Phase::kSimt, For::kRegions, On::kKernels, Without::kSlower,
              "puts a barrier before a warp operation, as the pass before puts them around loops"},
    PassEntry{"split-inductions", SplitInductions, Phase::kSimt, For::kRegions, On::kKernels,
              Without::kSlower,
              "knows which loops hold barriers; before slots are made, which its values then do without"},
    PassEntry{"insert-extra-barriers", InsertExtraBarriers, Phase::kSplit, For::kRegions, On::kKernels,
              Without::kNever, "needs every boundary alone; afterwards each region leads to one boundary"},
    PassEntry{"mask-divergent-arms", MaskDivergentArms, Phase::kSplit, For::kRegions, On::kKernels,
              Without::kNever,
              "before slots are made: a value that differs between the arms needs one for each lane"},
    PassEntry{"collapse", Collapse, Phase::kCollapsed, For::kRegions, On::kKernels, Without::kNever,
              "turns those regions into loops"},
    PassEntry{"merge-slots", MergeSlots, Phase::kCollapsed, For::kRegions, On::kKernels, Without::kSlower,
              "only here are copies between slots visible, and the loops that do nothing else"},
    PassEntry{
        "make-blocks-resumable", MakeBlocksResumable, Phase::kCollapsed, For::kBlocks, On::kKernels,
        Without::kNever,
        "needs the loops over warps; before the next pass, since threads run for themselves until there are "
        "resume points"},
    PassEntry{"share-slots-of-arms", ShareSlotsOfArms, Phase::kCollapsed, For::kRegions, On::kKernels,
              Without::kSlower,
              "before the next pass, after which a warp's code is no longer that of one lane"},
    PassEntry{"sequence-divergent-arms", SequenceDivergentArms, Phase::kCollapsed, For::kRegions,
              On::kKernels, Without::kNever,
              "the second half of mask-divergent-arms: lanes that wait are kept in slots, and loops over "
              "lanes run the others"},
    PassEntry{"join-warp-code", JoinWarpCode, Phase::kCollapsed, For::kRegions, On::kKernels,
              Without::kSlower,
              "after the arms: no lane waits in code that all lanes of the warp execute at once"},
    PassEntry{"share-slots", ShareSlots, Phase::kCollapsed, For::kRegions, On::kKernels, Without::kSlower,
              "after the pass before, which removes most of them"},
    PassEntry{"compute-once", ComputeOnce, Phase::kCollapsed, For::kRegions, On::kKernels, Without::kSlower,
              "after slots are shared: its own are read before others that share one would be stored"},
    PassEntry{"specialise-distances", SpecialiseDistances, Phase::kCollapsed, For::kRegions, On::kKernels,
              Without::kSlower,
              "copies regions, so after the passes that have to do with slots and with each region"},
    PassEntry{"make-warps-resumable", MakeWarpsResumable, Phase::kCollapsed, For::kWarps, On::kKernels,
              Without::kNever,
              "after the arms, which are within one turn of a warp: cuts what is left at its barriers"},
    PassEntry{"join-together-code", nullptr, Phase::kCollapsed, For::kAll, On::kModule, Without::kNever,
              "last: passes before it work on the code of each alone", JoinTogetherCode},
    PassEntry{"share-slots-of-lanes", ShareSlots, Phase::kCollapsed, For::kLanes, On::kKernels,
              Without::kSlower,
              "after the pass before, which gives each value that lives across a suspension its own"},
};

bool Concerns(const PassEntry& pass, const ir::Function& f) {
  if (f.is_declaration || pass.on == (f.is_kernel ? On::kCallees : On::kKernels)) return false;
  switch (pass.tier) {
    case For::kAll:
      return true;
    case For::kRegions:
      return f.resumes != ir::Resumes::kLanes;
    case For::kBlocks:
      return f.resumes == ir::Resumes::kBlocks;
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

namespace {

// Dumps and verifies the results of passes.
class Observer {
 public:
  Observer(const ir::Module& module, const PipelineOptions& options)
      : module_(module),
        options_(options),
        dumps_(options.dump && !options.dump_after.empty()),
        before_(module.functions.size()) {
    if (!dumps_) return;
    for (size_t n = 0; n < before_.size(); ++n) before_[n] = ir::Print(module, module.functions[n]);
  }

  // A pass may have declared functions.
  void Expect(size_t functions) {
    if (before_.size() < functions) before_.resize(functions);
  }
  void Forget(size_t function) { before_.erase(before_.begin() + static_cast<ptrdiff_t>(function)); }

  Status After(const PassEntry& pass, const ir::Function& f) {
    // Code of lanes is ready before that of regions.
    CHECK(f.phase == pass.after || !f.is_kernel || f.resumes == ir::Resumes::kLanes, std::string(pass.name));
    if (dumps_) {
      std::string& before = before_[static_cast<size_t>(&f - module_.functions.data())];
      std::string text = ir::Print(module_, f);
      if (Wanted(options_.dump_after, pass.name) && text != before) options_.dump(pass.name, text);
      before = std::move(text);
    }
    if (!options_.verify_each) return {};
    Status status = ir::Verify(module_, f);
    if (!status) status.error().message += "; after pass " + std::string(pass.name);
    return status;
  }

 private:
  const ir::Module& module_;
  const PipelineOptions& options_;
  const bool dumps_;
  std::vector<std::string> before_;  // text by function
};

// A failed CHECK is an error too, where these are thrown.
template <typename Work>
Status Caught(const Work& work) {
  try {
    return work();
  } catch (const InternalError& error) {
    return Fail(ErrorCode::kInternal, error.what());
  }
}

void Drop(ir::Module& module, size_t function, Observer& observer) {
  module.functions.erase(module.functions.begin() + static_cast<ptrdiff_t>(function));
  observer.Forget(function);
}

// The kernel has, and will have, no code for warps whose lanes are together.
bool RunsLanesOnly(const ir::Module& module, bool tier_is_chosen) {
  const ir::Function& kernel = module.functions[0];
  if (kernel.resumes != ir::Resumes::kLanes || !tier_is_chosen) return kernel.resumes == ir::Resumes::kLanes;
  return kernel.phase == Phase::kCollapsed && module.functions.back().together_of == ~0u &&
         !ir::RunsTogether(kernel);
}

}  // namespace

Result<std::vector<PassTime>> RunPipeline(ir::Module& module, const PipelineOptions& options) {
  TRY_STATUS(CheckName(options.stop_after));
  for (const std::string& name : options.dump_after) TRY_STATUS(CheckName(name));
  std::vector<PassTime> times;
  Observer observer(module, options);
  bool tier_is_chosen = false;
  for (const PassEntry& pass : kPasses) {
    if (pass.without == Without::kSlower && IsOmitted(options.omit, pass.name)) {
      if (pass.name == options.stop_after) break;
      continue;
    }
    std::chrono::nanoseconds time{0};
    const auto timed = [&](const auto& run, auto&&... arguments) {
      const auto start = ThreadClock::now();
      Status status = run(module, arguments..., options.passes);
      time += ThreadClock::now() - start;
      return status;
    };
    if (pass.run_module != nullptr) TRY_STATUS(timed(pass.run_module));
    observer.Expect(module.functions.size());
    bool ran = pass.run_module != nullptr;
    for (size_t n = module.functions.size(); n-- > 0;) {
      ir::Function& f = module.functions[n];
      if (f.is_declaration || (pass.run != nullptr && !Concerns(pass, f))) continue;
      ran = true;
      const auto run = [&]() -> Status {
        if (pass.run != nullptr) TRY_STATUS(timed(pass.run, f));
        return observer.After(pass, f);
      };
      if (f.together_of == ~0u) {
        TRY_STATUS(run());
      } else if (!options.lanes_together || !Caught(run)) {
        Drop(module, n, observer);  // an improvement, never a condition
      }
    }
    if (ran) times.push_back({pass.name, time});
    if (pass.name == options.stop_after) break;
    tier_is_chosen |= pass.run == ChooseTier;
    if (options.below_lanes && RunsLanesOnly(module, tier_is_chosen)) break;
  }
  return times;
}

}  // namespace ptx2cpu::lowering
