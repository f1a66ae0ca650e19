#include "tools/ptx2cpu/profile/report.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "lowering/compile.h"
#include "lowering/llvm/output/jit.h"

namespace ptx2cpu::tool::profile {

namespace {

constexpr size_t kDetailed = 24;  // kernels that are analysed
constexpr size_t kMaxLines = 25;
constexpr double kMilli = 1e-6;  // nanoseconds to milliseconds

std::string PlainName(const std::string& name) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string text = status == 0 && plain != nullptr ? plain : name;
  std::free(plain);
  return text;
}

std::string Join(const uint32_t (&extent)[3]) {
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

// What is put together of one kernel: its codes in one process and module.
struct Group {
  const Process* process = nullptr;
  std::vector<size_t> codes;
};

lowering::BuildOptions BuildOptionsOf(const CodeRow& row) {
  lowering::BuildOptions options;
  options.contract = row.contract != 0;
  options.matrix_sums = static_cast<lowering::MatrixSums>(row.matrix_sums);
  options.pipeline.verify_each = false;
  options.pipeline.passes.tier = static_cast<lowering::Tier>(row.tier);
  options.pipeline.passes.collapse = static_cast<lowering::CollapseForm>(row.collapse);
  return options;
}

std::string FormOf(const CodeRow& row) {
  std::string text = row.block[0] == 0 ? "for any block" : "for blocks of " + Join(row.block);
  if ((row.flags & kCounting) != 0) text += ", counting";
  if ((row.flags & kQuick) != 0) text += ", made quickly";
  return text + ((row.flags & kFromCache) != 0 ? ", from the cache" : ", compiled");
}

// Stores of whole vector registers to the stack, in the text of assembly.
uint64_t SpillsIn(const std::string& assembly) {
  uint64_t spills = 0;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find("\tvmov"), target = line.rfind(", ");
    if (name == std::string::npos || target == std::string::npos) continue;
    const bool from_register = line.find("\t%", name + 1) != std::string::npos;
    const std::string_view to = std::string_view(line).substr(target);
    spills += from_register && (to.find("(%rsp)") != to.npos || to.find("(%rbp)") != to.npos);
  }
  return spills;
}

class KernelReader {
 public:
  KernelReader(const Group& group, KernelReport& report) : group_(group), report_(report) {}

  void Read() {
    for (const size_t code : group_.codes) AddCode(code);
    report_.plain_name = PlainName(report_.name);
  }
  // The PTX again, for kernels worth it.
  void Analyse();

 private:
  const CodeRow& Row(size_t code) const { return group_.process->codes()[code]; }
  void AddCode(size_t code);
  void AddShapes(const CodeRow& row);
  void AddSamples(size_t code);
  void AddWork(const ir::Module& simt);
  void AddTier(const lowering::PtxModule& ptx, const CodeRow& row);
  void AddLines(const ir::Module& simt);
  void FindWidth();
  std::string SourceText(const std::string& file, uint32_t line);

