// PTX and source lines of code in an object file, read from its DWARF on the first request. Internal to this
// folder.
#pragma once

#include <llvm/Object/ObjectFile.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/position.h"

namespace llvm {
class DWARFContext;
}

namespace ptx2cpu::lowering {

class LineTable {
 public:
  // `object` must outlive this; `ptx_name` is the PTX module's name, source file names are looked up in
  // `source_files` (index = number).
  LineTable(std::string_view object, std::string ptx_name, std::vector<std::string> source_files);
  ~LineTable();
  std::optional<ir::Position> Find(uint64_t text_offset) const;
  // Where positions change, by offset in section .text. Code without a line has position 0.
  std::vector<std::pair<uint64_t, ir::Position>> All() const;

 private:
  std::string ptx_name_;
  std::vector<std::string> source_files_;
  std::unique_ptr<llvm::object::ObjectFile> file_;
  std::unique_ptr<llvm::DWARFContext> context_;
  uint64_t text_section_ = 0;
};

}  // namespace ptx2cpu::lowering
