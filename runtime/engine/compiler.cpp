#include "runtime/engine/compiler.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/engine/cache/image_bytes.h"
#include "runtime/engine/progress.h"
#include "runtime/entry/entry_point_list.h"

namespace ptx2cpu::rt {

namespace {

// Code does not depend on where the PTX came from, so its line table does not name that place.
constexpr const char* kAnyName = "kernel.ptx";

// First byte of what is kept.
constexpr char kHasImage = 'I', kHasNone = 'N';

}  // namespace

bool ModuleOptions::QuickTierWanted() {
  const char* value = std::getenv("PTX2CPU_QUICK");
  return value == nullptr || std::string_view(value) != "0";
}

bool ModuleOptions::SpecialiseWanted() {
  const char* value = std::getenv("PTX2CPU_SPECIALISE");
  return value == nullptr || std::string_view(value) != "0";
}

lowering::AlignmentChecks ModuleOptions::AlignmentChecksWanted() {
  const char* value = std::getenv("PTX2CPU_CHECK_ALIGNMENT");
  const std::string_view wanted = value == nullptr ? "" : value;
  return wanted == "0"   ? lowering::AlignmentChecks::kNone
         : wanted == "1" ? lowering::AlignmentChecks::kAtAccess
                         : lowering::AlignmentChecks::kAssumed;
}

namespace {

bool RemarksWanted() {
  const char* value = std::getenv("PTX2CPU_REMARKS");
  return value != nullptr && std::string_view(value) != "0";
}

Status PrintRemarks(const lowering::Jit& jit, const ir::Module& module, const std::string& kernel) {
  const lowering::LaneReport report = TRY(jit.ReportLanes(module, kernel));
  const std::string text = "ptx2cpu: kernel " + kernel + "\n" + lowering::Render(report, module);
  std::fputs(text.c_str(), stderr);
  return {};
}

}  // namespace

Result<std::unique_ptr<lowering::Jit>> MakeJit(const ModuleOptions& options) {
  lowering::JitOptions jit;
  jit.entry_points = EntryPoints();
  jit.optimisation = options.optimisation;
  jit.debug_info = options.line_info;
  jit.alignment = options.alignment;
  jit.lane_width = options.lane_width;
  return lowering::Jit::Create(std::move(jit));
}

lowering::BuildOptions KernelCompiler::Build() const {
  lowering::BuildOptions build;
  build.contract = options_.contract;
  build.pipeline.verify_each = false;
  build.pipeline.passes.collapse = options_.collapse;
  build.pipeline.passes.tier = options_.tier;
  build.pipeline.passes.checks = options_.checks;
  return build;
}

KernelCompiler::Keys KernelCompiler::KeysOf(const lowering::Jit& jit, const CompileRequest& request) {
  const lowering::Digest content = source_.ContentOf(request.kernel);
  const Dim3 block = request.block.value_or(Dim3{0, 0, 0});
  const auto view = [](const lowering::Digest& digest) {
    return std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
  };
  lowering::ContentHash hash;
  hash.Add(lowering::CompilerIdentity(jit.target())).Add(request.kernel).Add(view(content));
  for (const uint64_t option :
       {static_cast<uint64_t>(options_.contract), static_cast<uint64_t>(options_.optimisation),
        static_cast<uint64_t>(options_.line_info),
        static_cast<uint64_t>(request.alignment.value_or(options_.alignment)),
        static_cast<uint64_t>(options_.tier), static_cast<uint64_t>(options_.collapse),
        uint64_t{options_.checks}, static_cast<uint64_t>(lowering::MatrixSumsWanted()),
        uint64_t{jit.lane_width()}, uint64_t{block.x}, uint64_t{block.y}, uint64_t{block.z}}) {
    hash.Add(option);
  }
  const lowering::Digest full = hash.Finish();
  return {full, lowering::ContentHash().Add("quick").Add(view(full)).Finish()};
}

std::optional<CompiledImage> KernelCompiler::FromCache(const lowering::Digest& key) const {
  const auto content = options_.cache->Find(key);
  if (!content || content->empty()) return std::nullopt;
  CompiledImage compiled;
  compiled.from_cache = true;
  if ((*content)[0] == kHasNone) return compiled;
  compiled.image = ImageOf(std::string_view(*content).substr(1));
  if (!compiled.image) return std::nullopt;
  return compiled;
}

bool KernelCompiler::IsKept(const lowering::Jit& jit, const CompileRequest& request) {
  if (options_.cache == nullptr || RemarksWanted()) return false;
  const Keys keys = KeysOf(jit, request);
  return options_.cache->Has(keys.full) || (options_.quick_tier && options_.cache->Has(keys.quick));
}

void KernelCompiler::Keep(const lowering::Digest& key, const lowering::KernelImage* image) const {
  if (options_.cache == nullptr) return;
  options_.cache->Keep(key, image == nullptr ? std::string(1, kHasNone) : kHasImage + BytesOf(*image));
}

// Errors of code generation name the module by the name it was given there.
Error KernelCompiler::WithFile(Error error) const {
  if (error.at.file == kAnyName) error.at.file = source_.texts()[0].name;
  return error;
}

Result<CompiledImage> KernelCompiler::Compile(const lowering::Jit& jit, const CompileRequest& request) {
  const bool quick_allowed = request.quick_allowed && options_.quick_tier;
  Keys keys{};
  if (options_.cache != nullptr) {
    keys = KeysOf(jit, request);
    const bool ask = request.ask_cache && !RemarksWanted();
    if (auto kept = ask ? FromCache(keys.full) : std::nullopt) return *std::move(kept);
    if (auto kept = ask && quick_allowed ? FromCache(keys.quick) : std::nullopt) {
      kept->is_quick = true;
      return *std::move(kept);
    }
  }
  std::optional<CompileProgress> progress;
  if (request.show_progress) progress.emplace(request.kernel);
  const lowering::PtxModule ptx = TRY(source_.PartFor(request.kernel));
  lowering::BuildOptions build = Build();
  CompiledImage compiled;
  if (request.block) {
    build = TRY(ptx.ForShape(request.kernel, build, {request.block->x, request.block->y, request.block->z}));
    if (!build.pipeline.passes.launch) {
      Keep(keys.full, nullptr);
      return compiled;
    }
  }
  ir::Module module = TRY(ptx.Build(request.kernel, build));
  module.name = kAnyName;
  lowering::Jit::CompileOptions level{
      .optimisation = options_.optimisation, .alignment = request.alignment, .stop = request.stop};
  if (quick_allowed) level.quick_from = options_.quick_from;
  if (request.show_progress && RemarksWanted()) TRY_STATUS(PrintRemarks(jit, module, request.kernel));
  auto image = jit.Compile(module, request.kernel, level);
  if (!image) return Fail(WithFile(std::move(image).error()));
  compiled.is_quick = image->is_quick;
  Keep(image->is_quick ? keys.quick : keys.full, &*image);
  compiled.image = *std::move(image);
  return compiled;
}

}  // namespace ptx2cpu::rt
