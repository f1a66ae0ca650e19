#include "ptx-parser/match/match.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace ptx2cpu::ptx {

int Modifiers::vector_width() const {
  Word vec = At("vec");
  return vec == Word("v2") ? 2 : vec == Word("v4") ? 4 : vec == Word("v8") ? 8 : 1;
}

namespace {

// Position of `word` among the words of an element, or -1.
int Find(const Element& element, Word word) {
  for (size_t i = 0; i < element.hashes.size(); ++i) {
    if (element.hashes[i] == word) return static_cast<int>(i);
  }
  return -1;
}

// Both or neither of the words of one {.x.y}.
bool LinksHold(const Form& form, const std::vector<bool>& used, std::string& missing) {
  for (size_t i = 0; i < form.elements.size(); ++i) {
    for (size_t j = i + 1; j < form.elements.size(); ++j) {
      if (form.elements[i].link == 0 || form.elements[i].link != form.elements[j].link || used[i] == used[j])
        continue;
      missing = form.elements[used[i] ? j : i].name;
      return false;
    }
  }
  return true;
}

void Choose(const Element& element, size_t which, Modifiers& modifiers) {
  if (element.is_type) {
    if (modifiers.type_count < modifiers.types.size())
      modifiers.types[modifiers.type_count++] = element.types[which];
  } else if (modifiers.chosen_count < modifiers.chosen.size()) {
    modifiers.Add(Word(std::string_view(element.name)), element.hashes[which]);
  }
}

}  // namespace

bool FitModifiers(std::span<const std::string_view> words, const Form& form, Modifiers& modifiers,
                  size_t& offending, std::string& missing) {
  if (form.accepts_all) return true;
  std::vector<bool> used(form.elements.size());
  size_t next_type = 0;  // types keep their order: the next type word goes to an element from here on
  for (size_t w = 0; w < words.size(); ++w) {
    Word word(words[w]);
    bool placed = false;
    for (size_t e = 0; e < form.elements.size() && !placed; ++e) {
      const Element& element = form.elements[e];
      if (used[e] || (element.is_type && e < next_type)) continue;
      int which = Find(element, word);
      // A type may skip only optional types.
      if (which < 0) {
        if (element.is_type && !element.optional && FindType(words[w]) != PtxType::kNone) break;
        continue;
      }
      used[e] = placed = true;
      if (element.is_type) next_type = e + 1;
      Choose(element, static_cast<size_t>(which), modifiers);
    }
    if (!placed) {
      offending = w;
      return false;
    }
  }
  offending = words.size();
  for (size_t e = 0; e < form.elements.size(); ++e) {
    if (used[e] || form.elements[e].optional) continue;
    missing = form.elements[e].name;
    return false;
  }
  return LinksHold(form, used, missing);
}

PtxType TypeOf(const OperandSpec& spec, const Modifiers& modifiers) {
  switch (spec.source) {
    case OperandSpec::Source::kFixed:
      return spec.fixed;
    case OperandSpec::Source::kUntyped:
      return PtxType::kNone;
    case OperandSpec::Source::kNth:
      return modifiers.types[spec.nth];
    case OperandSpec::Source::kWide:
      break;
  }
  const PtxType narrow = modifiers.types[spec.nth];
  if (narrow == PtxType::kU16) return PtxType::kU32;
  if (narrow == PtxType::kS16) return PtxType::kS32;
  if (narrow == PtxType::kU32) return PtxType::kU64;
  if (narrow == PtxType::kS32) return PtxType::kS64;
  return PtxType::kNone;
}

const Matcher::Entry& Matcher::Lookup(uint32_t number) {
  Entry& entry = opcodes_[number];
  if (entry.known) return entry;
  entry.known = true;
  const ast::Opcode& opcode = module_.opcodes[number];
  std::span<const std::string_view> words = module_.Modifiers(opcode);
  for (const Form* form : FormsOf(opcode.base)) {
    Modifiers modifiers;
    size_t offending;
    std::string missing;
    if (!AllHold(form->when, dialect_) || !FitModifiers(words, *form, modifiers, offending, missing))
      continue;
    dialect_.Complete(*form, modifiers);
    entry.candidates.push_back({form, modifiers});
  }
  return entry;
}

