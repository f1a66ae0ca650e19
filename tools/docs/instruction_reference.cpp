#include "tools/docs/instruction_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ptx-parser/match/table.h"
#include "tools/record/vectors.h"

namespace ptx2cpu::docs {

namespace {

namespace fs = std::filesystem;

struct Coverage {
  std::vector<std::string> files;  // names in tests/ptx
  bool recorded = false;           // one of them has results of a GPU
  std::string gpu;
};

Result<std::map<std::string, Coverage>> ReadCoverage(const fs::path& vectors) {
  std::vector<fs::path> paths;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(vectors, code)) {
    if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  if (code)
    return Fail(ErrorCode::kFile, fmt::format("cannot read {}: {}", vectors.string(), code.message()));
  std::sort(paths.begin(), paths.end());
  std::map<std::string, Coverage> rows;
  for (const fs::path& path : paths) {
    const rt::VectorFile file = TRY(rt::ReadVectorFile(path));
    const std::optional<rt::VectorRecord> record = TRY(rt::ReadVectorRecord(path));
    for (const std::string& row : file.rows) {
      Coverage& coverage = rows[row];
      coverage.files.push_back(path.filename().string());
      if (record) coverage.recorded = true, coverage.gpu = record->gpu;
    }
  }
  return rows;
}

// Code in a table cell: forms on lines of their own, bars escaped.
std::string Cell(std::string_view forms) {
  std::string out = "`";
  for (size_t i = 0; i < forms.size(); ++i) {
    if (forms[i] == ';') {
      out += "`<br>`";
      while (i + 1 < forms.size() && forms[i + 1] == ' ') ++i;
    } else if (forms[i] == '|') {
      out += "\\|";
    } else {
      out += forms[i];
    }
  }
  return out + "`";
}

std::string Row(const ptx::Row& row, const Coverage& coverage) {
  std::string files;
  for (const std::string& file : coverage.files)
    files += fmt::format("{}`{}`", files.empty() ? "" : ", ", file);
  const std::string definitions = row.definitions.empty() ? "" : Cell(row.definitions);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.name, row.section, Cell(row.syntax),
                     definitions, row.translated ? "yes" : "no", files,
                     coverage.recorded ? coverage.gpu : "");
}

}  // namespace

Result<std::string> RenderInstructionReference(const fs::path& vectors) {
  const std::map<std::string, Coverage> coverage = TRY(ReadCoverage(vectors));
  size_t translated = 0, tested = 0, recorded = 0;
  std::string_view family;
  std::string tables;
  for (const ptx::Row& row : ptx::Rows()) {
    if (row.family != family) {
      family = row.family;
      tables += fmt::format(
          "\n## {}\n\n| row | section | forms | where | translated | vectors | recorded on "
          "|\n|---|---|---|---|---|---|---|\n",
          family);
    }
    const auto found = coverage.find(std::string(row.name));
    const Coverage of_row = found == coverage.end() ? Coverage{} : found->second;
    translated += row.translated;
    tested += !of_row.files.empty();
    recorded += of_row.recorded;
    tables += Row(row, of_row);
  }
  return fmt::format(
             "# PTX instructions\n\n"
             "Generated from `ptx-parser/match/instructions.def` (its head explains the notation) and "
             "`tests/ptx`.\n"
             "The rest parse and are checked; translating them is an `unsupported` error with the PTX "
             "line.\n\n"
             "| rows | translated | with vectors | recorded on a GPU |\n|---|---|---|---|\n| {} | {} | {} | "
             "{} |\n",
             ptx::Rows().size(), translated, tested, recorded) +
         tables;
}

}  // namespace ptx2cpu::docs
