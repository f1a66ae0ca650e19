#include "lowering/compile.h"

#include <algorithm>
#include <chrono>

#include "ir/verify/verify.h"
#include "lowering/passes/partings.h"
#include "lowering/thread_clock.h"
#include "ptx-parser/parse/parse.h"
#include "ptx-parser/translate/translate.h"

namespace ptx2cpu::lowering {

namespace {

class Stopwatch {
 public:
  explicit Stopwatch(std::vector<StageTime>* times) : times_(times) {}
  void Lap(std::string stage) {
    const auto now = ThreadClock::now();
    if (times_ != nullptr)
      times_->push_back({std::move(stage), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }

 private:
  std::vector<StageTime>* times_;
  ThreadClock::time_point last_ = ThreadClock::now();
};

}  // namespace

std::vector<std::string> StageNames() {
  std::vector<std::string> names = {"ir"};
  for (const PassEntry& pass : Passes()) names.emplace_back(pass.name);
  return names;
}

Result<PtxModule> PtxModule::Parse(std::string text, std::string name) {
  PtxModule module;
  module.asts_ = {
      std::make_shared<const ptx::ast::Module>(TRY(ptx::Parse(std::move(text), std::move(name))))};
  module.symbols_ = std::make_shared<const ptx::SymbolTable>(ptx::SymbolTable::OfOne(*module.asts_[0]));
  return module;
}

Result<PtxModule> PtxModule::Link(std::vector<Source> sources) {
  PtxModule module;
  std::vector<const ptx::ast::Module*> trees;
  for (Source& source : sources) {
    module.asts_.push_back(std::make_shared<const ptx::ast::Module>(
        TRY(ptx::Parse(std::move(source.text), std::move(source.name)))));
    trees.push_back(module.asts_.back().get());
  }
  module.symbols_ = std::make_shared<const ptx::SymbolTable>(TRY(ptx::SymbolTable::Link(std::move(trees))));
  return module;
}

PtxModule::Place PtxModule::PlaceOf(uint32_t ptx_line) const {
  Place place;
  if (ptx_line == 0) return place;
  const auto modules = symbols_->modules();
  size_t number = modules.size() - 1;
  while (number > 0 && modules[number].line_base >= ptx_line) --number;
  const ptx::ast::Module& ast = *modules[number].ast;
  const Error error =
      ptx::ast::ErrorAt(ast, {ptx_line - modules[number].line_base, 0}, ErrorCode::kFault, "");
  return {error.at, error.excerpt};
}

std::vector<std::string> PtxModule::Kernels() const { return ptx::ListKernels(*symbols_); }

Status PtxModule::CheckInstructions() const {
  for (const auto& ast : asts_) TRY_STATUS(ptx::CheckInstructions(*ast));
  return {};
}

Result<ir::Module> PtxModule::Variables() const { return ptx::TranslateVariables(*symbols_); }

Result<TierChoice> PtxModule::ChooseTier(std::string_view kernel, const BuildOptions& options) const {
  BuildOptions until = options;
  until.pipeline.stop_after = "meet-at-waits";
  const ir::Module module = TRY(Build(kernel, until));
  return DecideTier(module, module.functions[0], options.pipeline.passes);
}

Result<PtxModule::Partings> PtxModule::FindPartings(std::string_view kernel,
                                                    const BuildOptions& options) const {
  BuildOptions until = options;
  until.pipeline.stop_after = "insert-yields";
  ir::Module module = TRY(Build(kernel, until));
  Partings result;
  if (!TriesTogether(until.pipeline.passes)) {
    result.obstacle = {ir::Resumes::kLanes, "a tier or an order of lanes that was asked for", {}};
    return result;
  }
  const auto found = DivideAtPartings(module, module.functions[0], until.pipeline.passes);
  if (!found) {
    result.obstacle = found.error();
    return result;
  }
  for (const Parting& parting : *found)
    result.branches.push_back(module.functions[0].terminator(parting.branch).at);
  return result;
}

Result<ir::Module> PtxModule::Build(std::string_view kernel, const BuildOptions& options,
                                    std::vector<StageTime>* times) const {
  Stopwatch watch(times);
  const ptx::TranslateOptions translation{.contract = options.contract,
                                          .chains_matrix_sums = options.matrix_sums == MatrixSums::kChained,
                                          .keeps_registers = options.keeps_registers};
  ir::Module module = TRY(ptx::Translate(*symbols_, kernel, translation));
  if (!options.together.empty() && SharesCallees(module)) {
    std::vector<std::string_view> names = {kernel};
    for (const std::string& name : options.together) {
      if (name != kernel && symbols_->FindKernel(name).index != ptx::ast::kNone) names.emplace_back(name);
    }
    if (options.joined != nullptr) *options.joined = names.size() > 1;  // also if a CHECK fails for another
    // Another kernel that cannot be translated is no error of this kernel.
    auto several = ptx::Translate(*symbols_, names, translation);
    if (options.joined != nullptr && !several) *options.joined = false;
    if (several) module = *std::move(several);
  }
  watch.Lap("ir");
  if (options.pipeline.verify_each) TRY_STATUS(ir::Verify(module));
  if (options.pipeline.stop_after == "ir") return module;
  const auto passes = TRY(RunPipeline(module, options.pipeline));
  for (const PassTime& pass : passes) {
    if (times != nullptr)
      times->push_back(
          {std::string(pass.name), std::chrono::duration<double, std::milli>(pass.time).count()});
  }
  if (const auto& shape = options.pipeline.passes.launch) {  // the launcher checks it
    const uint32_t extents[] = {shape->x, shape->y, shape->z};
    std::ranges::copy(extents, module.functions[0].required_threads);
  }
  return module;
}

Result<std::optional<ir::Module>> PtxModule::BuildForShape(std::string_view kernel,
                                                           const BuildOptions& options,
                                                           analysis::LaunchShape shape,
                                                           std::vector<StageTime>* times) const {
  BuildOptions special = options;
  special.pipeline.passes.launch = shape;
  special.pipeline.below_lanes = true;
  ir::Module module = TRY(Build(kernel, special, times));
  const ir::Resumes one = module.functions[0].resumes;
  if (one == ir::Resumes::kLanes) {  // as any shape does, but for warps that stay together
    return ir::RunsTogether(module.functions[0]) ? std::optional(std::move(module)) : std::nullopt;
  }
  if (one <= ir::Resumes::kBlocks) return module;
  Stopwatch watch(times);
  const ir::Resumes any = TRY(ChooseTier(kernel, options)).resumes;
  watch.Lap("tier for any shape");
  if (any <= ir::Resumes::kBlocks || one < any) return module;
  return std::nullopt;
}

}  // namespace ptx2cpu::lowering
