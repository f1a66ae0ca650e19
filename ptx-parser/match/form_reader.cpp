#include "ptx-parser/match/form_reader.h"

#include <algorithm>
#include <charconv>

#include "ir/result.h"

namespace ptx2cpu::ptx {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    if (std::string_view part = Trim(text.substr(0, end)); !part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

namespace {

// Reads one form: "add{.sat}.type d, a, b".
class FormReader {
 public:
  FormReader(RowId row, std::string_view text, const Groups& own, const Groups& shared)
      : own_(own), shared_(shared), text_(text) {
    form_.row = row;
    ReadConditions();
    ReadImplied();
    form_.text = WithoutAnnotations(text_);
  }

  Form Read() {
    size_t end = std::min(text_.find(' '), text_.size());
    ReadOpcode(text_.substr(0, end));
    ReadOperands(Trim(text_.substr(end)));
    form_.accepts_all = form_.elements.empty() && form_.has_rest;
    return std::move(form_);
  }

 private:
  // `d:~vec, [a], b:u32` reads `d, [a], b` in messages.
  static std::string WithoutAnnotations(std::string_view text) {
    std::string result;
    size_t operands = text.find(' ');
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ':' && i > operands) {
        while (i + 1 < text.size() && text[i + 1] != ',' && text[i + 1] != '{' && text[i + 1] != '}') ++i;
        continue;
      }
      result += text[i];
    }
    return result;
  }

  // [isa<1.4] [sm<20] in front.
  void ReadConditions() {
    while (text_.starts_with("[")) {
      const size_t end = text_.find(']');
      CHECK(end != std::string_view::npos, std::string(text_));
      form_.when.push_back(DialectCondition::Read(text_.substr(1, end - 1)));
      text_ = Trim(text_.substr(end + 1));
    }
  }

  // => .approx.ftz at the end.
  void ReadImplied() {
    const size_t arrow = text_.find("=>");
    if (arrow == std::string_view::npos) return;
    for (std::string_view word : Split(text_.substr(arrow + 2), '.')) form_.implied.push_back(Word(word));
    text_ = Trim(text_.substr(0, arrow));
  }

  void ReadOpcode(std::string_view opcode) {
    size_t at = std::min(opcode.find_first_of(".{"), opcode.size());
    form_.base = std::string(opcode.substr(0, at));
    uint8_t links = 0;
    while (at < opcode.size()) {
      bool optional = opcode[at] == '{';
      size_t end =
          optional ? opcode.find('}', at) : std::min(opcode.find_first_of(".{", at + 1), opcode.size());
      CHECK(end != std::string_view::npos, form_.text);
      std::vector<std::string_view> words = Split(opcode.substr(at + optional, end - at - optional), '.');
      uint8_t link = words.size() > 1 ? ++links : 0;
      for (std::string_view word : words) AddElement(word, optional, link);
      at = end + optional;
    }
  }

  const std::vector<std::string>* FindGroup(std::string_view name) const {
    if (auto it = own_.find(name); it != own_.end()) return &it->second;
    if (auto it = shared_.find(name); it != shared_.end()) return &it->second;
    return nullptr;
  }

  void AddElement(std::string_view name, bool optional, uint8_t link) {
    Element element;
    element.name = std::string(name);
    element.optional = optional;
    element.link = link;
    if (const auto* group = FindGroup(name)) {
      element.words = *group;
    } else {
      element.words = {std::string(name)};
    }
    element.is_type = true;
    for (const std::string& word : element.words) {
      element.hashes.push_back(Word(std::string_view(word)));
      element.types.push_back(FindType(word));
      element.is_type &= element.types.back() != PtxType::kNone;
    }
    form_.elements.push_back(std::move(element));
  }

  void ReadOperands(std::string_view text) {
    bool optional = false;
    while (!text.empty()) {
      if (text.front() == '{' && text.substr(1, 1) == ",") {  // {, c}
        optional = true;
        size_t end = text.find('}');
        AddOperand(Trim(text.substr(2, end - 2)), optional);
        text = Trim(text.substr(end + 1));
      } else {
        // Up to the next comma or "{," outside braces.
        size_t end = 0;
        int depth = 0;
        for (; end < text.size(); ++end) {
          if (depth == 0 && (text[end] == ',' || text.substr(end, 2) == "{,")) break;
          if (text[end] == '{' || text[end] == '[') ++depth;
          if (text[end] == '}' || text[end] == ']') --depth;
        }
        AddOperand(Trim(text.substr(0, end)), false);
        text = text.substr(end);
      }
      if (!text.empty() && text.front() == ',') text = Trim(text.substr(1));
    }
  }

  size_t TypeIndex(std::string_view name) const {
    size_t index = 0;
    for (const Element& element : form_.elements) {
      if (element.name == name && element.is_type) return index;
      index += element.is_type;
    }
    return SIZE_MAX;
  }

  void AddOperand(std::string_view text, bool optional) {
    OperandSpec spec;
    spec.optional = optional;
    if (text == "...") {
      spec.shape = OperandShape::kRest;
      spec.name = "...";
      form_.has_rest = true;
      form_.operands.push_back(std::move(spec));
      return;
    }
    size_t colon = text.find(':');
    std::string_view name = text.substr(0, std::min(colon, text.size()));
    std::string_view type = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    if (!type.empty() && type.front() == '~') {
      spec.wider = true;
      type.remove_prefix(1);
    }
    if (const size_t equals = type.find('='); equals != std::string_view::npos) {
      ReadConstants(type.substr(equals + 1), spec.constants);
      type = type.substr(0, equals);
    }
    ReadName(name, spec);
    size_t types = std::count_if(form_.elements.begin(), form_.elements.end(),
                                 [](const Element& e) { return e.is_type; });
    spec.source = types == 0 ? OperandSpec::Source::kUntyped : OperandSpec::Source::kNth;
    spec.nth = static_cast<uint8_t>(spec.written || types == 0 ? 0 : types - 1);
    ReadType(type, spec);
    if (!optional) ++form_.required;
    form_.operands.push_back(std::move(spec));
  }

  int64_t Number(std::string_view text) const {
    int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    CHECK(read.ec == std::errc() && read.ptr == text.data() + text.size(),
          "instructions.def: not a number in " + form_.text);
    return value;
  }

  // `4|8|16`, `0..15`, `1..`, `%16` or `0..32%16`.
  void ReadConstants(std::string_view text, ConstantRule& rule) const {
    if (const size_t percent = text.find('%'); percent != std::string_view::npos) {
      rule.multiple = Number(text.substr(percent + 1));
      text = text.substr(0, percent);
    }
    if (const size_t dots = text.find(".."); dots != std::string_view::npos) {
      rule.least = Number(text.substr(0, dots));
      if (dots + 2 < text.size()) rule.most = Number(text.substr(dots + 2));
    } else {
      for (std::string_view value : Split(text, '|')) rule.values.push_back(Number(value));
    }
  }

  void ReadName(std::string_view name, OperandSpec& spec) {
    if (name.starts_with("{!}")) {
      spec.shape = OperandShape::kPredicate;
      name.remove_prefix(3);
    } else if (name.starts_with("[")) {
      spec.shape = OperandShape::kMemory;
      name = name.substr(1, name.size() - 2);
    } else if (name.starts_with("{")) {  // {a*4}
      spec.shape = OperandShape::kVectorOf;
      size_t star = name.find('*');
      spec.count = static_cast<uint8_t>(name[star + 1] - '0');
      name = name.substr(1, star - 1);
    } else if (size_t bar = name.find("[|"); bar != std::string_view::npos) {
      spec.shape = OperandShape::kMaybePair;
      name = name.substr(0, bar);
    } else if (size_t bar = name.find('|'); bar != std::string_view::npos) {
      spec.shape = OperandShape::kPair;
      name = name.substr(0, bar);
    }
    spec.name = std::string(name);
    spec.written = spec.shape != OperandShape::kMemory && (name.front() == 'd' || name.front() == 'p');
  }

  void ReadType(std::string_view type, OperandSpec& spec) {
    if (spec.shape == OperandShape::kPredicate) {
      spec.source = OperandSpec::Source::kFixed;
      spec.fixed = PtxType::kPred;
      return;
    }
    if (type.empty()) return;
    if (type == "policy") {
      spec.policy = true;
      type = "b64";
    }
    if (type == "wide") {
      spec.source = OperandSpec::Source::kWide;
    } else if (type == "vec") {
      spec.shape = OperandShape::kVectorOfVec;
    } else if (type == "mov") {
      spec.shape = OperandShape::kMovable;
    } else if (type == "sreg") {
      spec.shape = OperandShape::kReadable;
    } else if (type == "label") {
      spec.shape = OperandShape::kLabel;
    } else if (type == "list") {
      spec.shape = OperandShape::kTargetList;
    } else if (type == "imm") {
      spec.shape = OperandShape::kImmediate;
    } else if (type == "address") {
      spec.shape = OperandShape::kAddress;
    } else if (type == "part") {
      spec.shape = OperandShape::kPart;
    } else if (type == "parts") {
      spec.shape = OperandShape::kParts;
    } else if (type == "words") {
      spec.shape = OperandShape::kWords;
    } else if (type == "any") {
      spec.shape = OperandShape::kAnything;
    } else if (size_t index = TypeIndex(type); index != SIZE_MAX) {
      spec.source = OperandSpec::Source::kNth;
      spec.nth = static_cast<uint8_t>(index);
    } else {
      spec.source = OperandSpec::Source::kFixed;
      spec.fixed = FindType(type);
      CHECK(spec.fixed != PtxType::kNone, "instructions.def: unknown operand type in " + form_.text);
    }
  }

  const Groups& own_;
  const Groups& shared_;
  std::string_view text_;
  Form form_;
};

}  // namespace

Groups ReadDefinitions(std::string_view text) {
  Groups groups;
  for (std::string_view definition : Split(text, ';')) {
    size_t equal = definition.find('=');
    CHECK(equal != std::string_view::npos, std::string(definition));
    auto& words = groups[std::string(Trim(definition.substr(0, equal)))];
    for (std::string_view word : Split(definition.substr(equal + 1), ' ')) words.emplace_back(word);
  }
  return groups;
}

Form ReadForm(RowId row, std::string_view text, const Groups& own, const Groups& shared) {
  return FormReader(row, text, own, shared).Read();
}

}  // namespace ptx2cpu::ptx
