#include "ptx-parser/parse/function_builder.h"

#include "ptx-parser/parse/token_table.h"

namespace ptx2cpu::ptx {
namespace {

constexpr TokenRow<ast::Dimensions ast::Function::*> kDimensions[] = {
    {TokenKind::kMaxntid, &ast::Function::maxntid},
    {TokenKind::kReqntid, &ast::Function::reqntid},
    {TokenKind::kReqnctapercluster, &ast::Function::reqnctapercluster}};
constexpr TokenRow<uint32_t ast::Function::*> kLimits[] = {
    {TokenKind::kMaxnreg, &ast::Function::maxnreg},
    {TokenKind::kMinnctapersm, &ast::Function::minnctapersm},
    {TokenKind::kMaxnctapersm, &ast::Function::maxnctapersm},
    {TokenKind::kMaxclusterrank, &ast::Function::maxclusterrank},
    {TokenKind::kAbiPreserve, &ast::Function::abi_preserve},
    {TokenKind::kAbiPreserveControl, &ast::Function::abi_preserve_control}};

}  // namespace

void FunctionBuilder::BeginFunction(bool is_entry) {
  ast::Function f;
  f.is_entry = is_entry;
  f.linkage = state_.linkage;
  state_.linkage = ast::Linkage::kNone;
  f.pragmas.first = static_cast<uint32_t>(module_.pragmas.size());
  f.position = LastPosition();
  module_.functions.push_back(std::move(f));
  state_.place = TextPart::kHeader;
  state_.is_declaring = false;
  first_parameter_ = module_.variables.size();
  returns_ = {static_cast<uint32_t>(first_parameter_), 0};
}

void FunctionBuilder::FunctionName() {
  function().name = LastName();
  function().position = LastPosition();
}

void FunctionBuilder::EndReturns() {
  state_.is_declaring = false;
  returns_.count = static_cast<uint32_t>(module_.variables.size() - first_parameter_);
  first_parameter_ = module_.variables.size();
}

void FunctionBuilder::EndParameters() {
  state_.is_declaring = false;
  const ast::Range parameters = {static_cast<uint32_t>(first_parameter_),
                                 static_cast<uint32_t>(module_.variables.size() - first_parameter_)};
  if (state_.place == TextPart::kPrototype) {
    module_.prototypes.back().returns = returns_;
    module_.prototypes.back().parameters = parameters;
  } else {
    function().returns = returns_;
    function().parameters = parameters;
  }
}

void FunctionBuilder::EndHeader() {
  ast::Function& f = function();
  f.pragmas.count = static_cast<uint32_t>(module_.pragmas.size()) - f.pragmas.first;
  f.statements.first = static_cast<uint32_t>(module_.statements.size());
  f.instructions.first = static_cast<uint32_t>(module_.instructions.size());
  f.operands.first = static_cast<uint32_t>(module_.operands.size());
}

void FunctionBuilder::EndDeclaration() {
  EndHeader();
  state_.place = TextPart::kModule;
}

void FunctionBuilder::BeginBody() {
  EndHeader();
  function().has_body = true;
  state_.place = TextPart::kBody;
}

void FunctionBuilder::EndBody() {
  ast::Function& f = function();
  f.statements.count = static_cast<uint32_t>(module_.statements.size()) - f.statements.first;
  f.instructions.count = static_cast<uint32_t>(module_.instructions.size()) - f.instructions.first;
  f.operands.count = static_cast<uint32_t>(module_.operands.size()) - f.operands.first;
  state_.place = TextPart::kModule;
  TakeBodyParameters();
}

// Before PTX 1.4 a kernel declares its parameters in its body. In the tree they are where all others are.
void FunctionBuilder::TakeBodyParameters() {
  if (state_.body_parameters.empty()) return;
  function().parameters = {static_cast<uint32_t>(module_.variables.size()),
                           static_cast<uint32_t>(state_.body_parameters.size())};
  module_.variables.insert(module_.variables.end(), state_.body_parameters.begin(),
                           state_.body_parameters.end());
  state_.body_parameters.clear();
}

void FunctionBuilder::BeginDimensions() {
  dimensions_ = &(function().*ValueOf(Last().kind, kDimensions));
  *dimensions_ = {1, 1, 1};
  dimension_ = 0;
}

void FunctionBuilder::Dimension() {
  if (dimension_ >= 3) return Report("at most three dimensions are legal");
  const uint32_t extent = LastNumber();
  if (extent == 0) return Report("a dimension cannot be 0");
  (*dimensions_)[dimension_++] = extent;
}

void FunctionBuilder::BeginLimit() { limit_ = Last().kind; }

void FunctionBuilder::Limit() {
  const uint32_t value = LastNumber();
  if (state_.place != TextPart::kPrototype) {
    function().*ValueOf(limit_, kLimits) = value;
  } else {  // the grammar allows no other limit there
    ast::Prototype& prototype = module_.prototypes.back();
    (limit_ == TokenKind::kAbiPreserve ? prototype.abi_preserve : prototype.abi_preserve_control) = value;
  }
}

void FunctionBuilder::FunctionFlag() {
  ast::Function& f = function();
  if (Last().kind == TokenKind::kExplicitcluster) {
    f.explicit_cluster = true;
  } else if (Last().kind == TokenKind::kBlocksareclusters) {
    f.blocks_are_clusters = true;
  } else if (state_.place == TextPart::kPrototype) {
    module_.prototypes.back().noreturn = true;
  } else {
    f.noreturn = true;
  }
}

void FunctionBuilder::BeginPrototype() {
  ast::Prototype prototype;
  prototype.name = TextOf(tokens_[state_.name_token]);
  prototype.position = PositionOf(tokens_[state_.name_token]);
  Add(ast::StatementKind::kPrototype, module_.prototypes.size());
  module_.prototypes.push_back(prototype);
  state_.place = TextPart::kPrototype;
  first_parameter_ = module_.variables.size();
  returns_ = {static_cast<uint32_t>(first_parameter_), 0};
}

void FunctionBuilder::PrototypeSink() {
  if (LastText() != "_") Report("a prototype has no name", "write _ between returns and parameters");
}

void FunctionBuilder::EndPrototype() { state_.place = TextPart::kBody; }

}  // namespace ptx2cpu::ptx
