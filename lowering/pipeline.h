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
  kWarps,    // those of them that resume warps
  kLanes,    // those that resume lanes
};

struct PassEntry {
  std::string_view name;
  Status (*run)(ir::Module&, ir::Function&, const PassOptions&);
  ir::Phase after;
  For tier;
  bool kernels_only;     // device functions stay in the Simt phase: they are called by one lane at a time
  std::string_view why;  // the reason for its position
};
std::span<const PassEntry> Passes();

struct PipelineOptions {
  PassOptions passes;
  std::string stop_after;               // name of a pass; empty: run all
  std::vector<std::string> dump_after;  // names of passes, or "all": those that changed something
  std::function<void(std::string_view pass, std::string_view text)> dump;
  bool verify_each = true;
};

struct PassTime {
  std::string_view name;
  std::chrono::nanoseconds time{0};
};

// Runs the passes on one function of the module. Unknown pass names in the options are a kUsage error.
Result<std::vector<PassTime>> RunPipeline(ir::Module& module, ir::Function& f,
                                          const PipelineOptions& options = {});

}  // namespace ptx2cpu::lowering
