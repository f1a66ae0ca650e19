// The profile of a program by kernel, ready to be written.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowering/llvm/module/lane_report.h"
#include "tools/ptx2cpu/profile/profile_data.h"
#include "tools/ptx2cpu/profile/roofline.h"
#include "tools/ptx2cpu/profile/work.h"

namespace ptx2cpu::tool::profile {

struct LineTime {
  std::string file;  // empty: PTX
  uint32_t line = 0;
  uint64_t samples = 0;
  double executed = 0;  // by so many threads; 0: not known
  std::string text;
};

// One form of a kernel's code.
struct CodeForm {
  std::string what;  // "for blocks of 256x1x1, read from the cache"
  double milliseconds = 0;
  uint64_t launches = 0, samples = 0, bytes = 0, spills = 0;
  bool counting = false, from_cache = false, was_quick = false;
};

struct ShapeUse {
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t shared = 0;
  uint64_t launches = 0;
  double milliseconds = 0;
};

struct KernelReport {
  std::string name, plain_name;
  uint64_t launches = 0, blocks = 0, threads = 0;
  double milliseconds = 0, least = 0, most = 0, share = 0;
  double busy = 0;     // of the workers, milliseconds
  double counted = 0;  // of them in blocks that were counted
  uint64_t samples = 0, outside = 0, in_counting = 0;
  std::string tier;  // "T0"; empty: its PTX is not known
  std::string tier_text;
  std::vector<std::string> tier_reasons;
  uint32_t width = 0;  // of the loop over threads that takes most of the time; 0: not known
  lowering::LaneReport lanes;
  std::optional<CountedWork> work;
  std::vector<LineTime> ptx_lines, source_lines;  // the most samples first
  std::map<uint32_t, uint64_t> samples_by_line;   // of PTX, all of them
  std::vector<CodeForm> codes;
  std::vector<ShapeUse> shapes;
  uint64_t other_shapes = 0;
  std::vector<std::string> reasons;  // why it is slow
  std::string picture;               // SVG; empty: none

  double seconds() const { return milliseconds / 1e3; }
  // The share of the roofline that is reached: 0 to 1, and more where caches serve; 0: unknown.
  double roofline_part = 0;
  bool limited_by_memory = false;
};

struct CompileUse {
  std::string kernel;
  uint64_t compiled = 0, from_cache = 0, quick = 0, counting = 0;
  double milliseconds = 0;
};

struct Report {
  std::string command;
  std::string ended;        // "exit code 0", "signal 11 (Segmentation fault)"; empty: not known
  double milliseconds = 0;  // from the first thing that was noted to the last
  double kernel_milliseconds = 0;
  Roofline roofline;
  uint32_t processors = 0, workers = 0;
  uint64_t launches = 0, samples = 0, lost_samples = 0, interval = 0, events = 0;
  std::vector<KernelReport> kernels;  // the most time first
  std::vector<CompileUse> compiles;
  std::vector<std::unique_ptr<Process>> processes;
};

Result<Report> MakeReport(const std::filesystem::path& folder);

// Sentences, the most important first. reasons.cpp
std::vector<std::string> ReasonsOf(const KernelReport& kernel, const Report& report);

// SVG. pictures.cpp
// The blocks of the kernel as translated, by how many samples their PTX lines have.
std::string DrawBlocks(const ir::Module& module, const std::map<uint32_t, uint64_t>& samples_by_line,
                       const std::vector<double>& entries);
std::string DrawTimeline(const Process& process);

std::string RenderPage(const Report& report);     // page.cpp
std::string RenderNumbers(const Report& report);  // numbers.cpp

// "12.3", "1.23", "0.0123": three digits.
std::string Digits(double value);
// "1.2 GB", "34 k": with a prefix of 1000s.
std::string Scaled(double value, std::string_view unit);
std::string Escaped(std::string_view text);  // for HTML and SVG

}  // namespace ptx2cpu::tool::profile
