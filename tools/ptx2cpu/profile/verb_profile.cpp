// profile: the report of what profiled processes left in a folder.
#include <fmt/format.h>

#include "tools/ptx2cpu/profile/report.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

Status RunProfile(const Arguments& arguments) {
  const std::string folder = TRY(arguments.OnlyFile());
  const auto output = arguments.Value("--output");
  if (!output && !arguments.Has("--json")) return Fail(ErrorCode::kUsage, "profile needs --output or --json");
  profile::Report report = TRY(profile::MakeReport(folder));
  report.command = arguments.Value("--command").value_or(folder);
  report.ended = arguments.Value("--ended").value_or("");
  if (output) TRY_STATUS(WriteFileAtomically(*output, profile::RenderPage(report)));
  if (!arguments.Has("--json")) return {};
  const std::string numbers = profile::RenderNumbers(report);
  if (!output) {
    fmt::print("{}", numbers);
    return {};
  }
  return WriteFileAtomically(std::filesystem::path(*output).replace_extension(".json").string(), numbers);
}

}  // namespace ptx2cpu::tool
