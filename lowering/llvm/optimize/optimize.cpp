#include "lowering/llvm/optimize/optimize.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "ir/internal_error.h"
#include "lowering/forms.h"
#include "lowering/llvm/optimize/gather_turns.h"
#include "lowering/llvm/optimize/gathers_by_loads.h"
#include "lowering/llvm/optimize/halves_of_masks.h"
#include "lowering/llvm/optimize/hoist_gathers.h"
#include "lowering/llvm/optimize/idle_trips.h"
#include "lowering/llvm/optimize/jam_rows.h"
#include "lowering/llvm/optimize/join_stores.h"
#include "lowering/llvm/optimize/join_trees.h"
#include "lowering/llvm/optimize/known_masks.h"
#include "lowering/llvm/optimize/long_blocks.h"
#include "lowering/llvm/optimize/long_functions.h"
#include "lowering/llvm/optimize/long_sums.h"
#include "lowering/llvm/optimize/mask_words.h"
#include "lowering/llvm/optimize/matrix_rows.h"
#include "lowering/llvm/optimize/narrow_extrema.h"
#include "lowering/llvm/optimize/order_stores.h"
#include "lowering/llvm/optimize/rare_blocks.h"
#include "lowering/llvm/optimize/register_pressure.h"
#include "lowering/llvm/optimize/regroup_masks.h"
#include "lowering/llvm/optimize/streams_beside_gathers.h"
#include "lowering/llvm/optimize/turn_order.h"
#include "lowering/llvm/optimize/unrolling.h"
#include "lowering/llvm/optimize/unused_lanes.h"
#include "lowering/llvm/optimize/vector_halves.h"
#include "lowering/llvm/optimize/vector_parts.h"
#include "lowering/llvm/optimize/wide_joins.h"

