// The pipeline: one thread's view in, loops over warps and lanes out. The passes and their order are in
// pipeline.cpp.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lowering/passes.h"

namespace ptx2cpu::lowering {

// Which kernels a pass is for, by what choose-tier has decided (device functions resume nothing).
enum class For : uint8_t {
  kAll,
  kRegions,  // those that become loops over regions: all except those that resume lanes
  kBlocks,   // those of them that resume blocks
  kWarps,    // those of them that resume warps
  kLanes,    // those that resume lanes
};

// Which functions it runs on. Device functions stay in the Simt phase: they are called by one lane at a time.
enum class On : uint8_t { kModule, kCallees, kKernels, kFunctions };

// Whether kernels have the same results without it, more slowly: what PipelineOptions::omit may name.
enum class Without : uint8_t { kNever, kSlower };

struct PassEntry {
  using FunctionPass = Status (*)(ir::Module&, ir::Function&, const PassOptions&);
  using ModulePass = Status (*)(ir::Module&, const PassOptions&);

  std::string_view name;
  FunctionPass run;  // on each function; nullptr: run_module
  ir::Phase after;
  For tier;
  On on;
  Without without;
  std::string_view why;  // the reason for its position
  ModulePass run_module = nullptr;
};
std::span<const PassEntry> Passes();

struct PipelineOptions {
  PassOptions passes;
  std::string stop_after;               // name of a pass; empty: run all
  std::vector<std::string> dump_after;  // names of passes, or "all": those that changed something
  std::function<void(std::string_view pass, std::string_view text)> dump;
  bool verify_each = true;
  bool below_lanes = false;  // ends as soon as the kernel resumes lanes: its code is not wanted then
  // Kernels that resume lanes have a second code, for warps whose lanes are together, if no pass fails for
  // it.
  bool lanes_together = true;
  std::string omit = PassesToOmit();  // passes with Without::kSlower; other names have no effect
};

struct PassTime {
  std::string_view name;
  std::chrono::nanoseconds time{0};
};

// Runs the passes on all functions of the module; times of one pass are added up. Unknown pass names in the
// options are a kUsage error.
Result<std::vector<PassTime>> RunPipeline(ir::Module& module, const PipelineOptions& options = {});

}  // namespace ptx2cpu::lowering
