#include "tests/random/sequences/template.h"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "ptx-parser/match/match.h"

namespace ptx2cpu::random_sequences {

using namespace ptx;

namespace {

struct Family {
  std::string_view name;
  uint32_t weight;
};
struct Words {
  std::string_view row, words;
};
struct Plain {
  const char *opcode, *operands;
};
#define FAMILY(name, weight)
#define LEFT_OUT(row)
#define APPROXIMATE(row, word)
#define NEWER(row, words)
#define ILLEGAL(row, words)
#define UNGUARDED(row, words)
#define BOUNDED(row)
#define REGISTERS(row)
#define PLAIN(opcode, operands)

#undef FAMILY
#define FAMILY(name, weight) {#name, weight},
constexpr Family kFamilies[] = {
#include "tests/random/sequences/rows.def"
};
#undef FAMILY
#define FAMILY(name, weight)

#undef LEFT_OUT
#define LEFT_OUT(row) row,
constexpr std::string_view kLeftOut[] = {
#include "tests/random/sequences/rows.def"
};
#undef LEFT_OUT
#define LEFT_OUT(row)

#undef UNGUARDED
#define UNGUARDED(row, words) {row, words},
constexpr Words kUnguarded[] = {
#include "tests/random/sequences/rows.def"
};
#undef UNGUARDED
#define UNGUARDED(row, words)

#undef BOUNDED
#define BOUNDED(row) row,
constexpr std::string_view kBounded[] = {
#include "tests/random/sequences/rows.def"
};
#undef BOUNDED
#define BOUNDED(row)

#undef REGISTERS
#define REGISTERS(row) row,
constexpr std::string_view kRegisters[] = {
#include "tests/random/sequences/rows.def"
};
#undef REGISTERS
#define REGISTERS(row)

#undef APPROXIMATE
#define APPROXIMATE(row, word) {row, word},
constexpr Words kApproximate[] = {
#include "tests/random/sequences/rows.def"
};
#undef APPROXIMATE
#define APPROXIMATE(row, word)

#undef NEWER
#define NEWER(row, words) {row, words},
constexpr Words kNewer[] = {
#include "tests/random/sequences/rows.def"
};
#undef NEWER
#define NEWER(row, words)

#undef ILLEGAL
#define ILLEGAL(row, words) {row, words},
constexpr Words kIllegal[] = {
#include "tests/random/sequences/rows.def"
};
#undef ILLEGAL
#define ILLEGAL(row, words)

#undef PLAIN
#define PLAIN(opcode, operands) {opcode, operands},
constexpr Plain kPlain[] = {
#include "tests/random/sequences/rows.def"
};
#undef PLAIN

// Whether all of `words` are modifiers of the opcode.
bool HasAll(const std::string& opcode, std::string_view words) {
  std::istringstream list{std::string(words)};
  const std::string dotted = opcode + ".";
  for (std::string word; list >> word;) {
    if (dotted.find("." + word + ".") == std::string::npos) return false;
  }
  return true;
}

// Whether a row of the table speaks of the opcode.
template <size_t N>
bool AnyOf(const Words (&table)[N], std::string_view row, const std::string& opcode) {
  return std::any_of(std::begin(table), std::end(table), [&](const Words& entry) {
    return entry.row == row && std::regex_search(opcode, std::regex(std::string(entry.words)));
  });
}

// The properties of an opcode in rows.def; kept, since the regular expression takes longer than all else.
struct Facts {
  bool illegal, approximate, newer, unguarded;
};
const Facts& FactsOf(std::string_view row, const std::string& opcode) {
  static std::map<std::pair<std::string_view, std::string>, Facts> known;
  const auto [at, fresh] = known.try_emplace({row, opcode});
  if (fresh)
    at->second = {AnyOf(kIllegal, row, opcode), AnyOf(kApproximate, row, opcode), AnyOf(kNewer, row, opcode),
                  AnyOf(kUnguarded, row, opcode)};
  return at->second;
}

// The register that holds a value of the type; 0: there is none here.
uint8_t RegisterBits(PtxType type) {
  const TypeInfo& info = Info(type);
  if (type == PtxType::kPred) return 1;
  if (info.kind == TypeKind::kOpaque || info.kind == TypeKind::kNone) return 0;
  if (info.bits() == 8) return 32;
  return info.bits() == 16 || info.bits() == 32 || info.bits() == 64 ? static_cast<uint8_t>(info.bits()) : 0;
}

bool TakesNumber(PtxType type) {
  const TypeInfo& info = Info(type);
  if (info.elements != 1 || info.kind == TypeKind::kPredicate || info.kind == TypeKind::kNarrow ||
      info.kind == TypeKind::kBrainFloat)
    return false;
  return info.kind != TypeKind::kFloat || info.bits() >= 32;
}

// min and max of three floats.
bool HasTriple(const Form& form) {
  return (form.base == "min" || form.base == "max") && form.operands.size() == 4;
}

class Maker {
 public:
  Maker(const Row& row, const Form& form) : row_(row), form_(form) {}

