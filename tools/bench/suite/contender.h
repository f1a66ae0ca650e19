// The contenders for a problem: ours, OpenMP without and with -ffast-math, OpenCL, and oneDNN for products of
// matrices.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/suite/onednn.h"
#include "tools/bench/suite/opencl.h"
#include "tools/bench/suite/suite.h"

namespace ptx2cpu::suite {

enum class Who : uint8_t { kOurs, kOpenMp, kOpenMpFast, kOpenCl, kOneDnn, kChecked, kWithout };
inline constexpr size_t kContenders = 7;
std::string_view NameOf(Who who);

struct Contender {
  Who who = Who::kOurs;
  std::function<Status()> run;  // all launches of the problem, complete on return
};

struct Setting {
  std::string suite = {};                     // folder of the families: compiled kernels and OpenCL sources
  std::shared_ptr<const OpenCl> opencl = {};  // null: does not take part
  std::shared_ptr<const OneDnn> onednn = {};  // the same
  Held held = Held::kNative;                  // OpenMP's code; ours follows PTX2CPU_TARGET
  // Ours plain and ours with the checks of PTX2CPU_CHECK, or ours without a pass, and no other contender:
  bool checks = false;
  std::string omit = {};
};

// `workers`: 1 or all (0). A contender that this machine lacks (OpenCL, oneDNN; OpenMP on several threads) is
// left out.
Result<std::vector<Contender>> Contenders(const Row& row, const Problem& problem, unsigned workers,
                                          const Setting& setting);

// Ours alone, as kOurs, kChecked or kWithout has it: compiled at once.
Result<Contender> Ours(const Row& row, const Problem& problem, unsigned workers, const Setting& setting,
                       Who who = Who::kOurs);
Contender OpenMp(const Row& row, const Problem& problem, unsigned workers, Held held, bool fast_math);
// Threads of an OpenMP region with `workers`: 1 if the build has no OpenMP.
unsigned OpenMpThreads(unsigned workers);

}  // namespace ptx2cpu::suite
