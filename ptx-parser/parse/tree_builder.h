// Builds the Module from the grammar's events. Each kind of construct has a part (*_builder.h). What is
// grammatical but wrong is reported here (unknown types, bad numbers, operators on registers); names are
// resolved afterwards (names.h).
#pragma once

#include <vector>

#include "ptx-parser/parse/function_builder.h"
#include "ptx-parser/parse/location_builder.h"
#include "ptx-parser/parse/module_builder.h"
#include "ptx-parser/parse/operand_builder.h"
#include "ptx-parser/parse/statement_builder.h"
#include "ptx-parser/parse/variable_builder.h"

namespace ptx2cpu::ptx {

class TreeBuilder {
 public:
  // `cursor` counts the tokens the parser has consumed.
  TreeBuilder(ast::Module& module, const std::vector<Token>& tokens, const size_t& cursor)
      : state_{module, tokens, cursor} {
    // Somewhat above what nvcc's output needs: pages never written cost nothing, growing a pool costs a copy.
    const size_t bytes = module.text->size();
    module.operands.reserve(bytes / 10);
    module.instructions.reserve(bytes / 32);
    module.statements.reserve(bytes / 28);
  }
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;

  Actions& actions() { return actions_; }
  const std::vector<Error>& errors() const { return state_.errors; }

 private:
  TreeState state_;
  ModuleBuilder module_{state_};
  FunctionBuilder functions_{state_};
  OperandBuilder operands_{state_};
  VariableBuilder variables_{state_, operands_};
  StatementBuilder statements_{state_, operands_};
  LocationBuilder locations_{state_};
  Actions actions_{module_, functions_, variables_, statements_, locations_, operands_};
};

}  // namespace ptx2cpu::ptx
