// The PTX table: rows of instructions.def, compiled into the forms that match.h walks. A row is compiled once
// per process, at its first use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx-parser/match/dialect.h"
#include "ptx-parser/match/types.h"

namespace ptx2cpu::ptx {

enum class RowId : uint16_t {
#define ROW(name, family, section, syntax, definitions) k_##name,
#define ROW_PARSE_ONLY(name, family, section, syntax, definitions) k_##name,
#define GROUP(name, words)
#include "ptx-parser/match/instructions.def"
#undef ROW
#undef ROW_PARSE_ONLY
#undef GROUP
  kCount
};

// A modifier word or group name, by hash: comparing words is comparing integers. Rows() checks that no
// two of the table's words collide.
struct Word {
  uint32_t hash = 0;
  constexpr Word() = default;
  constexpr Word(const char* text) : Word(std::string_view(text)) {}
  constexpr explicit Word(std::string_view text) {
    hash = 2166136261u;
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  constexpr explicit operator bool() const { return hash != 0; }
  friend constexpr bool operator==(Word, Word) = default;
};

// One modifier position of a form.
struct Element {
  std::string name;  // group name, or the word itself
  bool optional = false;
  bool is_type = false;
  uint8_t link = 0;  // elements of one {.x.y}: both or neither; 0: none
  std::vector<std::string> words;
  std::vector<Word> hashes;    // of words
  std::vector<PtxType> types;  // is_type: of words
};

enum class OperandShape : uint8_t {
  kValue,        // register or immediate
  kMovable,      // also special registers, symbols, vectors
  kReadable,     // register, immediate, special register
  kPredicate,    // {!}p, or an integer constant
  kPair,         // d|p
  kMaybePair,    // d or d|p
  kVectorOfVec,  // vector of .vec elements, or a value when the form has no .vec
  kVectorOf,     // vector of `count`
  kWords,        // a 32-bit register, or a vector of any number of them
  kMemory,       // [a]
  kAddress,      // register or variable
  kLabel,
  kTargetList,
  kImmediate,  // integer constant
  kPart,       // 32-bit register, or a byte or half-word of one, or a constant
  kParts,      // the same, or several bytes or half-words
  kAnything,   // one operand of any shape
  kRest,       // any further operands
};

// What an integer constant in an operand's place must be; registers may hold anything.
struct ConstantRule {
  std::vector<int64_t> values;  // one of these; none: any
  int64_t multiple = 1;
  int64_t least = INT64_MIN, most = INT64_MAX;
  bool Allows(int64_t value) const;
  std::string Text() const;  // "4, 8 or 16", "a multiple of 16, 0 to 1024"; empty: any
};

struct OperandSpec {
  enum class Source : uint8_t { kFixed, kNth, kWide, kUntyped };
  std::string name;
  OperandShape shape = OperandShape::kValue;
  Source source = Source::kNth;
  PtxType fixed = PtxType::kNone;
  uint8_t nth = 0;    // kNth: which type of the opcode; kWide: the same, doubled
  uint8_t count = 0;  // kVectorOf
  bool written = false;
  bool optional = false;
  bool wider = false;   // registers may be wider than the type
  bool policy = false;  // there with .L2::cache_hint only
  ConstantRule constants;
};

struct Form {
  RowId row;
  std::string base;  // "add"
  std::string text;  // the form as the manual has it, without operand annotations
  std::vector<Element> elements;
  std::vector<OperandSpec> operands;
  std::vector<DialectCondition> when;  // all must hold for the module; empty: in every version
  std::vector<Word> implied;           // words that it means without their being written
  uint8_t required = 0;                // required operands
  bool accepts_all = false;            // a parse-only form without modifiers listed
  bool has_rest = false;
};

struct Row {
  std::string_view name, family, section, syntax, definitions;
  bool translated = false;
  std::vector<Form> forms;
};

const Row& Info(RowId row);
std::span<const Row> Rows();
// Forms of a base mnemonic in table order; empty if there is no such instruction.
std::span<const Form* const> FormsOf(std::string_view base);
// The known mnemonic closest to `word` by edit distance, empty when none is near.
std::string_view NearestMnemonic(std::string_view word);
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace ptx2cpu::ptx
