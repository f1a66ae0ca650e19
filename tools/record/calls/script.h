// Scripts of calls of a library: a line a statement, words between spaces, `#` begins a comment.
//
//   let NAME WORD...            $NAME or ${NAME} are replaced by the words; names within ${} are replaced
//   first;
//                               without braces, the longest name that is known
//   for NAME,... in ITEM...     an item has a word per name, between commas; until `end`
//   if WORD in WORD...          until `end`; also `unless`
//   include FILE                beside the script
//   group NAME                  what follows runs in a process of its own, after what precedes the first
//   group
//
// A word of digits and + - * is replaced by its value. The other statements are those of calls/machine.h.
#pragma once

#include <string>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::calls {

struct Statement {
  int line;
  std::vector<std::string> words;
};
struct Group {
  std::string name;
  std::vector<Statement> statements;  // with those that precede the first group
};

// The groups with loops unrolled and names replaced. Errors: a file that cannot be read, an unknown name,
// `end` missing.
Result<std::vector<Group>> ReadScript(const std::string& path);

}  // namespace ptx2cpu::calls
