// Kernels with planted faults and their mended twins (kernels/*.ptx), and the findings of a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/check/finding.h"
#include "runtime/engine/ptx2cpu.h"

namespace ptx2cpu::test {

enum class Contents { kWritten, kZero, kFresh };
struct PlantedLaunch {
  uint32_t grid = 1, block = 1, bytes = 0, shared = 0;  // bytes: of the buffer; shared: dynamic shared memory
  Contents contents = Contents::kZero;
};

// "// finds ERROR" or "// finds ERROR by THREAD" at the end of lines.
struct Marks {
  // Line, and the number of the thread in its block that must be named; none: any.
  std::map<uint32_t, std::optional<uint32_t>> threads;

  bool Has(uint32_t line) const { return threads.contains(line); }
  bool Allow(const rt::check::Finding& finding) const;
};

struct Planted {
  std::string name;
  PlantedLaunch launch;
  bool faulty = false, waits = false;  // waits: in a loop, for what another thread does
  std::map<std::string, Marks> marks;  // by error
  std::vector<std::string> variables;  // of the module
};

struct PlantedFile {
  std::string name, text;
  std::vector<Planted> kernels;
};
// The files of the folder, in the order of names.
std::vector<PlantedFile> PlantedFiles();

// Whether the kinds of this process's checks find such an error.
bool IsLookedFor(const std::string& error);

struct PlantedRun {
  std::vector<rt::check::Finding> findings;
  std::string error;  // of the launch
  // Whether only lanes run it: that threads come to different barriers may be seen only when they do.
  bool IsRefused() const { return error.find("--exec=lanes") != std::string::npos; }
};
// Launches it with memory on both sides of its buffer that it must not reach.
PlantedRun RunPlanted(const Program& program, const Kernel& kernel, const Planted& planted);
// What is found must be marked, every mark's error must be found, and twins must be free of findings.
void CompareWithMarks(const Planted& planted, const PlantedRun& run);

}  // namespace ptx2cpu::test