namespace ptx2cpu::lowering {

namespace {

// The passes of each level, in LLVM's notation. LLVM's own pipelines of the same levels give code of the same
// speed and take more than twice the time: our loops over threads are vectors already, and what unrolling
// makes of long ones is only more code.
// First, so that what a function holds can be counted.
constexpr std::string_view kInline = "always-inline";

// Level 1: what a kernel runs as while better code is compiled. Also what a block with thousands of edges
// gets.
constexpr std::string_view kQuick =
    "function<eager-inv>("
    "  "
    "divide-huge-blocks,sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<max-iterations=1;no-"
    "verify-fixpoint>,"
    "  loop-mssa(licm),early-cse<memssa>,adce"
    "),globaldce";

// The same where registers are allocated as at level 0, which keeps no value in one from block to block: what
// the last passes above move out of loops, or find known, would come from the stack.
constexpr std::string_view kQuickOnStack =
    "function<eager-inv>("
    "  divide-huge-blocks,sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<max-iterations=1;no-"
    "verify-fixpoint>"
    "),globaldce";

constexpr std::string_view kFull =
    "cgscc(inline,function<eager-inv>("
    "  divide-huge-blocks,sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "  jump-threading,simplifycfg,cut-long-sums,"
    "  loop-mssa(loop-instsimplify,loop-simplifycfg,loop-rotate,licm),"
    "  simplifycfg,instcombine<no-verify-fixpoint>,"
    "  join-halves,end-idle-trips,keep-steps,"
    "  loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),"
    "  sroa<modify-cfg>,narrow-known-masks,divide-wide-joins,gvn,extract-parts,sccp,bdce,drop-unused-lanes,"
    "  narrow-extrema,"
    "  instcombine<no-verify-fixpoint>,"
    "  regroup-masks,dse,loop-mssa(licm),simplifycfg,instcombine<no-verify-fixpoint>,adce"
    ")),"
    "function<eager-inv>("
    "  "
    "loop-simplify,lcssa,hoist-gathers,gather-turns,jam-rows,keep-large-loops,keep-order-of-turns,"
    "  loop-vectorize,keep-long-loops,"
    "  loop-unroll<O3>,"
    "  sroa<modify-cfg>,narrow-known-masks,load-rows-by-distance,instcombine<no-verify-fixpoint>,simplifycfg,"
    "  join-stores,join-trees,early-cse<memssa>,loop-mssa(licm),sink-into-rare-blocks,div-rem-pairs,"
    "  order-stores"
    "),globaldce";

// Ahead of cutting functions: so that few variables are in memory, and that blocks lie between loops.
constexpr std::string_view kShort =
    "function<eager-inv>(divide-huge-blocks,sroa<modify-cfg>,simplifycfg,loop-simplify)";

// Where loops are nested so deeply that what is done for each of them, with all that it contains, does:
// LLVM's list of the blocks of each, which gvn asks for too.
constexpr std::string_view kDeep =
    "function<eager-inv>("
    "  "
    "divide-huge-blocks,sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<max-iterations=1;no-"
    "verify-fixpoint>,"
    "  early-cse<memssa>,simplifycfg,adce"
    "),globaldce";

std::string_view PipelineOf(int level, const llvm::Module& module, const llvm::TargetMachine& machine,
                            const LoopNumbers& numbers) {
  if (numbers.AreDeep()) return kDeep;
  if (level > 1) return HasHugeTable(module) ? kQuick : kFull;
  return machine.getOptLevel() == llvm::CodeGenOptLevel::None ? kQuickOnStack : kQuick;
}

// Ours: what the lists above name besides LLVM's own. Code is right without any of them.
struct OwnPass {
  std::string_view name;
  llvm::StringRef (*type)();  // LLVM's name of it
  void (*add)(llvm::FunctionPassManager& passes);
};

template <typename Pass>
void Add(llvm::FunctionPassManager& passes) {
  passes.addPass(Pass());
}

// Last, where the machine wants them.
constexpr std::string_view kMaskWords = "keep-masks-as-words", kLoads = "gathers-by-loads",
                           kPlainStores = "cache-stores-beside-gathers";

constexpr OwnPass kOwnPasses[] = {
    {"divide-huge-blocks", DivideHugeBlocks::name, Add<DivideHugeBlocks>},
    {"cut-long-sums", CutLongSums::name, Add<CutLongSums>},
    {"end-idle-trips", EndIdleTrips::name, Add<EndIdleTrips>},
    {"divide-wide-joins", DivideWideJoins::name, Add<DivideWideJoins>},
    {"keep-large-loops", KeepLargeLoops::name, Add<KeepLargeLoops>},
    {"keep-long-loops", KeepLongLoops::name, Add<KeepLongLoops>},
    {"keep-steps", KeepSteps::name, Add<KeepSteps>},
    {"hoist-gathers", HoistGathers::name, Add<HoistGathers>},
    {"gather-turns", GatherTurns::name, Add<GatherTurns>},
    {"jam-rows", JamRows::name, Add<JamRows>},
    {"extract-parts", ExtractVectorParts::name, Add<ExtractVectorParts>},
    {"join-halves", JoinVectorHalves::name, Add<JoinVectorHalves>},
    {"join-stores", JoinStores::name, Add<JoinStores>},
    {"join-trees", JoinTrees::name, Add<JoinTrees>},
    {"order-stores", OrderStores::name, Add<OrderStores>},
    {"narrow-known-masks", NarrowKnownMasks::name, Add<NarrowKnownMasks>},
    {"load-rows-by-distance", LoadRowsByDistance::name, Add<LoadRowsByDistance>},
    {"narrow-extrema", NarrowExtrema::name, Add<NarrowExtrema>},
    {"regroup-masks", RegroupMasks::name, Add<RegroupMasks>},
    {"drop-unused-lanes", DropUnusedLanes::name, Add<DropUnusedLanes>},
    {"sink-into-rare-blocks", SinkIntoRareBlocks::name, Add<SinkIntoRareBlocks>},
};

// Not among those that may be left out: without it LLVM's vectorizer is wrong.
constexpr llvm::StringLiteral kOrderOfTurns = "keep-order-of-turns";

bool AddOwnPass(llvm::StringRef name, llvm::FunctionPassManager& passes) {
  if (name == kOrderOfTurns) {
    Add<KeepOrderOfTurns>(passes);
    return true;
  }
  const auto* own = std::ranges::find(kOwnPasses, std::string_view(name), &OwnPass::name);
  if (own == std::end(kOwnPasses)) return false;
  own->add(passes);
  return true;
}

// The list without those of ours that `omit` names.
std::string Without(std::string_view pipeline, std::string_view omit) {
  std::string text(pipeline);
  std::erase(text, ' ');
  for (const OwnPass& own : kOwnPasses) {
    if (!IsOmitted(omit, own.name)) continue;
    for (size_t at = text.find(own.name); at != std::string::npos; at = text.find(own.name))
      text.replace(at, own.name.size(), "no-op-function");
  }
  return text;
}

// As TargetMachine::addPassesToEmitFile has it, without the passes that follow variables of the source: the
// debug information has lines only.
bool AddCodeGeneration(llvm::LLVMTargetMachine& machine, llvm::legacy::PassManager& passes,
                       llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType type) {
  auto* machine_module = new llvm::MachineModuleInfoWrapperPass(&machine);  // `passes` owns it
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::LiveDebugValuesID);
  if (machine.getOptLevel() != llvm::CodeGenOptLevel::None) {
    const std::unique_ptr<llvm::Pass> last_to_merge(llvm::createCodeGenPrepareLegacyPass());
    config->insertPass(last_to_merge->getPassID(), CreateSplitLongBlocks(machine));
    config->insertPass(&llvm::ExpandPostRAPseudosID, CreateSplitLongMachineBlocks());
  }
  passes.add(config);
  passes.add(machine_module);
  if (machine.getOptLevel() != llvm::CodeGenOptLevel::None) passes.add(CreateCutLongSums());
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, stream, nullptr, type, machine_module->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

// LLVM instructions of a function from which on code is generated without what takes time with their square.
constexpr unsigned kLong = 8000;

// Asked in front of each pass over a function that may be left out, which code generation has many of:
// whether to continue, and whether to leave out what would take too long. X86's domain reassignment, which
// keeps words of bits in mask registers, walks for each value over all that are connected with it, which in a
// long function was more than half of the time of code generation. For CodeGenPrepare see PreparesSlowly, for
// the scheduler SharesManyOperands, for the places of blocks PlacesSlowly.
class PassGate final : public llvm::OptPassGate {
 public:
  PassGate(llvm::Module& module, llvm::TargetMachine& machine, const std::atomic<bool>* stop)
      : context_(module.getContext()),
        before_(context_.getOptPassGate()),
        stop_(stop),
        is_long_(std::ranges::any_of(
            module, [](const llvm::Function& function) { return function.getInstructionCount() >= kLong; })),
        prepares_slowly_(PreparesSlowly(module)),
        keeps_order_(machine.getOptLevel() != llvm::CodeGenOptLevel::None &&
                     SharesManyOperands(module, machine)),
        places_slowly_(PlacesSlowly(module)) {
    context_.setOptPassGate(*this);
  }
  ~PassGate() override { context_.setOptPassGate(before_); }
  PassGate(const PassGate&) = delete;
  PassGate& operator=(const PassGate&) = delete;

