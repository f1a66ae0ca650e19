// Text to a flat array of tokens: the hand-written twin of the lexer rules in Ptx.g4, some fifty times as
// fast. A test compares the two token for token.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx-parser/antlr/token_kinds.h"

namespace ptx2cpu::ptx {

// 16 bytes. Lines and columns count from 1; columns count bytes and stop counting at 2^24 - 1.
struct Token {
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t line = 0;
  TokenKind kind : 8 = TokenKind::kEnd;
  uint32_t column : 24 = 0;
};

// How deep brackets of all kinds, and `?` within one operand, may nest. The parser recurses that deep.
inline constexpr uint32_t kMaxNesting = 256;

struct TokenArray {
  std::vector<Token> tokens;       // the last one is kEnd
  uint32_t too_deep = UINT32_MAX;  // index of the first token beyond kMaxNesting
};

// Never fails: what is not a token becomes kStray, which the parser reports. `text` must be shorter than 4
// GiB.
TokenArray Scan(std::string_view text);

}  // namespace ptx2cpu::ptx
