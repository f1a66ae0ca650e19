#include "runtime/engine/code_reports.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/cache/image_bytes.h"
#include "runtime/engine/perf_files.h"
#include "runtime/launch/atomic_order.h"
#include "runtime/profile/profile.h"

namespace ptx2cpu::rt {

namespace {

constexpr std::string_view kCountersPrefix = "ptx2cpu.counts.";  // lowering::CountersName

profile::CodeRow RowOf(const CompileRequest& request, const ModuleOptions& options,
                       const CompiledImage& compiled) {
  const Dim3 block = request.block.value_or(Dim3{0, 0, 0});
  profile::CodeRow row = {};
  row.flags = (compiled.is_quick ? profile::kQuick : 0) | (compiled.from_cache ? profile::kFromCache : 0) |
              (request.counts ? profile::kCounting : 0);
  row.block[0] = block.x, row.block[1] = block.y, row.block[2] = block.z;
  row.contract = options.contract;
  row.optimisation = static_cast<uint32_t>(options.optimisation);
  row.tier = static_cast<uint32_t>(options.tier);
  row.collapse = static_cast<uint32_t>(options.collapse);
  row.lane_width = options.lane_width;
  row.alignment = static_cast<uint32_t>(request.alignment.value_or(options.alignment));
  row.matrix_sums = static_cast<uint32_t>(options.matrix_sums.value_or(lowering::MatrixSumsWanted()));
  row.milliseconds = compiled.milliseconds;
  return row;
}

}  // namespace

CodeReports::~CodeReports() {
  for (const ptx2cpu_kernel* code : codes_) profile::RemoveCode(*code);
}

Result<const ptx2cpu_kernel*> CodeReports::Load(const CompileRequest& request, CompiledImage& compiled) {
  if (profile::Wanted()) [[unlikely]]
    return LoadForProfile(request, compiled);
  PerfEntry perf(compiled, source_);
  const lowering::LoadedKernel loaded = TRY(loader_.Load(*std::exchange(compiled.image, std::nullopt)));
  perf.Write(loaded);
  return loaded.kernel;
}

Result<const ptx2cpu_kernel*> CodeReports::LoadForProfile(const CompileRequest& request,
                                                          CompiledImage& compiled) {
  profile::CodeRow row = RowOf(request, options_, compiled);
  {
    std::lock_guard lock(mutex_);
    if (request.counts && !BindCounters(request, *compiled.image))
      return Fail(ErrorCode::kLaunch, "no room for counters");
    row.module = ModuleNumber();
    if (request.counts) {
      const Counters& counters = counters_[request.kernel];
      row.counters = profile::NumberOf(counters.words);
      row.counter_count = static_cast<uint32_t>(counters.count);
    }
  }
  row.module_texts = static_cast<uint32_t>(source_.texts().size());
  const std::string image = BytesOf(*compiled.image);
  PerfEntry perf(compiled, source_);
  const lowering::LoadedKernel loaded = TRY(loader_.Load(*std::exchange(compiled.image, std::nullopt)));
  perf.Write(loaded);
  row.begin = loaded.code_begin, row.end = loaded.code_end;
  profile::AddCode(*loaded.kernel, row, image);
  {
    std::lock_guard lock(mutex_);
    codes_.push_back(loaded.kernel);
  }
  if (request.counts) return loaded.kernel;
  if (const ptx2cpu_kernel* counting = CountingFor(request)) profile::SetCounting(*loaded.kernel, *counting);
  return loaded.kernel;
}

uint32_t CodeReports::ModuleNumber() {
  if (module_) return *module_;
  std::vector<std::string_view> texts;
  for (const PtxText& text : source_.texts()) texts.push_back(text.text);
  module_ = profile::AddModule(texts);
  return *module_;
}

bool CodeReports::BindCounters(const CompileRequest& request, const lowering::KernelImage& image) {
  const std::string name = std::string(kCountersPrefix) + request.kernel;
  const auto variable = std::ranges::find(image.variables, name, &lowering::VariableImage::name);
  if (variable == image.variables.end()) return false;
  const size_t count = variable->size / sizeof(uint64_t);
  const auto [known, is_new] = counters_.try_emplace(request.kernel);
  if (!is_new) return known->second.words != nullptr && known->second.count == count;
  known->second = {profile::TakeCounters(count), count};
  if (known->second.words == nullptr) return false;
  return loader_.Bind(name, reinterpret_cast<std::byte*>(known->second.words)).has_value();
}

// Checked code and code with a fixed order are slow already, and are not counted.
const ptx2cpu_kernel* CodeReports::CountingFor(const CompileRequest& request) {
  if (options_.checks != 0 || OrderedAtomicsWanted()) return nullptr;
  const Dim3 block = request.block.value_or(Dim3{0, 0, 0});
  const Shape shape = {request.kernel, block.x, block.y, block.z};
  {
    std::lock_guard lock(mutex_);
    if (const auto found = counting_.find(shape); found != counting_.end()) return found->second;
    counting_.emplace(shape, nullptr);
  }
  CompileRequest counts = request;
  counts.counts = true;
  counts.quick_allowed = counts.many_blocks = counts.show_progress = false;
  counts.alignment = lowering::AlignmentChecks::kNoted;
  auto compiled = compiler_.Compile(counts);
  if (!compiled || !compiled->image) return nullptr;
  const auto loaded = LoadForProfile(counts, *compiled);
  if (!loaded) return nullptr;
  std::lock_guard lock(mutex_);
  return counting_[shape] = *loaded;
}

}  // namespace ptx2cpu::rt
