#include "lowering/translator/translator.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "ir/internal_error.h"
#include "ir/interpret/find_thread.h"
#include "lowering/compile.h"
#include "lowering/llvm/output/describe_kernel.h"
#include "lowering/llvm/output/jit.h"
#include "lowering/repetition.h"
#include "lowering/translator/attempts.h"

namespace ptx2cpu::lowering {

namespace {

// Code does not depend on where the PTX came from, so its line table does not name that place.
constexpr const char* kAnyName = "kernel.ptx";

Status PrintRemarks(const Jit& jit, const ir::Module& module, std::string_view kernel) {
  const LaneReport report = TRY(jit.ReportLanes(module, kernel));
  const std::string text = "ptx2cpu: kernel " + std::string(kernel) + "\n" + Render(report, module);
  std::fputs(text.c_str(), stderr);
  return {};
}

BuildOptions BuildOptionsOf(const CodeOptions& options) {
  BuildOptions build;
  build.contract = options.contract;
  build.matrix_sums = options.matrix_sums;
  build.keeps_registers = options.KeepsRegisters();
  build.pipeline.omit = options.omit;
  build.pipeline.verify_each = false;
  build.pipeline.passes.collapse = options.collapse;
  build.pipeline.passes.tier = options.tier;
  build.pipeline.passes.checks = options.checks;
  build.pipeline.passes.counts = options.counts;
  return build;
}

class OneModule final : public TranslatedModule {
 public:
  OneModule(PtxModule module, std::string name) : module_(std::move(module)), name_(std::move(name)) {}

  Status CheckInstructions() const override {
    const ThrowInternalErrors throwing;
    return module_.CheckInstructions();
  }

  Result<DeclaredVariables> Variables() const override {
    const ThrowInternalErrors throwing;
    const ir::Module variables = TRY(module_.Variables());
    DeclaredVariables declared;
    for (const ir::Variable& variable : variables.variables) {
      if (variable.space != ir::Space::kGlobal && variable.space != ir::Space::kConst) continue;
      using Linkage = ir::Variable::Linkage;
      declared.list.push_back({variable.name, variable.size, variable.align,
                               variable.space == ir::Space::kConst, variable.is_managed,
                               variable.linkage == Linkage::kExtern, variable.linkage == Linkage::kInternal});
    }
    declared.images = DescribeVariables(variables);
    return declared;
  }

  Result<KernelDeclaration> Declaration(std::string_view kernel) const override {
    const ThrowInternalErrors throwing;
    BuildOptions translated;
    translated.pipeline.stop_after = "ir";
    const ir::Module module = TRY(module_.Build(kernel, translated));
    const ir::Function& declared = module.functions[0];
    KernelDeclaration result;
    for (const ir::Param& param : declared.params) result.parameters.push_back({param.offset, param.size});
    std::ranges::copy(declared.max_threads, result.max_threads.begin());
    std::ranges::copy(declared.required_cluster, result.required_cluster.begin());
    return result;
  }

  Result<KernelImage> Describe(std::string_view kernel, const CodeOptions& options) const override {
    const ThrowInternalErrors throwing;
    const ir::Module module = TRY(module_.Build(kernel, BuildOptionsOf(options)));
    const ir::Function& found = *TRY(FindKernel(module, kernel));
    KernelImage image = DescribeKernel(module, found, TRY(LayoutOf(module, found)));
    image.variables = {};
    return image;
  }

  Place PlaceOf(uint32_t ptx_line) const override {
    PtxModule::Place place = module_.PlaceOf(ptx_line);
    return {std::move(place.at), std::move(place.excerpt)};
  }

  Result<std::optional<ir::FaultingAccess>> ThreadOf(std::string_view kernel, const ir::FaultOfBlock& fault,
                                                     std::span<const std::byte> params,
                                                     std::span<const Storage> variables) const override {
    const ThrowInternalErrors throwing;
    BuildOptions translated;
    translated.pipeline.stop_after = "ir";
    const ir::Module module = TRY(module_.Build(kernel, translated));
    ir::ModuleStorage storage(module);
    for (uint32_t i = 0; i < module.variables.size(); ++i) {
      const auto place = std::ranges::find(variables, module.variables[i].name, &Storage::name);
      if (place != variables.end()) storage.Bind(i, place->address);
    }
    return ir::FindThread(module, module.functions[0], storage, params, fault);
  }

  Result<std::optional<KernelImage>> Compile(std::string_view kernel, const CodeOptions& options,
                                             const CompileControl& control) const override {
    const ThrowInternalErrors throwing;
    const Attempt first = {.beside_others = !control.together.empty() && !options.block,
                           .code_for_warps = true};
    return TryInTurn<std::optional<KernelImage>>(first, [&](Attempt with, Attempt& has) {
      if (control.others != nullptr) control.others->clear();
      const auto forget_if_stopped = [&] {  // another attempt would be stopped too
        if (control.stop != nullptr && *control.stop) has = {};
      };
      try {
        auto image = CompileWith(with, has, kernel, options, control);
        forget_if_stopped();
        return image;
      } catch (const InternalError&) {
        forget_if_stopped();
        throw;
      }
    });
  }

