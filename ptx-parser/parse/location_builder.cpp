#include "ptx-parser/parse/location_builder.h"

#include <fmt/format.h>

namespace ptx2cpu::ptx {

void LocationBuilder::LocFile() {
  loc_ = ast::Loc{};
  loc_.file = LastNumber();
}
void LocationBuilder::LocLine() { loc_.line = LastNumber(); }
void LocationBuilder::LocColumn() { loc_.column = LastNumber(); }

void LocationBuilder::LocAttribute() {
  loc_attribute_ = LastText();
  if (loc_attribute_ == "function_name" || loc_attribute_ == "inlined_at") return;
  Report(fmt::format("unknown word '{}' in .loc", loc_attribute_), "function_name or inlined_at");
}
void LocationBuilder::InlinedFile() {
  if (loc_attribute_ == "function_name") Report("a label must follow function_name");
  loc_.inlined_file = LastNumber();
}
void LocationBuilder::InlinedLine() { loc_.inlined_line = LastNumber(); }
void LocationBuilder::InlinedColumn() { loc_.inlined_column = LastNumber(); }
void LocationBuilder::FunctionLabel() {
  if (loc_attribute_ == "inlined_at") Report("file, line and column must follow inlined_at");
  loc_.function_name = LastText();
}
void LocationBuilder::FunctionOffset() { loc_.function_offset = LastLongNumber(); }

void LocationBuilder::EndLoc() {
  Add(ast::StatementKind::kLoc, module_.locs.size());
  module_.locs.push_back(loc_);
}

}  // namespace ptx2cpu::ptx
