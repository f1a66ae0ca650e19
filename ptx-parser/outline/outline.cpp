#include "ptx-parser/outline/outline.h"

#include <algorithm>
#include <array>

namespace ptx2cpu::ptx {

namespace {

constexpr bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%';
}
constexpr bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Bytes inside a body that mean something to the walk.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (const char c : {'{', '}', '"', '/', '\n', '.'}) special[static_cast<unsigned char>(c)] = true;
  return special;
}();

class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  // False: not understood.
  bool Walk(std::vector<OutlineItem>& items) {
    while (true) {
      if (!SkipBlanks()) return false;
      if (AtEnd()) return true;
      if (text_[at_] != '.') return false;
      OutlineItem item;
      item.line = line_;
      item.column = static_cast<uint32_t>(at_ - line_begin_ + 1);
      const size_t begin = at_;
      if (!Item(item)) return false;
      item.text = text_.substr(begin, at_ - begin);
      items.push_back(std::move(item));
    }
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Next(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void NewLine() {
    ++line_;
    line_begin_ = ++at_;
  }

  // Blanks and comments. False: a comment without end.
  bool SkipBlanks() {
    while (!AtEnd()) {
      if (text_[at_] == '\n') {
        NewLine();
      } else if (IsBlank(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '/' && (Next(1) == '/' || Next(1) == '*')) {
        if (!SkipComment()) return false;
      } else if (text_[at_] == '@' && Next(1) == '@') {  // debug data of PTX 1
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return true;
      }
    }
    return true;
  }

  bool SkipComment() {
    if (Next(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    at_ += 2;
    while (!AtEnd() && !(text_[at_] == '*' && Next(1) == '/'))
      text_[at_] == '\n' ? NewLine() : static_cast<void>(++at_);
    if (AtEnd()) return false;
    at_ += 2;
    return true;
  }

  bool SkipString() {
    const size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') return false;
    at_ = end + 1;
    return true;
  }

  std::string_view Word() {
    const size_t begin = at_;
    while (!AtEnd() && (IsNameByte(text_[at_]) || text_[at_] == '.')) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool Item(OutlineItem& item) {
    const size_t begin = at_;
    const std::string_view first = Word();
    if (first == ".version" || first == ".target" || first == ".address_size" || first == ".file")
      return HeaderDirective();
    if (first == ".section") {
      item.kind = OutlineItem::Kind::kSection;
      at_ = std::min(text_.find('{', at_), text_.size());
      return !AtEnd() && Braces(item);
    }
    if (first == ".pragma" || first == ".alias") return Statement(item, first == ".alias");
    at_ = begin;
    return Declaration(item);
  }

  // Words up to the next one that begins with a point.
  bool HeaderDirective() {
    for (bool comma = false;;) {
      if (!SkipBlanks()) return false;
      if (AtEnd() || (text_[at_] == '.' && !comma)) return true;
      comma = text_[at_] == ',';
      if (text_[at_] == '"') {
        if (!SkipString()) return false;
      } else if (IsNameByte(text_[at_])) {
        Word();
      } else if (comma) {
        ++at_;
      } else {
        return false;
      }
    }
  }

  bool Statement(OutlineItem& item, bool names) {
    while (SkipBlanks() && !AtEnd()) {
      if (text_[at_] == ';') return ++at_, true;
      if (text_[at_] == '"') {
        if (!SkipString()) return false;
      } else if (IsNameByte(text_[at_])) {
        const std::string_view word = Word();
        if (names) item.names.push_back(word);
      } else if (text_[at_] == ',') {
        ++at_;
      } else {
        return false;
      }
    }
    return false;
  }

  // Words that begin an item. A prototype of a .func may end before one, without a semicolon.
  static bool BeginsItem(std::string_view word) {
    constexpr std::string_view kWords[] = {".visible", ".extern", ".weak",   ".common", ".func",  ".entry",
                                           ".global",  ".const",  ".shared", ".tex",    ".local", ".reg",
                                           ".pragma",  ".file",   ".alias",  ".section"};
    return std::ranges::find(kWords, word) != std::end(kWords);
  }

  // A variable or a function: until ';' or the end of a body.
  bool Declaration(OutlineItem& item) {
    bool is_function = false, wants_name = true;
    int depth = 0;
    while (SkipBlanks() && !AtEnd()) {
      const char c = text_[at_];
      if (c == '.' || IsNameByte(c)) {
        const size_t begin = at_;
        const std::string_view word = Word();
        if (is_function && !item.is_entry && depth == 0 && !item.names.empty() && BeginsItem(word)) {
          at_ = begin;
          item.kind = OutlineItem::Kind::kPrototype;
          return true;
        }
        if (word == ".entry" || word == ".func") is_function = true;
        if (word == ".entry") item.is_entry = true;
        const bool is_name = word[0] != '.' && !IsDigit(word[0]);
        if (is_name && depth == 0 && wants_name) {
          if (word[0] == '%') return false;  // bodies are not searched for such names: most are registers
          item.names.push_back(word);
          wants_name = false;
        }
        continue;
      }
      if (c == '{' && is_function && depth == 0) {
        item.kind = OutlineItem::Kind::kFunction;
        return item.names.size() == 1 && Braces(item);
      }
      if (c == '<') return false;  // x<100>: names that do not occur in the text
      if (c == '"' && !SkipString()) return false;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (c == '=') wants_name = false;
      if (c == ',' && depth == 0 && !is_function) wants_name = true;
      if (c != '"') ++at_;
      if (c == ';' && depth == 0) {
        item.kind = is_function ? OutlineItem::Kind::kPrototype : OutlineItem::Kind::kVariable;
        return !item.names.empty();
      }
      if (depth < 0) return false;
    }
    return false;
  }

  // From '{' to after its '}'.
  bool Braces(OutlineItem& item) {
    for (int depth = 0; !AtEnd();) {
      const char c = text_[at_];
      if (!kSpecial[static_cast<unsigned char>(c)]) {
        ++at_;
        continue;
      }
      if (c == '\n') {
        NewLine();
      } else if (c == '"') {
        if (!SkipString()) return false;
      } else if (c == '/' && (Next(1) == '/' || Next(1) == '*')) {
        if (!SkipComment()) return false;
      } else {
        if (c == '{') ++depth;
        if (c == '}') --depth;
        if (c == '.' && BeginsVariable()) item.may_hold_variables = true;
        ++at_;
        if (depth == 0) return true;
      }
    }
    return false;
  }

  bool BeginsVariable() const {
    const char before = text_[at_ - 1];
    if (!IsBlank(before) && before != ';' && before != '{' && before != '}' && before != '/') return false;
    return text_.substr(at_, 7) == ".global" || text_.substr(at_, 6) == ".const";
  }

  std::string_view text_;
  size_t at_ = 0, line_begin_ = 0;
  uint32_t line_ = 1;
};

// Calls `found` with each word of a text that may be a name of the module: neither a register nor part of a
// directive.
template <typename Found>
void ForEachName(std::string_view text, const Found& found) {
  for (size_t at = 0; at < text.size();) {
    if (!IsNameByte(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && IsNameByte(text[at])) ++at;
    if (text[begin] == '%' || IsDigit(text[begin]) || (begin != 0 && text[begin - 1] == '.')) continue;
    found(text.substr(begin, at - begin));
  }
}

// Whether a call, whose operands follow, names more than the function and its arguments: (returns), register,
// (arguments), prototype. One without end is treated as it.
bool IsIndirectCall(std::string_view operands) {
  constexpr size_t kLongest = 1 << 16;
  const size_t end = operands.substr(0, kLongest).find(';');
  if (end == std::string_view::npos) return true;
  int depth = 0, named = 0;
  bool inside = false;
  for (const char c : operands.substr(0, end)) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && IsNameByte(c) && !inside) {
      inside = true;
      ++named;
    }
    if (c == ',') inside = false;
  }
  return named > 1;
}

}  // namespace

std::optional<Outline> Outline::Of(std::string_view text) {
  Outline outline;
  if (!Walker(text.substr(0, text.find('\0'))).Walk(outline.items_)) return std::nullopt;
  for (uint32_t i = 0; i < outline.items_.size(); ++i) {
    for (const std::string_view name : outline.items_[i].names) outline.by_name_[name].push_back(i);
  }
  return outline;
}

std::optional<uint32_t> Outline::KernelItem(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  for (const uint32_t i : found->second) {
    if (items_[i].kind == OutlineItem::Kind::kFunction && items_[i].is_entry) return i;
  }
  return std::nullopt;
}

std::vector<uint32_t> Outline::Close(std::vector<uint32_t> roots) const {
  std::vector<bool> needed(items_.size());
  for (uint32_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind == OutlineItem::Kind::kDirective && items_[i].names.empty()) needed[i] = true;
  }
  for (const uint32_t root : roots) needed[root] = true;
  bool indirect = false;
  while (!roots.empty()) {
    const uint32_t item = roots.back();
    roots.pop_back();
    const std::string_view text = items_[item].text;
    ForEachName(text, [&](std::string_view name) {
      if (name == "call" && items_[item].kind == OutlineItem::Kind::kFunction) {
        std::string_view operands = text.substr(static_cast<size_t>(name.data() + name.size() - text.data()));
        operands.remove_prefix(std::min(operands.find_first_of(" \t\r\n("), operands.size()));  // .uni
        indirect |= IsIndirectCall(operands);
      }
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) return;
      for (const uint32_t other : found->second) {
        if (needed[other]) continue;
        needed[other] = true;
        roots.push_back(other);
      }
    });
  }
  std::vector<uint32_t> items;
  for (uint32_t i = 0; i < items_.size(); ++i) {
    if (needed[i] || indirect) items.push_back(i);
  }
  return items;
}

std::vector<uint32_t> Outline::Reach(std::string_view kernel) const {
  const auto item = KernelItem(kernel);
  if (!item) return {};
  return Close({*item});
}

std::vector<uint32_t> Outline::ReachOfVariables() const {
  std::vector<uint32_t> roots;
  for (uint32_t i = 0; i < items_.size(); ++i) {
    if (items_[i].kind == OutlineItem::Kind::kVariable || items_[i].may_hold_variables) roots.push_back(i);
  }
  return Close(std::move(roots));
}

std::string Outline::TextOf(const std::vector<uint32_t>& items) const {
  std::string text;
  uint32_t line = 1, column = 1;
  for (const uint32_t number : items) {
    const OutlineItem& item = items_[number];
    if (item.line > line) {
      text.append(item.line - line, '\n');
      line = item.line;
      column = 1;
    }
    if (item.column > column) text.append(item.column - column, ' ');
    text += item.text;
    line += static_cast<uint32_t>(std::ranges::count(item.text, '\n'));
    const size_t last = item.text.rfind('\n');
    column = last == std::string_view::npos ? item.column + static_cast<uint32_t>(item.text.size())
                                            : static_cast<uint32_t>(item.text.size() - last);
  }
  text += '\n';
  return text;
}

}  // namespace ptx2cpu::ptx
