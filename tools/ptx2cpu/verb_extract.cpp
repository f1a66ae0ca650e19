#include <fmt/format.h>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

Status RunExtract(const Arguments& arguments) {
  const std::string file = TRY(arguments.OnlyFile());
  const ptx::Extraction extraction = TRY(ptx::ExtractFile(file));
  const std::optional<std::string> directory = arguments.Value("--output");
  ptx::TableOptions table;
  if (arguments.Has("--kernels")) table.kernel_names = 0;
  if (arguments.Has("--json")) {
    table.kernel_names = 0;
    fmt::print("{}\n", ptx::RenderJson(extraction, table));
  } else if (!directory) {
    fmt::print("{}", ptx::RenderTable(extraction, table));
  }
  if (!directory) return {};
  const ptx::WriteReport report = TRY(ptx::WritePtx(extraction, *directory));
  if (!arguments.Has("--json")) {
    for (const auto& path : report.files) fmt::print("{}\n", path.string());
  }
  if (report.failures.empty()) return {};
  Error error = report.failures.front();
  error.more.assign(report.failures.begin() + 1, report.failures.end());
  return Fail(std::move(error));
}

}  // namespace ptx2cpu::tool