  bool isEnabled() const override {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed))
      throw InternalError("stopped generating code");
    return is_long_ || prepares_slowly_ || keeps_order_ || places_slowly_;
  }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    return !(is_long_ && pass == "X86 Domain Reassignment Pass") &&
           !(prepares_slowly_ && pass == "CodeGen Prepare") &&
           !(keeps_order_ && pass == "Machine Instruction Scheduler") &&
           !(places_slowly_ && pass == "Branch Probability Basic Block Placement");
  }

 private:
  llvm::LLVMContext& context_;
  llvm::OptPassGate& before_;
  const std::atomic<bool>* const stop_;
  const bool is_long_, prepares_slowly_, keeps_order_, places_slowly_;
};

}  // namespace

int GenerationLevel(int level, llvm::Module& module) {
  return level > 0 && (NumbersOfLoops(module).AreDeep() || HasHugeTable(module)) ? 0 : level;
}

namespace {

// Passes of LLVM's whose time grows with the square of a function's blocks, and from how many on they are
// left out: jump threading follows branches from one to the next where arms are within each other; value
// numbering numbers all blocks anew after each edge that it splits.
struct BoundedPass {
  llvm::StringLiteral name;
  size_t max_blocks;
};
constexpr BoundedPass kBounded[] = {{"JumpThreadingPass", 1500}, {"GVNPass", 4000}};

void LeaveOutSlowPassesOfLongFunctions(llvm::PassInstrumentationCallbacks& callbacks) {
  callbacks.registerShouldRunOptionalPassCallback([](llvm::StringRef pass, llvm::Any unit) {
    const auto* function = llvm::any_cast<const llvm::Function*>(&unit);
    return function == nullptr || std::ranges::none_of(kBounded, [&](const BoundedPass& bounded) {
             return pass == bounded.name && (*function)->size() > bounded.max_blocks;
           });
  });
}

}  // namespace

