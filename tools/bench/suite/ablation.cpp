#include "tools/bench/suite/ablation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/images.h"
#include "runtime/engine/translator_object.h"

namespace ptx2cpu::suite {

namespace {

// A factor beyond this is more than the clock and the host change from run to run.
constexpr double kNoticed = 1.05;

double FactorOf(const Gain& gain) { return *gain.measured.Ratio(Who::kWithout); }

std::string Kernels(std::span<const Gain* const> gains) {
  std::vector<std::string> names;
  for (const Gain* gain : gains)
    names.push_back(fmt::format("`{}` {:.2f}", gain->measured.row->name, FactorOf(*gain)));
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, ", "));
}

std::string LineOf(const std::string& pass, std::span<const Gain> gains) {
  std::vector<const Gain*> own, faster, slower;
  std::vector<double> factors;
  for (const Gain& gain : gains) {
    if (gain.pass != pass) continue;
    own.push_back(&gain);
    factors.push_back(FactorOf(gain));
    if (factors.back() >= kNoticed) faster.push_back(&gain);
    if (factors.back() <= 1 / kNoticed) slower.push_back(&gain);
  }
  if (own.empty()) return fmt::format("| `{}` | 0 | - | - | - |\n", pass);
  std::ranges::sort(faster, std::ranges::greater{}, [](const Gain* gain) { return FactorOf(*gain); });
  std::ranges::sort(slower, std::ranges::less{}, [](const Gain* gain) { return FactorOf(*gain); });
  return fmt::format("| `{}` | {} | {:.2f} | {} | {} |\n", pass, own.size(), GeometricMean(factors),
                     Kernels(faster), Kernels(slower));
}

}  // namespace

Result<std::vector<std::string>> PassesNamed(std::string_view names) {
  std::vector<std::string> passes;
  for (const std::string_view pass : TRY(rt::TheTranslator())->OptionalPasses()) {
    if (names == "all" || lowering::IsOmitted(names, pass)) passes.emplace_back(pass);
  }
  const auto asked = static_cast<size_t>(std::ranges::count(names, ',') + 1);
  if (names == "all" || passes.size() == asked) return passes;
  return Fail(ErrorCode::kUsage, fmt::format("bench --omit {}: passes are all or some of {}", names,
                                             fmt::join(TRY(rt::TheTranslator())->OptionalPasses(), ",")));
}

Result<std::set<std::string>> PassesThatChange(const Row& row, const std::string& suite) {
  const std::string file = fmt::format("{}/bin/{}.fatbin", suite, row.family);
  const auto extraction = TRY(ptx::ExtractFile(file));
  const Problem problem = row.problem(Size::kSmall);
  std::set<std::string> changed;
  std::set<std::string_view> done;
  for (const ptx::PtxImage& image : TRY(ptx::PtxImages(extraction))) {
    std::shared_ptr<const lowering::TranslatedModule> module;
    for (const KernelLaunch& launch : problem.launches) {
      if (std::ranges::find(image.kernels, launch.kernel) == image.kernels.end()) continue;
      if (!done.insert(launch.kernel).second) continue;
      if (module == nullptr) module = TRY(TRY(rt::TheTranslator())->Parse({image.text, file}));
      // Code for the block's shape is what runs in the end, if there is any.
      for (const std::optional<Dim3> block :
           {std::optional(Dim3{launch.block.x, launch.block.y, launch.block.z}), std::optional<Dim3>()}) {
        lowering::CodeOptions options{.block = block};
        options.alignment = lowering::AlignmentChecks::kAssumed;
        lowering::CompileControl control;
        control.changed = &changed;
        static_cast<void>(TRY(module->Compile(launch.kernel, options, control)));
      }
    }
  }
  return changed;
}

std::string GainHeader() {
  return fmt::format("{:<32}{:<22}{:>12}{:>8}{:>12}{:>8}{:>9}\n", "without", "kernel", "with ms", "spread",
                     "without ms", "spread", "factor");
}

std::string GainLine(const Gain& gain) {
  const Figures &with = *gain.measured.Of(Who::kOurs), &without = *gain.measured.Of(Who::kWithout);
  return fmt::format("{:<32}{:<22}{:>12.3f}{:>6.0f} %{:>12.3f}{:>6.0f} %{:>9.2f}\n", gain.pass,
                     gain.measured.row->name, with.seconds * 1e3, 100 * with.spread, without.seconds * 1e3,
                     100 * without.spread, FactorOf(gain));
}

std::string GainMarkdown(const Report& head, std::span<const std::string> passes,
                         std::span<const Gain> gains) {
  std::string text = fmt::format(
      "# What single passes gain\n\nThe kernels of `tools/bench/suite` on one thread, each without one pass "
      "and with all of them, in turns. A factor is the time\nwithout the pass divided by the time with it: "
      "above 1, the pass gains. Passes are those of `lowering/pipeline.cpp` that code is right\nwithout, "
      "then "
      "ours over LLVM's code (`lowering/llvm/optimize`). Other kernels than those in the second column have "
      "the "
      "same code.\n\n- machine: {}\n- date: {}\n- command: `{}`\n\n"
      "| pass | kernels that it changes | geometric mean of them | faster by it ({}) | slower by it "
      "|\n|---|---|---|---|---|\n",
      head.machine, head.date, head.command, fmt::format("factor from {:.2f} on", kNoticed));
  for (const std::string& pass : passes) text += LineOf(pass, gains);
  return text;
}

}  // namespace ptx2cpu::suite
