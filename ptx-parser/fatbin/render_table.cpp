#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/printable.h"

namespace ptx2cpu::ptx {
namespace {

using fatbin::Printable;

constexpr size_t kColumns = 11;
constexpr size_t kMaxWhere = 60, kMaxOptions = 60;
using Row = std::array<std::string, kColumns>;

const Row kHeader = {"#",      "container", "offset",      "kind",    "arch",   "PTX",
                     "stored", "size",      "compression", "options", "kernels"};
constexpr std::array<bool, kColumns> kAlignRight = {true, false, true,  false, false, false,
                                                    true, true,  false, false, false};

std::string OrDash(std::string text) { return text.empty() ? "-" : text; }

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// Long places lose their beginning: the end is more informative, since build systems put serial numbers in
// front.
std::string ShortPlace(const std::string& where) {
  if (where.size() <= kMaxWhere) return Printable(where);
  return "..." + Printable(std::string_view(where).substr(where.size() - kMaxWhere));
}

// An image that cannot be decoded leaves a note, which appears below the table.
std::string KernelColumn(const Image& image, const TableOptions& options, std::vector<std::string>& notes) {
  if (image.kind != Image::Kind::kPtx || !options.kernels) return "-";
  const auto kernels = image.Kernels();
  if (!kernels) {
    // Damage of the header is among the warnings already.
    if (image.damage.empty()) notes.push_back(Printable(kernels.error().message));
    return "cannot be decoded, see below";
  }
  if (kernels->empty()) return "none";
  const size_t shown =
      options.kernel_names == 0 ? kernels->size() : std::min(options.kernel_names, kernels->size());
  std::string out;
  for (size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + Printable((*kernels)[i]);
  if (shown < kernels->size()) out += fmt::format(", and {} more", kernels->size() - shown);
  return out;
}

Row ImageRow(const Container& container, const Image& image, const TableOptions& options,
             std::vector<std::string>& notes) {
  std::string kind(Name(image.kind));
  if (image.kind == Image::Kind::kUnknown) kind += fmt::format(" {}", image.raw_kind);
  if (!image.damage.empty()) kind += " (damaged)";
  std::string shown_options = Trimmed(Printable(image.options, kMaxOptions));
  // The options of most relocatable PTX mark it so; machine code has no options.
  if (image.relocatable && shown_options.find("--compile-only") == std::string::npos) {
    shown_options += shown_options.empty() ? "(relocatable)" : " (relocatable)";
  }
  return {fmt::format("{}", image.container_index),
          ShortPlace(container.Where()),
          fmt::format("0x{:x}", image.file_offset),
          std::move(kind),
          image.Target(),
          OrDash(image.PtxVersion()),
          fmt::format("{}", image.stored_size),
          fmt::format("{}", image.size),
          std::string(Name(image.compression)),
          OrDash(std::move(shown_options)),
          KernelColumn(image, options, notes)};
}

void AppendRow(const Row& row, const std::array<size_t, kColumns>& widths, std::string& out) {
  std::string line;
  for (size_t column = 0; column < kColumns; ++column) {
    if (column != 0) line += "  ";
    const size_t pad = widths[column] - std::min(widths[column], row[column].size());
    if (kAlignRight[column]) line.append(pad, ' ');
    line += row[column];
    if (!kAlignRight[column]) line.append(pad, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

bool HasRelocatablePtx(const Extraction& extraction) {
  return std::ranges::any_of(extraction.containers, [](const Container& container) {
    return std::ranges::any_of(container.images, [](const Image& image) {
      return image.kind == Image::Kind::kPtx && image.relocatable;
    });
  });
}

void AppendNotes(const Extraction& extraction, const std::vector<std::string>& notes, std::string& out) {
  // Every runtime program has a version 2 wrapper; only with relocatable PTX does it hide something.
  if (std::ranges::count(extraction.wrappers, 2U, &Wrapper::version) != 0 && HasRelocatablePtx(extraction)) {
    out +=
        "note: the program is device-linked; its PTX is in the relocatable images, to be linked before "
        "it runs\n";
  }
  for (const Warning& warning : extraction.warnings) {
    out += fmt::format("warning: 0x{:x}: {}\n", warning.offset, Printable(warning.message));
  }
  if (extraction.warnings_left_out != 0)
    out += fmt::format("warning: and {} more\n", extraction.warnings_left_out);
  for (size_t i = 0; i < std::min(notes.size(), kMaxWarnings); ++i)
    out += fmt::format("warning: {}\n", notes[i]);
}

}  // namespace

std::string RenderTable(const Extraction& extraction, const TableOptions& options) {
  std::vector<Row> rows = {kHeader};
  std::vector<std::string> notes;
  for (const Container& container : extraction.containers) {
    for (const Image& image : container.images) rows.push_back(ImageRow(container, image, options, notes));
  }
  std::array<size_t, kColumns> widths = {};
  for (const Row& row : rows) {
    for (size_t column = 0; column + 1 < kColumns; ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  std::string out;
  for (const Row& row : rows) AppendRow(row, widths, out);
  AppendNotes(extraction, notes, out);
  return out;
}

}  // namespace ptx2cpu::ptx