namespace {

// Operands and words carry no position, but their spelling is a view into the text.
ast::Position PositionOf(const ast::Module& module, std::string_view spelling, ast::Position otherwise) {
  const std::string& text = *module.text;
  std::less<const char*> before;
  if (spelling.empty() || before(spelling.data(), text.data()) ||
      !before(spelling.data(), text.data() + text.size())) {
    return otherwise;
  }
  size_t offset = static_cast<size_t>(spelling.data() - text.data());
  auto line = static_cast<uint32_t>(
      std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n') + 1);
  size_t before_line = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  size_t start = before_line == std::string::npos ? 0 : before_line + 1;
  return {line, static_cast<uint32_t>(offset - start + 1)};
}

Error UnknownInstruction(const ast::Module& module, const ast::Instruction& instruction) {
  const ast::Opcode& opcode = module.OpcodeOf(instruction);
  std::string_view nearest = NearestMnemonic(opcode.base);
  std::string hint = nearest.empty() ? std::string("PTX has no instruction of that name")
                                     : "the nearest instruction is `" + std::string(nearest) + "`";
  return ast::ErrorAt(module, instruction.position, ErrorCode::kSyntax,
                      "unknown instruction `" + std::string(opcode.base) + "`", hint);
}

// How an opcode misses a form.
struct Miss {
  const Form* form = nullptr;
  size_t score = 0;
  size_t offending = 0;  // word without a place, or the number of words
  std::string missing;   // modifier that is required
};

Miss MissOf(std::span<const std::string_view> words, const Form& form) {
  Miss miss{&form, 1, 0, {}};
  Modifiers modifiers;
  FitModifiers(words, form, modifiers, miss.offending, miss.missing);
  for (std::string_view word : words) {  // words that have a place in the form, wherever they appear
    miss.score += std::any_of(form.elements.begin(), form.elements.end(),
                              [&](const Element& e) { return Find(e, Word(word)) >= 0; });
  }
  if (miss.offending == words.size()) {  // all have; one more is required
    miss.score += 12;
    return miss;
  }
  // One word too many, or one in place of another.
  size_t best = 0;
  for (size_t drop = 0; drop < words.size(); ++drop) {
    std::vector<std::string_view> rest(words.begin(), words.end());
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(drop));
    size_t offending = 0;
    std::string missing;
    Modifiers unused;
    bool fits = FitModifiers(rest, form, unused, offending, missing);
    if (!fits && offending < rest.size()) continue;
    size_t gain = 10 + 2 * fits + (FindType(words[drop]) == PtxType::kNone);  // types are rarely the mistake
    if (gain <= best) continue;
    best = gain;
    miss.offending = drop;
  }
  miss.score += best;
  return miss;
}

const Form* NearestForm(std::span<const std::string_view> words, const std::vector<const Form*>& forms) {
  return *std::ranges::max_element(forms, {}, [&](const Form* form) { return MissOf(words, *form).score; });
}

// ".x is one of ..." for the group whose words resemble `word` most.
std::string Alternatives(const Form& form, std::string_view word) {
  const Element* best = nullptr;
  size_t distance = SIZE_MAX;
  for (const Element& element : form.elements) {
    for (const std::string& candidate : element.words) {
      size_t d = EditDistance(word.substr(0, 40), candidate);
      if (d >= distance) continue;
      distance = d;
      best = &element;
    }
  }
  if (!best || (best->words.size() == 1 && best->words[0] == best->name)) return {};
  std::string text = "; ." + best->name + " is one of";
  for (const std::string& candidate : best->words) text += " ." + candidate;
  return text;
}

std::string Forms(std::span<const Miss> misses) {
  std::string text = misses.size() == 1 ? "the nearest legal form is " : "the nearest legal forms are ";
  for (size_t i = 0; i < misses.size(); ++i) text += (i ? ", `" : "`") + misses[i].form->text + "`";
  return text;
}

std::vector<const Form*> FormsIn(const Dialect& dialect, std::string_view base) {
  std::vector<const Form*> forms;
  std::ranges::copy_if(FormsOf(base), std::back_inserter(forms),
                       [&](const Form* f) { return AllHold(f->when, dialect); });
  return forms;
}

// The versions or targets for which forms with these words are legal, although they are not in this module:
// "before PTX 1.4, or for targets below sm_20". Empty when there is none.
std::string LegalElsewhere(std::span<const std::string_view> words, std::string_view base) {
  std::string text;
  for (const Form* form : FormsOf(base)) {
    Modifiers modifiers;
    size_t offending;
    std::string missing;
    if (!FitModifiers(words, *form, modifiers, offending, missing)) continue;
    if (!text.empty()) text += ", or ";
    for (const DialectCondition& condition : form->when)
      text += (&condition == form->when.data() ? "" : " and ") + condition.Text();
  }
  return text;
}

// No form takes the modifiers: speak about the forms that take most of them.
Error WrongModifiers(const ast::Module& module, const ast::Instruction& instruction) {
  constexpr size_t kMaxForms = 3;
  const ast::Opcode& opcode = module.OpcodeOf(instruction);
  std::span<const std::string_view> words = module.Modifiers(opcode);
  const Dialect dialect = Dialect::Of(module);
  const std::vector<const Form*> forms = FormsIn(dialect, opcode.base);
  const std::string elsewhere = LegalElsewhere(words, opcode.base);
  if (!elsewhere.empty()) {
    return ast::ErrorAt(
        module, instruction.position, ErrorCode::kSyntax,
        "`" + std::string(opcode.text) + "` is legal " + elsewhere + "; this module is " + dialect.Text(),
        forms.empty() ? std::string()
                      : "a form of this version is `" + NearestForm(words, forms)->text + "`");
  }
  std::vector<Miss> best;
  for (const Form* form : forms) {
    Miss miss = MissOf(words, *form);
    if (!best.empty() && miss.score < best[0].score) continue;
    if (!best.empty() && miss.score > best[0].score) best.clear();
    if (best.size() < kMaxForms) best.push_back(std::move(miss));
  }
  Miss miss = best[0];
  // A form that has the offending word shows what is expected.
  if (miss.offending < words.size() && best.size() < kMaxForms) {
    Word word(words[miss.offending]);
    for (const Form* form : forms) {
      bool listed = std::any_of(best.begin(), best.end(), [&](const Miss& m) { return m.form == form; });
      bool has = std::any_of(form->elements.begin(), form->elements.end(),
                             [&](const Element& e) { return Find(e, word) >= 0; });
      if (listed || !has) continue;
      best.push_back(MissOf(words, *form));
      break;
    }
  }
  std::string hint = Forms(best);
  if (miss.offending == words.size()) {
    for (const Element& element : miss.form->elements) {
      if (element.name == miss.missing) hint += Alternatives(*miss.form, element.words[0]);
    }
    return ast::ErrorAt(module, instruction.position, ErrorCode::kSyntax,
                        "`" + std::string(opcode.text) + "` lacks the modifier `." + miss.missing + "`",
                        std::move(hint));
  }
  std::string_view word = words[miss.offending];
  hint += Alternatives(*miss.form, word);
  return ast::ErrorAt(module, instruction.position, ErrorCode::kSyntax,
                      "`." + std::string(word) + "` does not fit `" + std::string(opcode.text) + "`",
                      std::move(hint));
}

}  // namespace

