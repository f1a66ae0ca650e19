#include "tools/docs/instruction_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "ptx-parser/match/table.h"
#include "tools/record/many.h"

namespace ptx2cpu::docs {

namespace {

namespace fs = std::filesystem;

struct Coverage {
  std::vector<std::string> files;  // names in tests/ptx
  bool recorded = false;           // one of them has results of a GPU
  std::string gpu;
  size_t runs = 0;
  uint64_t cases = 0;     // threads whose results are recorded
  bool is_bound = false;  // some results are approximate
  uint64_t ulp = 0;       // by how much they may differ
};

constexpr uint64_t kMaxPlainUlp = 9999;  // above: the next power of two

struct Since {
  std::string_view row, version;
};
constexpr Since kVersions[] = {
#define SINCE(row, version) {#row, version},
#include "tools/docs/instruction_versions.def"
#undef SINCE
};

Result<std::string_view> VersionOf(std::string_view row) {
  for (const Since& since : kVersions) {
    if (since.row == row) return since.version;
  }
  return Fail(ErrorCode::kNotFound, fmt::format("tools/docs/instruction_versions.def has no row '{}'", row));
}

uint64_t CasesOf(const std::vector<rt::VectorRun>& runs) {
  uint64_t cases = 0;
  for (const rt::VectorRun& run : runs) {
    uint64_t threads = 1;
    for (size_t d = 0; d < 3; ++d) threads *= uint64_t{run.grid[d]} * run.block[d];
    cases += threads;
  }
  return cases;
}

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
    const std::optional<rt::VectorRecord> record = TRY(rt::ReadVectorRecord(path)),
                                          many = TRY(rt::ReadVectorRecord(path, ".many"));
    const uint64_t cases = (record ? CasesOf(file.runs) : 0) + (many ? CasesOf(TRY(rt::ManyRuns(file))) : 0);
    for (const std::string& row : file.rows) {
      Coverage& coverage = rows[row];
      coverage.files.push_back(path.filename().string());
      if (record) coverage.recorded = true, coverage.gpu = record->gpu;
      coverage.runs += file.runs.size();
      coverage.cases += cases;
      for (const rt::VectorRun& run : file.runs) {
        // What a file is about comes first; its runs need the other rows and show nothing about their bits.
        if (run.rule.kind != rt::VectorRule::Kind::kNear || row != file.rows.front()) continue;
        coverage.is_bound = true;
        coverage.ulp = std::max(coverage.ulp, run.rule.ulp);
      }
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

std::string StatusOf(const ptx::Row& row, const Coverage& coverage) {
  if (!row.translated) return "refused";
  if (coverage.is_bound && coverage.ulp == 0) return "bound";
  if (coverage.is_bound && coverage.ulp > kMaxPlainUlp)
    return fmt::format("bound, 2^{} ulp", std::bit_width(coverage.ulp - 1));
  if (coverage.is_bound) return fmt::format("bound, {} ulp", coverage.ulp);
  return coverage.recorded ? "exact" : "functional";
}

Result<std::string> Row(const ptx::Row& row, const Coverage& coverage) {
  std::string files;
  for (const std::string& file : coverage.files)
    files += fmt::format("{}`{}`", files.empty() ? "" : ", ", file);
  const std::string definitions = row.definitions.empty() ? "" : Cell(row.definitions);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", row.name, row.section,
                     TRY(VersionOf(row.name)), Cell(row.syntax), definitions, StatusOf(row, coverage), files,
                     coverage.runs == 0 ? "" : std::to_string(coverage.runs),
                     coverage.cases == 0 ? "" : std::to_string(coverage.cases),
                     coverage.recorded ? coverage.gpu : "");
}

}  // namespace

Result<std::string> RenderInstructionReference(const fs::path& vectors) {
  const std::map<std::string, Coverage> coverage = TRY(ReadCoverage(vectors));
  size_t translated = 0, tested = 0, recorded = 0;
  std::string_view family;
  std::string tables, missing;
  for (const ptx::Row& row : ptx::Rows()) {
    if (row.family != family) {
      family = row.family;
      tables += fmt::format(
          "\n## {}\n\n| row | section | since | forms | where | status | vectors | runs | cases | recorded "
          "on "
          "|\n|---|---|---|---|---|---|---|---|---|---|\n",
          family);
    }
    const auto found = coverage.find(std::string(row.name));
    const Coverage of_row = found == coverage.end() ? Coverage{} : found->second;
    translated += row.translated;
    tested += !of_row.files.empty();
    recorded += of_row.recorded;
    if (!of_row.recorded) missing += fmt::format("{}`{}`", missing.empty() ? "" : ", ", row.name);
    tables += TRY(Row(row, of_row));
  }
  return fmt::format(
             "# PTX instructions\n\n"
             "Generated from `ptx-parser/match/instructions.def` (its head explains the notation) and "
             "`tests/ptx`.\n"
             "`since` is the PTX version that introduced the instruction. The status is `exact` if a GPU's "
             "results of all runs are reproduced to the bit (a NaN with any payload where PTX leaves it "
             "open), "
             "`bound` if they are within the error that PTX allows (at most so many ulp from the GPU's), "
             "`functional` if the row does what the manual defines and no GPU has recorded it. A `refused` "
             "row "
             "parses and is checked; translating it is an `unsupported` error with the PTX line. "
             "[ERRATA](../../tests/ptx/ERRATA.md) lists where GPU and manual differ, [a "
             "page](approximations.md) the errors of approximate instructions. `cases` counts the "
             "threads whose "
             "results a GPU has recorded, in all forms and for all operations of a file.\n\n"
             "| rows | translated | with vectors | recorded on a GPU |\n|---|---|---|---|\n| {} | {} | {} | "
             "{} |\n\nNot recorded: {}.\n",
             ptx::Rows().size(), translated, tested, recorded, missing) +
         tables;
}

}  // namespace ptx2cpu::docs
