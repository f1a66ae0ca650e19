// Matching: an instruction of the syntax tree -> its form in the PTX table, its modifiers sorted,
// its operands checked (9.2, 9.4: widths, kinds, immediates, wider registers for ld, st, cvt).
//
// Modifiers depend on the opcode only, and a module has few distinct opcodes: they are matched once per
// opcode and kept; per instruction only the operands are walked.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ir/result.h"
#include "ptx-parser/match/table.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

// The modifiers of an opcode, as a form sees them.
struct Modifiers {
  std::array<PtxType, 6> types = {};  // in order
  uint8_t type_count = 0;
  struct Chosen {
    Word group;  // "rnd", or the word itself
    Word word;   // "rz"
  };
  std::array<Chosen, 14> chosen = {};  // all that are not types
  uint8_t chosen_count = 0;

  void Add(Word group, Word word) {
    CHECK(chosen_count < chosen.size(), "an opcode with more modifiers than any form has");
    chosen[chosen_count++] = {group, word};
  }
  // The word that is written for a group of the row; false if there is none.
  Word At(Word group) const {
    for (uint8_t i = 0; i < chosen_count; ++i) {
      if (chosen[i].group == group) return chosen[i].word;
    }
    return {};
  }
  bool Has(Word word) const {
    for (uint8_t i = 0; i < chosen_count; ++i) {
      if (chosen[i].word == word) return true;
    }
    return false;
  }
  PtxType first() const { return types[0]; }
  PtxType last() const { return type_count ? types[type_count - 1] : PtxType::kNone; }
  int vector_width() const;  // of .v2 .v4 .v8, else 1
};

struct Match {
  RowId row;
  const Form* form = nullptr;
  const Modifiers* modifiers = nullptr;
  // Operand `i` of the form is operand `slots[i]` of the instruction, or kAbsent for an optional one left
  // out.
  static constexpr uint8_t kAbsent = 255;
  std::array<uint8_t, 8> slots = {};
};

class Matcher {
 public:
  explicit Matcher(const ast::Module& module)
      : module_(module), dialect_(Dialect::Of(module)), opcodes_(module.opcodes.size()) {}

  // kSyntax errors name the offending word or operand and the nearest legal form.
  Result<Match> MatchInstruction(const ast::Function& function, const ast::Instruction& instruction);

 private:
  struct Candidate {
    const Form* form;
    Modifiers modifiers;
  };
  struct Entry {
    bool known = false;
    std::vector<Candidate> candidates;
  };
  const Entry& Lookup(uint32_t opcode);

  const ast::Module& module_;
  const Dialect dialect_;
  std::vector<Entry> opcodes_;
};

// The type an operand of a form has under given modifiers; kNone: untyped.
PtxType TypeOf(const OperandSpec& spec, const Modifiers& modifiers);

// Why `form` does not take the operands, and the spelling of the wrong one; empty when it does. Fills
// match.slots.
std::string CheckOperands(const ast::Module& module, const ast::Function& function,
                          const ast::Instruction& instruction, const Form& form, const Modifiers& modifiers,
                          Match& match, std::string_view& culprit);

// Fits the words of an opcode to a form; false when they do not, and then `offending` is the number of the
// first word that has no place, or words.size() when one is missing, whose name goes to `missing`.
bool FitModifiers(std::span<const std::string_view> words, const Form& form, Modifiers& modifiers,
                  size_t& offending, std::string& missing);

}  // namespace ptx2cpu::ptx