Result<Match> Matcher::MatchInstruction(const ast::Function& function, const ast::Instruction& instruction) {
  const Entry& entry = Lookup(instruction.opcode);
  if (entry.candidates.empty()) {
    bool known = !FormsOf(module_.OpcodeOf(instruction).base).empty();
    return Fail(known ? WrongModifiers(module_, instruction) : UnknownInstruction(module_, instruction));
  }
  std::string reason;
  std::string_view culprit;
  const Form* nearest = nullptr;
  for (const Candidate& candidate : entry.candidates) {
    Match match{candidate.form->row, candidate.form, &candidate.modifiers, {}};
    std::string_view spelling;
    std::string why =
        CheckOperands(module_, function, instruction, *candidate.form, candidate.modifiers, match, spelling);
    if (why.empty()) return match;
    if (!nearest || instruction.operands.count == candidate.form->required) {
      if (!nearest || instruction.operands.count != nearest->required) {
        nearest = candidate.form;
        reason = std::move(why);
        culprit = spelling;
      }
    }
  }
  ast::Position at = PositionOf(module_, culprit, instruction.position);
  return Fail(ast::ErrorAt(module_, at, ErrorCode::kSyntax, std::move(reason),
                           "the nearest legal form is `" + nearest->text + "`"));
}

}  // namespace ptx2cpu::ptx
