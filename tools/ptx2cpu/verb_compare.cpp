// compare: the first launch in which two recordings of a program differ.
#include <fmt/format.h>

#include "runtime/recording/compare.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

using namespace rt::recording;

Status RunCompare(const Arguments& arguments) {
  if (arguments.plain().size() != 2) return Fail(ErrorCode::kUsage, "compare takes two recordings");
  const Reader a = TRY(Reader::Open(arguments.plain()[0])), b = TRY(Reader::Open(arguments.plain()[1]));
  const std::optional<std::string> difference = TRY(FirstDifference(a, b));
  if (!difference) {
    fmt::print("{} launches are alike\n", a.records().launches.size());
    return {};
  }
  fmt::print("{}", *difference);
  return Fail(kDiffers, "the recordings differ");
}

}  // namespace ptx2cpu::tool
