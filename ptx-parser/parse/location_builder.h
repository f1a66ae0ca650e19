// A .loc directive.
#pragma once

#include <string_view>

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class LocationBuilder final : public TreePart, public LocationActions {
 public:
  using TreePart::TreePart;

  void LocFile() override;
  void LocLine() override;
  void LocColumn() override;
  void LocAttribute() override;
  void InlinedFile() override;
  void InlinedLine() override;
  void InlinedColumn() override;
  void FunctionLabel() override;
  void FunctionOffset() override;
  void EndLoc() override;

 private:
  ast::Loc loc_;
  std::string_view loc_attribute_;
};

}  // namespace ptx2cpu::ptx
