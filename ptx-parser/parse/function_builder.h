// Headers and bodies of functions, and prototypes of indirect calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx-parser/parse/actions.h"
#include "ptx-parser/parse/tree_part.h"

namespace ptx2cpu::ptx {

class FunctionBuilder final : public TreePart, public FunctionActions {
 public:
  using TreePart::TreePart;

  void BeginFunction(bool is_entry) override;
  void EndReturns() override;
  void FunctionName() override;
  void EndParameters() override;
  void EndDeclaration() override;
  void BeginBody() override;
  void EndBody() override;
  void BeginDimensions() override;
  void Dimension() override;
  void BeginLimit() override;
  void Limit() override;
  void FunctionFlag() override;
  void BeginPrototype() override;
  void PrototypeSink() override;
  void EndPrototype() override;

 private:
  void EndHeader();
  void TakeBodyParameters();

  // State of the function header or prototype being read. `first_parameter_`: of the list being read.
  size_t first_parameter_ = 0;
  ast::Range returns_;
  ast::Dimensions* dimensions_ = nullptr;
  uint32_t dimension_ = 0;
  TokenKind limit_ = TokenKind::kEnd;
};

}  // namespace ptx2cpu::ptx
