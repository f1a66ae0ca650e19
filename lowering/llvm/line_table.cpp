#include "lowering/llvm/line_table.h"

#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Support/MemoryBuffer.h>

#include <filesystem>

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

LineTable::LineTable(std::string_view object, std::vector<std::string> source_files)
    : source_files_(std::move(source_files)), file_(Open(object)) {
  if (file_ == nullptr) return;
  if (auto text = TextOf(*file_)) text_section_ = text->getIndex();
  context_ = llvm::DWARFContext::create(*file_);
}

LineTable::~LineTable() = default;

std::optional<ir::Position> LineTable::Find(uint64_t text_offset) const {
  if (context_ == nullptr) return std::nullopt;
  llvm::DILineInfoSpecifier what(llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue, llvm::DILineInfoSpecifier::FunctionNameKind::None);
  llvm::DIInliningInfo frames = context_->getInliningInfoForAddress({text_offset, text_section_}, what);
  if (frames.getNumberOfFrames() == 0) return std::nullopt;
  ir::Position position;
  // The outermost frame is the kernel, whose lines are PTX lines; the innermost one is the source, if that was known.
  position.ptx_line = frames.getFrame(frames.getNumberOfFrames() - 1).Line;
  if (frames.getNumberOfFrames() > 1) {
    const llvm::DILineInfo& source = frames.getFrame(0);
    position.source_line = source.Line;
    std::filesystem::path wanted(source.FileName);
    for (uint32_t i = 1; i < source_files_.size(); ++i) {
      if (std::filesystem::path(source_files_[i]).filename() == wanted.filename()) position.source_file = i;
    }
  }
  if (position.ptx_line == 0) return std::nullopt;
  return position;
}

Result<TextSection> FindInText(std::string_view object, std::string_view symbol) {
  std::unique_ptr<llvm::object::ObjectFile> file = Open(object);
  if (file == nullptr) return Fail(ErrorCode::kInternal, "the object file cannot be read");
  TextSection result;
  if (auto text = TextOf(*file)) result.size = text->getSize();
  for (const llvm::object::SymbolRef& candidate : file->symbols()) {
    llvm::Expected<llvm::StringRef> name = candidate.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (std::string_view(name->data(), name->size()) != symbol) continue;
    llvm::Expected<uint64_t> value = candidate.getValue();
    if (!value) return Fail(ErrorCode::kInternal, llvm::toString(value.takeError()));
    result.symbol_offset = *value;
    return result;
  }
  return Fail(ErrorCode::kInternal, "the object file has no symbol " + std::string(symbol));
}

}  // namespace ptx2cpu::lowering
