// What the parts of the tree builder share: the module under construction, the token just read, errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx-parser/parse/ast.h"
#include "ptx-parser/parse/scanner.h"

namespace ptx2cpu::ptx {

// A run stops reporting here.
inline constexpr size_t kMaxErrors = 20;

enum class TextPart : uint8_t { kModule, kHeader, kBody, kPrototype };

struct TreeState {
  ast::Module& module;
  const std::vector<Token>& tokens;
  const size_t& cursor;  // counts the tokens that the parser has consumed
  std::vector<Error> errors = {};

  TextPart place = TextPart::kModule;
  ast::Linkage linkage = ast::Linkage::kNone;       // of the function or declaration that follows
  bool is_declaring = false;                        // attributes belong to a variable, not to the function
  uint32_t name_token = 0;                          // of the declarator, label or opcode
  bool is_call = false;                             // the instruction being read
  std::vector<ast::Variable> body_parameters = {};  // of the kernel being read
};

class TreePart {
 public:
  explicit TreePart(TreeState& state)
      : state_(state),
        module_(state.module),
        tokens_(state.tokens),
        cursor_(state.cursor),
        text_(*state.module.text) {}

 protected:
  const Token& Last() const { return tokens_[cursor_ - 1]; }
  std::string_view TextOf(const Token& t) const { return text_.substr(t.offset, t.length); }
  std::string_view LastText() const { return TextOf(Last()); }
  static ast::Position PositionOf(const Token& t) { return {t.line, t.column}; }
  ast::Position LastPosition() const { return PositionOf(Last()); }
  void Report(const Token& at, std::string message, std::string hint = {});
  void Report(std::string message, std::string hint = {}) {
    Report(Last(), std::move(message), std::move(hint));
  }
  // The integer literal just read as a 32-bit or 64-bit unsigned number; 0 and an error if it is too large.
  uint32_t LastNumber();
  uint64_t LastLongNumber();
  // The name just read, which must have no dots.
  std::string_view LastName();
  std::string_view Spell(std::string text);  // a copy that lives as long as the module
  void Add(ast::StatementKind kind, size_t index);
  ast::Function& function() { return module_.functions.back(); }
  bool IsBefore(uint32_t major, uint32_t minor) const;  // whether the module's version is below major.minor

  TreeState& state_;
  ast::Module& module_;
  const std::vector<Token>& tokens_;
  const size_t& cursor_;
  const std::string_view text_;
};

}  // namespace ptx2cpu::ptx
