// Files about code that is made at run time, for Linux perf: PTX2CPU_PERF_MAP=1 adds code to
// /tmp/perf-PID.map, which has names; PTX2CPU_JITDUMP=DIR adds it to DIR/jit-PID.dump, which also has the
// code and its lines, for `perf inject --jit`. Internal to this folder.
#pragma once

#include <string>

#include "lowering/load/kernel_loader.h"
#include "runtime/engine/compiler.h"

namespace ptx2cpu::rt {

// Code that is about to be loaded.
class PerfEntry {
 public:
  PerfEntry(const CompiledImage& compiled, KernelSource& source);
  void Write(const lowering::LoadedKernel& loaded) const;

 private:
  std::string name_;  // empty: perf is not wanted
  std::vector<lowering::CodeLine> lines_;
  std::vector<std::string> source_files_;
  std::string ptx_file_;
};

}  // namespace ptx2cpu::rt
