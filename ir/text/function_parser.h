// The parser of one function's text, in two files: parse_function.cpp reads the header and what surrounds
// instructions, parse_instruction.cpp reads instructions.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/text/text_cursor.h"

namespace ptx2cpu::ir {

class FunctionParser {
 public:
  FunctionParser(TextCursor& cursor, const SymbolNames& variables, const SymbolNames& functions)
      : c_(cursor), variables_(variables), functions_(functions) {}
  Result<Function> Run();

 private:
  struct ResultName {
    Token token;
    std::optional<Type> type;
  };

  Status Header();
  Result<bool> HeaderItem();  // false: there is none here
  Status Triple(uint32_t (&values)[3]);
  Status Body();
  Status DeclareBlocks();
  Status Local();
  Status SlotLine();
  Status PointLine();
  Status BlockHeader();
  Status Instruction();
  Status Attributes(Inst& inst);
  Status AttributeWord(Inst& inst);
  Status Bits(Inst& inst);
  Status Name(Inst& inst);
  Status Flags(Inst& inst);
  Status OperandsAndEdges(Inst& inst);
  Status Finish();
  ValueId Use(const Token& token);
  Result<ValueId> Define(const Token& token, Type type, InstId def, uint32_t number);
  Result<BlockId> BlockNamed();

  TextCursor& c_;
  const SymbolNames& variables_;
  const SymbolNames& functions_;
  Function f_;
  SymbolNames locals_;
  std::unordered_map<std::string, BlockId> blocks_;
  std::unordered_map<std::string, ValueId> values_;
  std::vector<bool> defined_;     // by value
  std::vector<Token> first_use_;  // by value
  BlockId block_;                 // where instructions go
  std::optional<Token> entry_;
  std::optional<uint32_t> param_bytes_;
};

}  // namespace ptx2cpu::ir
