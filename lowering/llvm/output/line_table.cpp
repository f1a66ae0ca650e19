#include "lowering/llvm/output/line_table.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Support/MemoryBuffer.h>

#include <filesystem>
#include <set>

namespace ptx2cpu::lowering {

namespace {

std::unique_ptr<llvm::object::ObjectFile> Open(std::string_view object) {
  llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "kernel");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) {
    llvm::consumeError(file.takeError());
    return nullptr;
  }
  return std::move(*file);
}

std::optional<llvm::object::SectionRef> TextOf(const llvm::object::ObjectFile& file) {
  for (const llvm::object::SectionRef& section : file.sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (name && *name == ".text") return section;
    if (!name) llvm::consumeError(name.takeError());
  }
  return std::nullopt;
}

}  // namespace

LineTable::LineTable(std::string_view object, std::string ptx_name, std::vector<std::string> source_files)
    : ptx_name_(std::filesystem::path(ptx_name.empty() ? "kernel.ptx" : ptx_name).filename()),
      source_files_(std::move(source_files)),
      file_(Open(object)) {
  if (file_ == nullptr) return;
  if (auto text = TextOf(*file_)) text_section_ = text->getIndex();
  context_ = llvm::DWARFContext::create(*file_);
}

LineTable::~LineTable() = default;

std::optional<ir::Position> LineTable::Find(uint64_t text_offset) const {
  if (context_ == nullptr) return std::nullopt;
  llvm::DILineInfoSpecifier what(llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue,
                                 llvm::DILineInfoSpecifier::FunctionNameKind::None);
  llvm::DIInliningInfo frames = context_->getInliningInfoForAddress({text_offset, text_section_}, what);
  if (frames.getNumberOfFrames() == 0) return std::nullopt;
  ir::Position position;
  // Innermost first: the source line, if that was known, at a PTX line, in functions that were inlined into
  // others.
  for (uint32_t i = 0; i < frames.getNumberOfFrames() && position.ptx_line == 0; ++i) {
    const llvm::DILineInfo& frame = frames.getFrame(i);
    std::string name = std::filesystem::path(frame.FileName).filename();
    if (name == ptx_name_) {
      position.ptx_line = frame.Line;
    } else if (i == 0) {
      position.source_line = frame.Line;
      for (uint32_t file = 1; file < source_files_.size(); ++file) {
        if (std::filesystem::path(source_files_[file]).filename() == name) position.source_file = file;
      }
    }
  }
  if (position.ptx_line == 0) return std::nullopt;
  return position;
}

std::vector<std::pair<uint64_t, ir::Position>> LineTable::All() const {
  std::vector<std::pair<uint64_t, ir::Position>> all;
  if (context_ == nullptr) return all;
  std::set<uint64_t> offsets;
  for (const auto& unit : context_->compile_units()) {
    const llvm::DWARFDebugLine::LineTable* table = context_->getLineTableForUnit(unit.get());
    if (table == nullptr) continue;
    for (const llvm::DWARFDebugLine::Row& row : table->Rows) {
      if (row.Address.SectionIndex == text_section_) offsets.insert(row.Address.Address);
    }
  }
  for (const uint64_t offset : offsets) {
    const ir::Position at = Find(offset).value_or(ir::Position{});
    const auto same = [&](const ir::Position& before) {
      return before.ptx_line == at.ptx_line && before.source_line == at.source_line &&
             before.source_file == at.source_file;
    };
    if (all.empty() || !same(all.back().second)) all.emplace_back(offset, at);
  }
  return all;
}

}  // namespace ptx2cpu::lowering