  const Group& group_;
  KernelReport& report_;
  std::map<uint32_t, uint64_t> by_line_;                            // PTX
  std::map<std::pair<std::string, uint32_t>, uint64_t> by_source_;  // file and line
  std::map<std::string, std::vector<std::string>> sources_;
};

void KernelReader::AddShapes(const CodeRow& row) {
  for (uint32_t n = 0; n < std::min<size_t>(row.shape_count, kMaxShapes); ++n) {
    const ShapeRow& shape = row.shapes[n];
    ShapeUse use;
    std::ranges::copy(shape.grid, use.grid.begin());
    std::ranges::copy(shape.block, use.block.begin());
    use.shared = shape.shared;
    const auto same = std::ranges::find_if(report_.shapes, [&](const ShapeUse& known) {
      return known.grid == use.grid && known.block == use.block && known.shared == use.shared;
    });
    ShapeUse& into = same == report_.shapes.end() ? report_.shapes.emplace_back(use) : *same;
    into.launches += shape.launches;
    into.milliseconds += static_cast<double>(shape.nanoseconds) * kMilli;
  }
  report_.other_shapes += row.other_shapes;
}

void KernelReader::AddCode(size_t code) {
  const CodeRow& row = Row(code);
  CodeForm& form = report_.codes.emplace_back();
  form.what = FormOf(row);
  form.milliseconds = row.milliseconds;
  form.launches = row.launches;
  form.bytes = row.end - row.begin;
  form.counting = (row.flags & kCounting) != 0;
  form.was_quick = (row.flags & kQuick) != 0;
  form.from_cache = (row.flags & kFromCache) != 0;
  if (row.launches != 0) {
    const double least = static_cast<double>(row.least) * kMilli;
    report_.least = report_.launches == 0 ? least : std::min(report_.least, least);
    report_.most = std::max(report_.most, static_cast<double>(row.most) * kMilli);
  }
  report_.launches += row.launches, report_.blocks += row.blocks, report_.threads += row.threads;
  report_.milliseconds += static_cast<double>(row.nanoseconds) * kMilli;
  report_.busy += static_cast<double>(row.busy) * kMilli;
  report_.counted += static_cast<double>(form.counting ? row.nanoseconds : row.counted_nanoseconds) * kMilli;
  AddShapes(row);
  AddSamples(code);
}

void KernelReader::AddSamples(size_t code) {
  const auto samples = group_.process->SamplesOf(code);
  if (samples.empty()) return;
  std::vector<std::pair<uint64_t, ir::Position>> lines;
  lowering::KernelImage image;
  if (Row(code).module != kNone) {
    if (auto read = group_.process->ImageOf(code)) {
      image = *std::move(read);
      lines = lowering::LinesInObject(image);
    }
  }
  for (const auto& [offset, count] : samples) {
    report_.samples += count;
    report_.codes.back().samples += count;
    if (report_.codes.back().counting) report_.in_counting += count;
    if (offset == kOutside) {
      report_.outside += count;
      continue;
    }
    const auto next =
        std::ranges::upper_bound(lines, offset, {}, [](const auto& line) { return line.first; });
    if (next == lines.begin()) continue;
    const ir::Position& at = std::prev(next)->second;
    if (at.ptx_line != 0) by_line_[at.ptx_line] += count;
    if (at.source_line != 0 && at.source_file < image.source_files.size())
      by_source_[{image.source_files[at.source_file], at.source_line}] += count;
  }
}

void KernelReader::AddWork(const ir::Module& simt) {
  for (const size_t code : group_.codes) {
    const CodeRow& row = Row(code);
    if ((row.flags & kCounting) == 0 || row.counter_count == 0) continue;
    const std::span<const uint64_t> counters(group_.process->file().counters + row.counters,
                                             row.counter_count);
    CountedWork counted = Count(simt, counters, static_cast<double>(report_.threads));
    if (counted.counted_threads != 0) report_.work = std::move(counted);
    return;
  }
}

void KernelReader::AddTier(const lowering::PtxModule& ptx, const CodeRow& row) {
  lowering::BuildOptions options = BuildOptionsOf(row);
  if (row.block[0] != 0)
    options.pipeline.passes.launch = analysis::LaunchShape{row.block[0], row.block[1], row.block[2]};
  const auto built = ptx.Build(report_.name, options);
  if (!built) return;
  const ir::Function& f = built->functions[0];
  const bool lanes = f.resumes == ir::Resumes::kLanes, warps = f.resumes == ir::Resumes::kWarps;
  report_.tier = lanes ? "T3" : warps ? "T2" : f.is_flat ? "T0" : "T1";
  report_.tier_text = lanes       ? "lanes run one by one and suspend"
                      : warps     ? "warps suspend at barriers"
                      : f.is_flat ? "one loop over the threads of a block"
                                  : "a loop over warps around loops over lanes";
  if (f.resumes == ir::Resumes::kBlocks) report_.tier_text += "; the block suspends where threads wait";
  if (const auto tier = ptx.ChooseTier(report_.name, options)) {
    for (const lowering::TierReason& reason : tier->reasons)
      report_.tier_reasons.push_back(reason.at.ptx_line == 0
                                         ? reason.what
                                         : fmt::format("{} at PTX line {}", reason.what, reason.at.ptx_line));
  }
  const auto jit = lowering::Jit::Create({.lane_width = row.lane_width});
  if (!jit) return;
  if (auto lanes_of = (*jit)->ReportLanes(*built, f.name)) report_.lanes = *std::move(lanes_of);
  if (const auto text = (*jit)->Explain(*built, f.name, lowering::Jit::Stage::kAssembly)) {
    for (CodeForm& form : report_.codes) form.spills = form.counting ? 0 : SpillsIn(*text);
  }
}

// Finds the width of the loop over threads whose lines have the most samples.
void KernelReader::FindWidth() {
  uint64_t most = 0;
  for (const auto& loop : report_.lanes.loops) {
    uint64_t samples = 1;
    for (auto at = by_line_.lower_bound(loop.first_line); at != by_line_.end() && at->first <= loop.last_line;
         ++at)
      samples += at->second;
    if (samples > most) most = samples, report_.width = loop.width;
  }
  if (report_.tier == "T3") report_.width = 1;
}

std::string KernelReader::SourceText(const std::string& file, uint32_t line) {
  const auto [known, is_new] = sources_.try_emplace(file);
  if (is_new) {
    std::ifstream in(file);
    for (std::string text; std::getline(in, text);) known->second.push_back(text);
  }
  return line <= known->second.size() && line != 0 ? known->second[line - 1] : "";
}

void KernelReader::AddLines(const ir::Module& simt) {
  for (const auto& [line, samples] : by_line_) {
    LineTime& time = report_.ptx_lines.emplace_back();
    time.line = line, time.samples = samples;
    time.text = simt.Line(line);
    if (report_.work && report_.work->entries_by_line.contains(line))
      time.executed = report_.work->entries_by_line.at(line);
  }
  for (const auto& [place, samples] : by_source_)
    report_.source_lines.push_back(
        {place.first, place.second, samples, 0, SourceText(place.first, place.second)});
  for (auto* lines : {&report_.ptx_lines, &report_.source_lines}) {
    std::ranges::sort(*lines, std::greater(), &LineTime::samples);
    if (lines->size() > kMaxLines) lines->resize(kMaxLines);
  }
}

void KernelReader::Analyse() {
  // The code that ran the most, without what only counts.
  const auto used = [&](size_t code) {
    const CodeRow& row = Row(code);
    return (row.flags & kCounting) != 0 ? 0 : 1 + row.nanoseconds;
  };
  const size_t code = *std::ranges::max_element(group_.codes, {}, used);
  const CodeRow& row = Row(code);
  if (row.module == kNone) return;
  auto texts = group_.process->ModuleTexts(row);
  if (!texts || texts->empty()) return;
  std::vector<lowering::PtxModule::Source> sources;
  for (std::string& text : *texts) sources.push_back({std::move(text), "kernel.ptx"});
  const auto ptx = sources.size() == 1 ? lowering::PtxModule::Parse(sources[0].text, sources[0].name)
                                       : lowering::PtxModule::Link(std::move(sources));
  if (!ptx) return;
  lowering::BuildOptions options = BuildOptionsOf(row);
  options.pipeline.stop_after = "ir";
  const auto simt = ptx->Build(report_.name, options);
  if (!simt) return;
  AddWork(*simt);
  AddTier(*ptx, row);
  AddLines(*simt);
  FindWidth();
  report_.samples_by_line = by_line_;
  report_.picture = DrawBlocks(*simt, by_line_, report_.work ? report_.work->entries : std::vector<double>());
}

void AddCompiles(const Process& process, std::vector<CompileUse>& uses) {
  for (const CompileRow& row : process.compiles()) {
    const std::string name = PlainName(std::string(process.Text(row.name)));
    auto use = std::ranges::find(uses, name, &CompileUse::kernel);
    if (use == uses.end()) use = uses.insert(uses.end(), {name});
    ++((row.flags & kFromCache) != 0 ? use->from_cache : use->compiled);
    use->quick += (row.flags & kQuick) != 0, use->counting += (row.flags & kCounting) != 0;
    use->milliseconds += static_cast<double>(row.end - row.begin) * kMilli;
  }
}

void SetRoofline(KernelReport& kernel, const Roofline& roofline) {
  if (!kernel.work || kernel.milliseconds == 0 || roofline.bytes == 0) return;
  const double memory = kernel.work->total.global() / roofline.bytes,
               arithmetic = kernel.work->total.floats() / roofline.operations;
  kernel.limited_by_memory = memory >= arithmetic;
  kernel.roofline_part = std::max(memory, arithmetic) / kernel.seconds();
}

}  // namespace