std::vector<std::string_view> OwnPasses() {
  std::vector<std::string_view> names;
  for (const OwnPass& own : kOwnPasses) names.push_back(own.name);
  names.push_back(kMaskWords);
  names.push_back(kLoads);
  names.push_back(kPlainStores);
  return names;
}

namespace {

void NoteChanges(llvm::PassInstrumentationCallbacks& callbacks, std::set<std::string>& changed) {
  callbacks.registerAfterPassCallback(
      [&changed](llvm::StringRef type, llvm::Any, const llvm::PreservedAnalyses& preserved) {
        const auto* own =
            std::ranges::find_if(kOwnPasses, [&](const OwnPass& pass) { return pass.type() == type; });
        if (own != std::end(kOwnPasses) && !preserved.areAllPreserved()) changed.emplace(own->name);
      });
}

}  // namespace

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const Optimisation& options) {
  const auto [level, omit, stop, changed] = options;
  // The pass manager alone takes half a millisecond.
  if (level <= 0 && std::ranges::none_of(module, [](const llvm::Function& function) {
        return function.hasFnAttribute(llvm::Attribute::AlwaysInline);
      }))
    return;
  llvm::PassInstrumentationCallbacks callbacks;
  LeaveOutSlowPassesOfLongFunctions(callbacks);
  if (changed != nullptr) NoteChanges(callbacks, *changed);
  if (stop != nullptr) {
    callbacks.registerShouldRunOptionalPassCallback(
        [stop = stop](llvm::StringRef, llvm::Any) { return !stop->load(std::memory_order_relaxed); });
  }
  llvm::PassBuilder builder(&machine, {}, std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::FunctionPassManager& passes,
         llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) { return AddOwnPass(name, passes); });
  auto add = [&builder, omit = omit](llvm::ModulePassManager& passes, std::string_view pipeline) {
    llvm::Error error = builder.parsePassPipeline(passes, Without(pipeline, omit));
    CHECK(!error, "LLVM does not know its own passes: " + llvm::toString(std::move(error)));
  };
  const auto run = [&](std::string_view pipeline) {
    llvm::ModulePassManager passes;
    add(passes, pipeline);
    passes.run(module, modules);
  };
  run(kInline);
  if (level <= 0) return;
  const LoopNumbers numbers = NumbersOfLoops(module);
  if (numbers.AreMany() && !numbers.AreDeep()) {
    run(kShort);
    SplitLongFunctions(module);
    modules.clear();
  }
  llvm::ModulePassManager passes;
  add(passes, PipelineOf(level, module, machine, numbers));
  const unsigned lanes = LanesOfMaskWords(machine);
  if (level > 1 && lanes != 0 && !IsOmitted(omit, kMaskWords)) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(KeepMasksAsWords(lanes)));
    if (changed != nullptr) changed->emplace(kMaskWords);
  }
  bool has_loads = false, has_plain_stores = false;
  if (level > 1 && GathersAreSlow(machine) && !IsOmitted(omit, kLoads))
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(GathersByLoads(&has_loads)));
  if (level > 1 && GathersWaitForStreams(machine) && !IsOmitted(omit, kPlainStores))
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(CacheStoresBesideGathers(&has_plain_stores)));
  passes.run(module, modules);
  if (changed == nullptr) return;
  if (has_loads) changed->emplace(kLoads);
  if (has_plain_stores) changed->emplace(kPlainStores);
}

Result<std::string> GenerateCode(llvm::Module& module, llvm::TargetMachine& machine,
                                 llvm::CodeGenFileType type, const std::atomic<bool>* stop) {
  MoveMasksThatAreHalves(module, machine);
  const PassGate gate(module, machine, stop);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (!AddCodeGeneration(static_cast<llvm::LLVMTargetMachine&>(machine), passes, stream, type))
    return Fail(ErrorCode::kUnsupported, "the target cannot write this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace ptx2cpu::lowering