 private:
  // A kernel alone, or several whose lanes run one by one, so that the emitter can make them one code.
  static bool IsOneCode(const ir::Module& module) {
    const ir::Function& f = module.functions[0];
    return f.entries.empty() || (f.resumes == ir::Resumes::kLanes && !ir::RunsTogether(f));
  }

  Result<std::optional<KernelImage>> CompileWith(Attempt with, Attempt& has, std::string_view kernel,
                                                 const CodeOptions& options,
                                                 const CompileControl& control) const {
    BuildOptions build = BuildOptionsOf(options);
    build.pipeline.lanes_together = with.code_for_warps;
    if (with.beside_others) build.together = control.together;
    auto built = TRY(Build(kernel, build, options, control.changed, has));
    if (built && !IsOneCode(*built)) {
      build.together = {};
      built = TRY(Build(kernel, build, options, control.changed, has));
    }
    if (!built) return std::nullopt;
    const ir::Module& module = *built;
    const auto jit = TRY(Jit::Create({.optimisation = options.optimisation,
                                      .lane_width = options.lane_width,
                                      .alignment = options.alignment,
                                      .debug_info = options.line_info,
                                      .debug_variables = options.KeepsRegisters(),
                                      .omit = options.omit}));
    if (control.print_remarks) TRY_STATUS(PrintRemarks(*jit, module, kernel));
    const bool slow = MayBeginSlowly(module, control.many_blocks);
    auto image = jit->Compile(module, kernel,
                              {.scalar_from = slow ? control.scalar_from : CompileControl::kNever,
                               .quick_from = control.quick_from,
                               .stop = control.stop,
                               .others = control.others,
                               .changed = control.changed});
    if (image) {
      image->for_many_blocks &= Repeats(module);
      return std::optional(*std::move(image));
    }
    if (image.error().at.file == kAnyName) image.error().at.file = name_;
    return Fail(std::move(image).error());
  }

  // Errors never come from the second code for warps, which passes leave out where it fails; a failed CHECK
  // may.
  Result<std::optional<ir::Module>> Build(std::string_view kernel, BuildOptions build,
                                          const CodeOptions& options, std::set<std::string>* changed,
                                          Attempt& has) const {
    if (changed != nullptr) {
      build.pipeline.dump_after = {"all"};
      build.pipeline.dump = [changed](std::string_view pass, std::string_view) {
        const auto entry = std::ranges::find(Passes(), pass, &PassEntry::name);
        if (entry->without == Without::kSlower) changed->emplace(pass);
      };
    }
    has.beside_others = false;
    build.joined = &has.beside_others;
    std::optional<ir::Module> module;
    has.code_for_warps = false;
    const auto& block = options.block;
    try {
      if (block)
        module = TRY(module_.BuildForShape(kernel, build, {block->x, block->y, block->z}));
      else
        module = TRY(module_.Build(kernel, build));
    } catch (const InternalError&) {
      has.code_for_warps = build.pipeline.lanes_together;
      throw;
    }
    if (!module) return module;
    module->name = kAnyName;
    has.code_for_warps = ir::RunsTogether(module->functions[0]);
    return module;
  }

  const PtxModule module_;
  const std::string name_;  // of the first text
};

class TheTranslator final : public Translator {
 public:
  Result<std::shared_ptr<const TranslatedModule>> Parse(PtxSource source) const override {
    const ThrowInternalErrors throwing;
    PtxModule module = TRY(PtxModule::Parse(std::move(source.text), source.name));
    return std::make_shared<OneModule>(std::move(module), std::move(source.name));
  }

  Result<std::shared_ptr<const TranslatedModule>> Link(std::vector<PtxSource> sources) const override {
    const ThrowInternalErrors throwing;
    std::string name = sources.empty() ? "" : sources[0].name;
    std::vector<PtxModule::Source> texts;
    for (PtxSource& source : sources) texts.push_back({std::move(source.text), std::move(source.name)});
    PtxModule module = TRY(PtxModule::Link(std::move(texts)));
    return std::make_shared<OneModule>(std::move(module), std::move(name));
  }

  uint32_t PtxLineOf(const KernelImage& image, uint64_t text_offset) const override {
    const auto position = LineInObject(image, text_offset);
    return position ? position->ptx_line : 0;
  }

  std::vector<CodeLine> LinesOf(const KernelImage& image) const override {
    std::vector<CodeLine> lines;
    for (const auto& [offset, at] : LinesInObject(image))
      lines.push_back({offset, at.ptx_line, at.source_file, at.source_line});
    return lines;
  }

  std::vector<std::string_view> OptionalPasses() const override {
    std::vector<std::string_view> names;
    for (const PassEntry& pass : Passes()) {
      if (pass.without == Without::kSlower) names.push_back(pass.name);
    }
    std::ranges::copy(Jit::OptionalPasses(), std::back_inserter(names));
    return names;
  }
};

}  // namespace

const Translator& LinkedTranslator() {
  static constexpr TheTranslator kTranslator;
  return kTranslator;
}

}  // namespace ptx2cpu::lowering
