// Version, target, files, sections, aliases and pragmas.
#pragma once

#include <cstddef>

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class ModuleBuilder final : public TreePart, public ModuleActions {
 public:
  using TreePart::TreePart;

  void Version() override;
  void Target() override;
  void AddressSize() override;
  void Linkage() override;
  void FileIndex() override;
  void FileName() override;
  void Section() override;
  void AliasName() override;
  void AliasTarget() override;
  void Pragma() override;
  void EndModulePragma() override;
  void EndStatementPragma() override;

 private:
  void CheckTargetVersion();

  size_t first_pragma_ = 0;  // of the .pragma being read
};

}  // namespace ptx2cpu::ptx