Result<Report> MakeReport(const std::filesystem::path& folder) {
  Report report;
  report.processes = TRY(OpenFolder(folder));
  if (auto roofline = MeasureRoofline()) report.roofline = *roofline;
  std::vector<std::pair<Group, KernelReport>> kernels;
  uint64_t begin = ~uint64_t{0}, end = 0;
  for (const auto& process : report.processes) {
    const File& file = process->file();
    begin = std::min(begin, file.begin), end = std::max(end, file.last);
    report.processors = file.processors, report.workers = std::max(report.workers, file.workers);
    report.samples += file.samples, report.lost_samples += file.lost_samples, report.events += file.events;
    report.interval = std::max(report.interval, file.sample_interval);
    AddCompiles(*process, report.compiles);
    std::map<std::pair<std::string_view, uint32_t>, Group> groups;
    for (size_t code = 0; code < process->codes().size(); ++code) {
      const CodeRow& row = process->codes()[code];
      Group& group = groups[{process->Text(row.name), row.module}];
      group.process = process.get();
      group.codes.push_back(code);
    }
    for (auto& [key, group] : groups) {
      KernelReport kernel;
      kernel.name = key.first;
      kernels.emplace_back(std::move(group), std::move(kernel));
    }
  }
  report.milliseconds = static_cast<double>(end - begin) * kMilli;
  for (auto& [group, kernel] : kernels) {
    KernelReader(group, kernel).Read();
    report.kernel_milliseconds += kernel.milliseconds;
    report.launches += kernel.launches;
  }
  std::ranges::sort(kernels, std::greater(), [](const auto& entry) { return entry.second.milliseconds; });
  for (size_t n = 0; n < kernels.size(); ++n) {
    auto& [group, kernel] = kernels[n];
    if (kernel.launches == 0) continue;
    kernel.share = report.kernel_milliseconds == 0 ? 0 : kernel.milliseconds / report.kernel_milliseconds;
    if (n < kDetailed) {
      KernelReport fresh;
      fresh.name = kernel.name, fresh.share = kernel.share;
      KernelReader reader(group, fresh);
      reader.Read();
      reader.Analyse();
      kernel = std::move(fresh);
    }
    SetRoofline(kernel, report.roofline);
    kernel.reasons = ReasonsOf(kernel, report);
    report.kernels.push_back(std::move(kernel));
  }
  std::ranges::sort(report.compiles, std::greater(), &CompileUse::milliseconds);
  return report;
}

}  // namespace ptx2cpu::tool::profile