  // The words of the form's elements, "" where one is left out.
  std::optional<Template> Make(const std::vector<std::string>& words) {
    made_.opcode = form_.base;
    std::vector<std::string_view> views;
    for (const std::string& word : words) {
      if (word.empty()) continue;
      made_.opcode += "." + word;
      views.push_back(word);
    }
    size_t offending = 0;
    std::string missing;
    if (!FitModifiers(views, form_, modifiers_, offending, missing)) return std::nullopt;
    of_brain_floats_ = made_.opcode.find(".bf16") != std::string::npos;
    const Facts& facts = FactsOf(row_.name, made_.opcode);
    if (facts.illegal) return std::nullopt;
    for (const OperandSpec& spec : form_.operands) {
      if (!Add(spec)) return std::nullopt;
    }
    const bool carries = row_.family == "extended_precision";
    made_.reads_carry = carries && form_.base.ends_with('c');
    made_.writes_carry = carries && HasAll(made_.opcode, "cc");
    made_.moves = row_.family == "compare_select" || row_.family == "warp_shuffle";
    made_.of_warp = row_.family == "warp_shuffle" || row_.family == "warp_vote";
    made_.bounded = std::ranges::count(kBounded, row_.name) != 0;
    made_.approximate = made_.bounded || facts.approximate;
    made_.loses_guard = facts.unguarded;
    made_.newer = facts.newer || HasTriple(form_);
    if (made_.of_warp) made_.slots.back().members = true;
    if (std::ranges::count(kRegisters, row_.name) != 0) {
      for (Slot& slot : made_.slots) slot.takes_number = false;
    }
    if (!made_.slots.empty()) made_.slots.front().before = "";
    return std::move(made_);
  }

 private:
  bool Add(const OperandSpec& spec) {
    const PtxType type = TypeOf(spec, modifiers_);
    Slot slot{.type = type, .bits = RegisterBits(type), .written = spec.written};
    const bool integer = Info(type).kind == TypeKind::kUnsigned || Info(type).kind == TypeKind::kSigned;
    switch (spec.shape) {
      case OperandShape::kImmediate:
        slot.constant = true;
        slot.rule = &spec.constants;
        slot.bits = 32;
        break;
      case OperandShape::kPredicate:
        slot.negatable = true;
        break;
      case OperandShape::kPart:
        slot.part = spec.name != "c";  // of the third operand of vmad, PTX has no part
        slot.bits = 32;
        // A part of the result is written over the bits of one more operand, which only then appears.
        slot.states_part = slot.written;
        break;
      case OperandShape::kValue:
      case OperandShape::kReadable:
        slot.wider = spec.wider && integer && !of_brain_floats_;  // ptxas knows no conversion of these
        slot.takes_number = !spec.written && TakesNumber(type);
        slot.rule = &spec.constants;
        break;
      case OperandShape::kPair:
      case OperandShape::kMaybePair:
        if (slot.bits == 0) return false;
        made_.slots.push_back(slot);
        slot = {.type = PtxType::kPred, .bits = 1, .written = true, .before = "|"};
        break;
      case OperandShape::kVectorOf:
        if (slot.bits == 0) return false;
        for (uint8_t i = 0; i < spec.count; ++i) {
          slot.before = i == 0 ? ", {" : ", ";
          slot.after = i + 1 == spec.count ? "}" : "";
          made_.slots.push_back(slot);
        }
        return true;
      case OperandShape::kMovable:
      case OperandShape::kParts:
      case OperandShape::kVectorOfVec:
      case OperandShape::kWords:
      case OperandShape::kMemory:
      case OperandShape::kAddress:
      case OperandShape::kLabel:
      case OperandShape::kTargetList:
      case OperandShape::kAnything:
      case OperandShape::kRest:
        return false;
    }
    if (slot.bits == 0) return false;
    made_.slots.push_back(slot);
    return true;
  }

