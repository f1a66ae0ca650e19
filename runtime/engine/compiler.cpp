#include "runtime/engine/compiler.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "lowering/translator/identity.h"
#include "runtime/abi/check.h"
#include "runtime/engine/cache/image_bytes.h"
#include "runtime/engine/contained.h"
#include "runtime/engine/machine_identity.h"
#include "runtime/engine/progress.h"
#include "runtime/launch/atomic_order.h"
#include "runtime/profile/profile.h"

namespace ptx2cpu::rt {

namespace {

// The first byte of a cache entry.
constexpr char kHasImage = 'I', kHasNone = 'N';

// Kernels that are offered to be one code with another: enough for most programs, and compiled soon.
constexpr size_t kMaxNeighbours = 31;

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool RemarksWanted() {
  const std::string_view value = Environment("PTX2CPU_REMARKS");
  return !value.empty() && value != "0";
}

// What decides on the code of every kernel, besides options: the translator and the machine.
Digest CodeIdentity() {
  static const Digest identity =
      ContentHash().Add(lowering::TranslatorIdentity()).Add(MachineIdentity()).Finish();
  return ContentHash()
      .Add(identity)
      .Add(Environment("PTX2CPU_TARGET"))
      .Add(Environment("PTX2CPU_WIDTH"))
      .Add(Environment("PTX2CPU_GDB"))  // code whose x and y are exchanged is none for a debugger
      .Finish();
}

}  // namespace

// Where order is to be the same in every run, when a launch comes must not decide which code it runs.
bool ModuleOptions::QuickTierWanted() {
  return Environment("PTX2CPU_QUICK") != "0" && OptimisationWanted() > 0 && !OrderedAtomicsWanted();
}

int ModuleOptions::OptimisationWanted() {
  const std::string_view wanted = Environment("PTX2CPU_OPT");
  return wanted.size() == 1 && wanted[0] >= '0' && wanted[0] <= '3' ? wanted[0] - '0' : 3;
}

lowering::Tier ModuleOptions::TierWanted() {
  return Environment("PTX2CPU_EXEC") == "lanes" ? lowering::Tier::kLanes : lowering::Tier::kAuto;
}

bool ModuleOptions::SpecialiseWanted() {
  return Environment("PTX2CPU_SPECIALISE") != "0" && !OrderedAtomicsWanted();
}

void ModuleOptions::RunInAnyOrder() {
  tier = lowering::Tier::kLanes;
  checks |= PTX2CPU_CHECKS_ORDER;
  quick_tier = specialise = false;
}

lowering::AlignmentChecks ModuleOptions::AlignmentChecksWanted() {
  const std::string_view wanted = Environment("PTX2CPU_CHECK_ALIGNMENT");
  return wanted == "0"   ? lowering::AlignmentChecks::kNone
         : wanted == "1" ? lowering::AlignmentChecks::kAtAccess
                         : lowering::AlignmentChecks::kAssumed;
}

lowering::CodeOptions KernelCompiler::CodeOptionsOf(const CompileRequest& request) const {
  return {.block = request.block,
          .contract = options_.contract,
          .optimisation = request.counts ? std::min(options_.optimisation, 1) : options_.optimisation,
          .line_info = options_.line_info,
          .alignment = request.alignment.value_or(options_.alignment),
          .lane_width = options_.lane_width,
          .tier = options_.tier,
          .collapse = options_.collapse,
          .checks = options_.checks,
          .counts = request.counts,
          .matrix_sums = options_.matrix_sums.value_or(lowering::MatrixSumsWanted()),
          .omit = options_.omit};
}

KernelCompiler::Keys KernelCompiler::KeysOf(const CompileRequest& request) {
  const lowering::CodeOptions options = CodeOptionsOf(request);
  const Dim3 block = options.block.value_or(Dim3{0, 0, 0});
  ContentHash hash;
  hash.Add(CodeIdentity()).Add(options.omit).Add(request.kernel).Add(source_.ContentOf(request.kernel));
  for (const uint64_t option :
       {static_cast<uint64_t>(options.contract), static_cast<uint64_t>(options.optimisation),
        static_cast<uint64_t>(options.line_info), static_cast<uint64_t>(options.alignment),
        static_cast<uint64_t>(options.tier), static_cast<uint64_t>(options.collapse),
        uint64_t{options.checks}, uint64_t{options.counts}, static_cast<uint64_t>(options.matrix_sums),
        uint64_t{options.lane_width}, uint64_t{block.x}, uint64_t{block.y}, uint64_t{block.z}}) {
    hash.Add(option);
  }
  const Digest full = hash.Finish();
  return {full, ContentHash().Add("quick").Add(full).Finish(),
          ContentHash().Add("many blocks").Add(full).Finish()};
}

std::optional<CompiledImage> KernelCompiler::FromCache(const Digest& key) const {
  const auto content = options_.cache->Find(key);
  if (!content || content->empty()) return std::nullopt;
  CompiledImage compiled;
  compiled.from_cache = true;
  if ((*content)[0] == kHasNone) return compiled;
  compiled.image = FromBytes<lowering::KernelImage>(std::string_view(*content).substr(1));
  if (!compiled.image) return std::nullopt;
  return compiled;
}

bool KernelCompiler::IsKept(const CompileRequest& request) {
  {
    std::lock_guard lock(mutex_);
    if (!request.block && ready_.contains(request.kernel)) return true;
  }
  if (options_.cache == nullptr || RemarksWanted()) return false;
  const Keys keys = KeysOf(request);
  if (options_.cache->Has(keys.full)) return true;
  return options_.quick_tier &&
         (options_.cache->Has(keys.quick) || (request.many_blocks && options_.cache->Has(keys.many_blocks)));
}

bool KernelCompiler::IsBestKept(const CompileRequest& request) {
  return options_.cache != nullptr && !RemarksWanted() && options_.cache->Has(KeysOf(request).full);
}

void KernelCompiler::Keep(const Digest& key, const lowering::KernelImage* image) const {
  if (options_.cache == nullptr) return;
  options_.cache->Keep(key, image == nullptr ? std::string(1, kHasNone) : kHasImage + BytesOf(*image));
}

Result<CompiledImage> KernelCompiler::Compile(const CompileRequest& request) {
  if (!profile::Wanted()) [[likely]]
    return Obtain(request);
  const uint64_t begin = profile::Now();
  auto compiled = Obtain(request);
  if (!compiled || !compiled->image) return compiled;
  const uint64_t end = profile::Now();
  compiled->milliseconds = static_cast<double>(end - begin) / 1e6;
  profile::AddCompile(request.kernel, begin, end,
                      (compiled->is_quick ? profile::kQuick : 0) |
                          (compiled->from_cache ? profile::kFromCache : 0) |
                          (request.counts ? profile::kCounting : 0));
  return compiled;
}

Result<CompiledImage> KernelCompiler::Obtain(const CompileRequest& request) {
  const bool quick_allowed = request.quick_allowed && options_.quick_tier;
  Keys keys{};
  if (options_.cache != nullptr) keys = KeysOf(request);
  const bool may_be_ready = MayBeReady(request) && !RemarksWanted();
  if (auto ready = may_be_ready ? TakeReady(request) : std::nullopt) {
    Keep(ready->is_quick ? keys.quick : keys.full, &*ready->image);
    return *std::move(ready);
  }
  if (options_.cache != nullptr) {
    const bool ask = request.ask_cache && !RemarksWanted();
    if (auto kept = ask ? FromCache(keys.full) : std::nullopt) return *std::move(kept);
    if (auto kept = ask && quick_allowed ? FromCache(keys.quick) : std::nullopt) {
      kept->is_quick = true;
      return *std::move(kept);
    }
    if (auto kept =
            ask && quick_allowed && request.many_blocks ? FromCache(keys.many_blocks) : std::nullopt) {
      kept->is_quick = kept->for_many_blocks = true;
      return *std::move(kept);
    }
  }
  std::optional<CompileProgress> progress;
  if (request.show_progress) progress.emplace(request.kernel);
  // Code to step through names the functions that were inlined, by a section that no kernel reaches.
  Parsed part =
      TRY(CodeOptionsOf(request).KeepsRegisters() ? source_.Whole() : source_.PartFor(request.kernel));
  lowering::CompileControl control{.stop = request.stop,
                                   .print_remarks = request.show_progress && RemarksWanted()};
  if (quick_allowed) {
    control.scalar_from = options_.scalar_from;
    control.quick_from = options_.quick_from;
    control.many_blocks = request.many_blocks;
  }
  const std::vector<std::string> neighbours =
      may_be_ready ? Neighbours(request.kernel) : std::vector<std::string>();
  std::vector<lowering::KernelImage> others;
  control.together = neighbours;
  control.others = &others;
  const lowering::CodeOptions options = CodeOptionsOf(request);
  CompiledImage compiled;
  compiled.image = TRY(Contained([&] {
    const Parsed freed_here = std::move(part);
    return freed_here->Compile(request.kernel, options, control);
  }));
  compiled.is_quick = compiled.image && compiled.image->is_quick;
  compiled.for_many_blocks = compiled.is_quick && compiled.image->for_many_blocks;
  Keep(compiled.for_many_blocks ? keys.many_blocks
       : compiled.is_quick      ? keys.quick
                                : keys.full,
       compiled.image ? &*compiled.image : nullptr);
  if (compiled.image) AddReady(std::move(others), *compiled.image);
  return compiled;
}

std::vector<std::string> KernelCompiler::Neighbours(const std::string& kernel) {
  std::vector<std::string> near;
  const auto place = std::ranges::find(kernels_, kernel);
  if (place == kernels_.end()) return near;
  const auto own = static_cast<size_t>(place - kernels_.begin());
  std::lock_guard lock(mutex_);
  made_.insert(kernel);
  for (size_t distance = 1; distance < kernels_.size() && near.size() < kMaxNeighbours; ++distance) {
    for (const size_t at : {own + distance, own - distance}) {  // before the first: more than there are
      if (at < kernels_.size() && !made_.contains(kernels_[at])) near.push_back(kernels_[at]);
    }
  }
  return near;
}

void KernelCompiler::AddReady(std::vector<lowering::KernelImage> images, const lowering::KernelImage& first) {
  if (images.empty()) return;
  const auto shared = std::make_shared<const lowering::KernelImage>(first);
  std::lock_guard lock(mutex_);
  for (lowering::KernelImage& image : images) {
    std::string name = image.name;
    if (made_.insert(name).second) ready_.emplace(std::move(name), Ready{std::move(image), shared});
  }
}

std::optional<CompiledImage> KernelCompiler::TakeReady(const CompileRequest& request) {
  Ready ready;
  {
    std::lock_guard lock(mutex_);
    const auto found = ready_.find(request.kernel);
    if (found == ready_.end()) return std::nullopt;
    ready = std::move(found->second);
    ready_.erase(found);
  }
  CompiledImage compiled;
  compiled.image = lowering::WithCommonOf(*ready.first, ready.image);
  compiled.is_quick = ready.image.is_quick;
  return compiled;
}

Result<lowering::KernelImage> KernelCompiler::Describe(const std::string& kernel) {
  const CompileRequest request{.kernel = kernel};
  Digest key{};
  if (options_.cache != nullptr) {
    key = ContentHash().Add("description").Add(KeysOf(request).full).Finish();
    auto kept = FromCache(key);
    if (kept && kept->image) return *std::move(kept->image);
  }
  Parsed part = TRY(source_.PartFor(kernel));
  const lowering::CodeOptions options = CodeOptionsOf(request);
  lowering::KernelImage image = TRY(Contained([&] {
    const Parsed freed_here = std::move(part);
    return freed_here->Describe(kernel, options);
  }));
  Keep(key, &image);
  return image;
}

}  // namespace ptx2cpu::rt
