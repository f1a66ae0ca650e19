// What checks have found, and how it is reported: each kind of error at a place of a kernel is printed when
// it is found first, and counted from then on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt::check {

// A thread at a line of PTX.
struct Party {
  std::array<uint32_t, 3> block{}, thread{};
  uint32_t ptx_line = 0;  // 0: none
  bool is_thread = true;  // or no one knows which thread of the block
};
Party PartyOf(const ptx2cpu_block& block, uint32_t thread, uint32_t ptx_line);

enum class Error : uint8_t {
#define FINDING(name, kind, word, meaning) k##name,
#include "runtime/check/findings.def"
#undef FINDING
};

const char* WordOf(Error error);  // in reports and suppressions
const char* MeaningOf(Error error);

struct Finding {
  Error error = Error::kOutOfBounds;
  std::string kernel;
  Party party;
  std::string text;  // "write of 4 bytes at shared 0x40"
  Party other = {};  // races: who accessed before
  std::string other_text = {};
  std::string caller = {};  // errors of the host, which have no kernel: the program's call
  uintptr_t pc = 0;         // where the line is not known: of the instruction
  uint64_t count = 1;       // times that this error was found at these lines
};

// File and line of a PTX line and the source line it was made from; empty where unknown.
struct Place {
  std::string file, excerpt, source_file;
  uint32_t line = 0, source_line = 0;
};
using Locator = std::function<Place(uint32_t ptx_line)>;
// The PTX line that an instruction was made from; 0: not known.
using LineOfCode = std::function<uint32_t(uintptr_t pc)>;

// Whether standard error gets the findings as one JSON document when the process ends, and no text of them
// (PTX2CPU_CHECK_JSON).
bool ReportsOnlyJson();

// The process's findings. Safe to use from several threads at once.
class Findings {
 public:
  static Findings& Get();

  // How lines of a kernel are named in reports from now on.
  void Locate(const std::string& kernel, Locator locator, LineOfCode line_of_code = {});
  // Prints it if it is the first of its error, kernel and lines that no suppression covers; counts it.
  void Add(Finding finding);
  // Counts one that has been added before, which need not be described again.
  bool CountKnown(Error error, const std::string& kernel, uint32_t ptx_line, uint32_t other_line);
  // To be called before Finish reports: who finds errors only at the end adds them then.
  void BeforeFinish(std::function<void()> add);
  std::vector<Finding> All() const;
  void Clear();
  // Writes the report file (PTX2CPU_CHECK_REPORT) and one line of totals, or JSON; ends the process with the
  // code of PTX2CPU_CHECK_EXITCODE if there are findings. Called at exit.
  void Finish();

 private:
  Findings();
  struct State;
  State* const state_;  // never destroyed: workers may report while the process ends
};

// As text for people, without a newline at the end.
std::string Render(const Finding& finding, const Place& place, const Place& other);

}  // namespace ptx2cpu::rt::check