  const Row& row_;
  const Form& form_;
  Modifiers modifiers_;
  bool of_brain_floats_ = false;
  Template made_;
};

bool IsUsed(const Row& row) { return row.translated && std::ranges::count(kLeftOut, row.name) == 0; }

bool IsUsed(const Form& form) { return AllHold(form.when, Dialect{.version = 900, .sm = 100}); }

// The rows of each family, once.
const std::vector<std::vector<const Row*>>& RowsOfFamilies() {
  static const std::vector<std::vector<const Row*>> rows = [] {
    std::vector<std::vector<const Row*>> lists;
    for (const Family& family : kFamilies) {
      lists.emplace_back();
      for (const Row& row : Rows()) {
        if (row.family == family.name && IsUsed(row)) lists.back().push_back(&row);
      }
    }
    return lists;
  }();
  return rows;
}

Template MakePlain(const Plain& plain) {
  Template made{.opcode = plain.opcode, .slots = {}, .moves = true};
  std::istringstream words(plain.operands);
  for (std::string word; words >> word;) {
    const bool opens = word.front() == '{', closes = word.back() == '}';
    if (opens) word.erase(0, 1);
    if (closes) word.pop_back();
    const bool written = word.front() == 'd';
    const auto bits = static_cast<uint8_t>(std::stoul(word.substr(written ? 1 : 0)));
    const bool first = made.slots.empty();
    made.slots.push_back({.type = FindType(bits == 1 ? "pred" : "b" + std::to_string(bits)),
                          .bits = bits,
                          .written = written,
                          .before = first ? (opens ? "{" : "") : (opens ? ", {" : ", "),
                          .after = closes ? "}" : ""});
  }
  return made;
}

bool IsRounding(const Element& element) {
  return element.words[0] == "rn" && element.name != "rnd2" && !element.is_type;
}

std::vector<std::string> DrawWords(RandomWords& random, const Form& form, const Limits& limits) {
  std::vector<std::string> words;
  const bool links = random.Chance(2);
  for (const Element& element : form.elements) {
    const bool left_out = element.link != 0 ? !links : !random.Chance(3);
    const bool required = !element.optional || (limits.for_gpu && IsRounding(element));
    words.push_back(!required && left_out ? "" : element.words[random.Below(element.words.size())]);
  }
  return words;
}

}  // namespace

Template DrawTemplate(RandomWords& random, const Limits& limits) {
  uint32_t total = 1;  // of the plain moves
  for (const Family& family : kFamilies) total += family.weight;
  while (true) {
    uint32_t at = random.Below(total);
    size_t family = 0;
    while (family < std::size(kFamilies) && at >= kFamilies[family].weight) at -= kFamilies[family++].weight;
    if (family == std::size(kFamilies)) return MakePlain(kPlain[random.Below(std::size(kPlain))]);
    const auto& rows = RowsOfFamilies()[family];
    const Row& row = *rows[random.Below(rows.size())];
    const Form& form = row.forms[random.Below(row.forms.size())];
    if (!IsUsed(form)) continue;
    auto made = Maker(row, form).Make(DrawWords(random, form, limits));
    if (!made || (made->newer && !limits.newer)) continue;
    return *std::move(made);
  }
}

void VisitTemplates(const std::function<void(std::string_view row, const Template&)>& visit) {
  for (const auto& rows : RowsOfFamilies()) {
    for (const Row* row : rows) {
      for (const Form& form : row->forms) {
        if (!IsUsed(form)) continue;
        std::vector<std::vector<std::string>> all = {{}};
        for (const Element& element : form.elements) {
          std::vector<std::vector<std::string>> longer;
          for (const auto& prefix : all) {
            for (size_t w = element.optional ? 0 : 1; w <= element.words.size(); ++w) {
              longer.push_back(prefix);
              longer.back().push_back(w == 0 ? "" : element.words[w - 1]);
            }
          }
          all = std::move(longer);
        }
        for (const auto& words : all) {
          if (const auto made = Maker(*row, form).Make(words)) visit(row->name, *made);
        }
      }
    }
  }
  for (const Plain& plain : kPlain) visit("mov", MakePlain(plain));
}

}  // namespace ptx2cpu::random_sequences
