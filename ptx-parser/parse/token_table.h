// Tables by token, for the few tokens that a rule of the grammar allows.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/result.h"
#include "ptx-parser/antlr/token_kinds.h"

namespace ptx2cpu::ptx {

template <typename Value>
using TokenRow = std::pair<TokenKind, Value>;

// The value of the row with this token. The grammar allows no token that the table lacks.
template <typename Value, size_t size>
const Value& ValueOf(TokenKind kind, const TokenRow<Value> (&rows)[size]) {
  const auto row = std::ranges::find(rows, kind, &TokenRow<Value>::first);
  CHECK(row != std::end(rows));
  return row->second;
}

}  // namespace ptx2cpu::ptx
