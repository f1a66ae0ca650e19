// Words, numbers, strings and punctuation of the textual IR. Newlines are not tokens, but each token records
// whether it is the first one on its line: an instruction ends where its line does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::ir {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kWord,    // i32, cond_br, tid.x
    kNumber,  // 12, -3, 0x1f, 1.5, 9.0
    kString,  // "text": `text` is the decoded contents
    kValue,   // %name
    kBlock,   // ^name
    kGlobal,  // @name, @"any name"
    kIndex,   // #12
    kMark,    // one of ( ) { } , : ; = + or ->
  };
  Kind kind = Kind::kEnd;
  std::string text;  // without the sigil
  uint32_t line = 1, column = 1;
  bool first_on_line = false;
};

// All tokens, the last one is kEnd. Comments run from // to the end of the line.
Result<std::vector<Token>> LexText(std::string_view text, std::string_view name);

// kSyntax error at a place in `text`, with the line itself.
Error TextError(std::string_view text, std::string_view name, uint32_t line, uint32_t column,
                std::string message);

}  // namespace ptx2cpu::ir
