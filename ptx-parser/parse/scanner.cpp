#include "ptx-parser/parse/scanner.h"

#include <array>
#include <cstring>

#include "ptx-parser/parse/byte_classes.h"

namespace ptx2cpu::ptx {
namespace {

// Directive words hash into a table without collision chains worth speaking of: about 45 words, 256 slots.
constexpr uint32_t kKeywordSlots = 256;
constexpr uint32_t KeywordHash(std::string_view word) {
  uint32_t hash = static_cast<uint32_t>(word.size());
  for (size_t i = 1; i < word.size(); ++i) hash = hash * 31 + static_cast<uint8_t>(word[i]);
  return (hash ^ (hash >> 8)) % kKeywordSlots;
}
constexpr std::array<uint8_t, kKeywordSlots> MakeKeywords() {
  std::array<uint8_t, kKeywordSlots> table{};  // index into kTokenSpellings + 1; 0 is free
  for (size_t i = 0; i < std::size(kTokenSpellings); ++i) {
    if (kTokenSpellings[i].text.size() < 2 || kTokenSpellings[i].text[0] != '.') continue;
    uint32_t slot = KeywordHash(kTokenSpellings[i].text);
    while (table[slot] != 0) slot = (slot + 1) % kKeywordSlots;
    table[slot] = static_cast<uint8_t>(i + 1);
  }
  return table;
}
constexpr std::array<uint8_t, kKeywordSlots> kKeywords = MakeKeywords();
constexpr size_t LongestKeyword() {
  size_t longest = 0;
  for (const TokenSpelling& s : kTokenSpellings) longest = s.text.size() > longest ? s.text.size() : longest;
  return longest;
}
constexpr size_t kLongestKeyword = LongestKeyword();

TokenKind KeywordOrModifier(std::string_view word) {
  if (word.size() > kLongestKeyword) return TokenKind::kModifier;
  for (uint32_t slot = KeywordHash(word); kKeywords[slot] != 0; slot = (slot + 1) % kKeywordSlots) {
    const TokenSpelling& spelling = kTokenSpellings[kKeywords[slot] - 1];
    if (spelling.text == word) return spelling.kind;
  }
  return TokenKind::kModifier;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text)
      : begin_(text.data()), end_(text.data() + text.size()), at_(begin_), line_start_(begin_) {
    out_.tokens.reserve(text.size() / 3 + 16);
  }

  TokenArray Run() {
    while (SkipSpace()) ScanToken();
    Emit(TokenKind::kEnd, end_, end_);
    return std::move(out_);
  }

 private:
  char Peek(const char* p) const { return p < end_ ? *p : '\0'; }

  void Emit(TokenKind kind, const char* from, const char* to) {
    const size_t column = static_cast<size_t>(from - line_start_) + 1;
    Token token;
    token.offset = static_cast<uint32_t>(from - begin_);
    token.length = static_cast<uint32_t>(to - from);
    token.line = line_;
    token.kind = kind;
    token.column = static_cast<uint32_t>(column < 0xffffff ? column : 0xffffff);
    out_.tokens.push_back(token);
    at_ = to;
  }

  void NewLine(const char* after) {
    ++line_;
    line_start_ = after;
  }
  void CountLines(const char* from, const char* to) {
    while ((from = static_cast<const char*>(std::memchr(from, '\n', static_cast<size_t>(to - from))))) {
      NewLine(++from);
    }
  }
  const char* LineEnd(const char* p) const {
    const void* found = p < end_ ? std::memchr(p, '\n', static_cast<size_t>(end_ - p)) : nullptr;
    return found ? static_cast<const char*>(found) : end_;
  }

  // The end of the comment at p; p itself if there is none (an unfinished block comment is not a comment).
  const char* CommentEnd(const char* p) {
    if (Peek(p) != '/') return p;
    if (Peek(p + 1) == '/') return LineEnd(p + 2);
    if (Peek(p + 1) != '*' || endless_comment_) return p;
    for (const char* q = p + 2; q < end_;) {
      q = static_cast<const char*>(std::memchr(q, '*', static_cast<size_t>(end_ - q)));
      if (!q) break;
      if (Peek(++q) == '/') return q + 1;
    }
    endless_comment_ = true;
    return p;
  }

  // The end of a mark that a preprocessor left, # 5 "a.cu" or #line 5 "a.cu"; p itself if it is none.
  const char* LineMarkEnd(const char* p) const {
    if (Peek(p) != '#') return p;
    const char* q = SkipBlank(p + 1);
    if (std::string_view(q, static_cast<size_t>(end_ - q)).starts_with("line")) q = SkipBlank(q + 4);
    const char* number = q;
    while (q < end_ && Is(*q, kDigit)) ++q;
    const char* name = SkipBlank(q);
    if (q == number || name == q || Peek(name) != '"') return p;
    const char* line_end = LineEnd(name);
    return std::memchr(name + 1, '"', static_cast<size_t>(line_end - name - 1)) != nullptr ? line_end : p;
  }
  const char* SkipBlank(const char* p) const {
    while (p < end_ && Is(*p, kBlank)) ++p;
    return p;
  }

  // To the next token; false at the end.
  bool SkipSpace() {
    while (at_ < end_) {
      const char c = *at_;
      if (c == '\n') {
        NewLine(++at_);
      } else if (Is(c, kBlank)) {
        ++at_;
      } else if (c == '/') {
        const char* to = CommentEnd(at_);
        if (to == at_) return true;
        CountLines(at_, to);
        at_ = to;
      } else if (c == '@' && Peek(at_ + 1) == '@') {
        at_ = LineEnd(at_);
      } else if (c == '#') {
        const char* to = LineMarkEnd(at_);
        if (to == at_) return true;
        at_ = to;
      } else if (c == '\\' && Peek(at_ + 1) == '\n') {
        NewLine(at_ += 2);
      } else if (c == '\\' && Peek(at_ + 1) == '\r' && Peek(at_ + 2) == '\n') {
        NewLine(at_ += 3);
      } else {
        return true;
      }
    }
    return false;
  }

  void ScanToken() {
    const char c = *at_;
    if (Is(c, kStart) || (c == '%' && Is(Peek(at_ + 1), kFollow))) return ScanWord();
    if (Is(c, kDigit)) return ScanNumber();
    if (c == '.') return ScanDotted();
    if (c == '"') return ScanString();
    ScanPunctuation();
  }

  const char* SkipFollow(const char* p) const {
    while (p < end_ && Is(*p, kFollow)) ++p;
    return p;
  }
  // ('::' FOLLOW+)*
  const char* SkipQualifiers(const char* p) const {
    while (Peek(p) == ':' && Peek(p + 1) == ':' && Is(Peek(p + 2), kFollow)) p = SkipFollow(p + 3);
    return p;
  }

  // The end of the [0-9]+ of .const[2], which begins at `from`; else `p`, the end of the word.
  const char* BankEnd(const char* from, const char* p) const {
    if (Peek(p) != '[' || std::string_view(from, static_cast<size_t>(p - from)) != ".const") return p;
    const char* digits = p + 1;
    const char* end = SkipDigits(digits);
    return end != digits && Peek(end) == ']' ? end + 1 : p;
  }

  void ScanWord() {
    const char* p = SkipFollow(at_ + 1);
    for (;;) {
      if (Peek(p) == '.' && Is(Peek(p + 1), kFollow)) {
        p = BankEnd(p, SkipFollow(p + 2));
      } else if (Peek(p) == ':' && Peek(p + 1) == ':' && Is(Peek(p + 2), kFollow)) {
        p = SkipFollow(p + 3);
      } else {
        break;
      }
    }
    Emit(TokenKind::kWord, at_, p);
  }

  // [eE] [+-]? [0-9]+, or nothing.
  const char* SkipExponent(const char* p) const {
    if (Peek(p) != 'e' && Peek(p) != 'E') return p;
    const char* digits = p + 1;
    if (Peek(digits) == '+' || Peek(digits) == '-') ++digits;
    return Is(Peek(digits), kDigit) ? SkipDigits(digits) : p;
  }
  const char* SkipDigits(const char* p) const {
    while (p < end_ && Is(*p, kDigit)) ++p;
    return p;
  }

  void ScanNumber() {
    const char* p = at_ + 1;
    const char second = *at_ == '0' ? Peek(p) : '\0';
    if ((second == 'x' || second == 'X') && Is(Peek(p + 1), kHexDigit)) {
      for (p += 2; p < end_ && Is(*p, kHexDigit);) ++p;
    } else if ((second == 'f' || second == 'F' || second == 'd' || second == 'D') &&
               Is(Peek(p + 1), kHexDigit)) {
      for (p += 2; p < end_ && Is(*p, kHexDigit);) ++p;
      return Emit(TokenKind::kHexFloat, at_, p);
    } else if ((second == 'b' || second == 'B') && (Peek(p + 1) == '0' || Peek(p + 1) == '1')) {
      for (p += 2; Peek(p) == '0' || Peek(p) == '1';) ++p;
    } else {
      p = SkipDigits(p);
      const char* exponent = Peek(p) == '.' ? SkipExponent(SkipDigits(p + 1)) : SkipExponent(p);
      if (exponent != p) return Emit(TokenKind::kFloat, at_, exponent);
    }
    if (Peek(p) == 'U') ++p;
    Emit(TokenKind::kInteger, at_, p);
  }

  void ScanDotted() {
    if (!Is(Peek(at_ + 1), kFollow)) return Emit(TokenKind::kStray, at_, at_ + 1);
    const char* word = SkipFollow(at_ + 2);
    if (Is(at_[1], kDigit)) {
      // .5 and .5e-3 are numbers, .2d and .128x256b are modifiers: the longer one wins, a number if equal.
      const char* number = SkipExponent(SkipDigits(at_ + 1));
      if (number >= SkipQualifiers(word)) return Emit(TokenKind::kFloat, at_, number);
    } else if (word - at_ == 8 && std::memcmp(at_, ".section", 8) == 0) {
      if (const char* end = SectionEnd(word)) {
        const char* from = at_;
        Emit(TokenKind::kSection, from, end);
        return CountLines(from, end);
      }
    }
    word = SkipQualifiers(word);
    const std::string_view text(at_, static_cast<size_t>(word - at_));
    Emit(KeywordOrModifier(text), at_, word);
  }

  // From the end of ".section" to after its closing brace; null if it is not one. A section that does not end
  // is remembered, lest a text of nothing but section heads take quadratic time; so with comments below.
  const char* SectionEnd(const char* p) {
    const char* name = SkipWhite(p);
    const char* brace = name;
    while (brace < end_ && (*brace == '.' || Is(*brace, kFollow))) ++brace;
    if (name == p || brace == name) return nullptr;
    brace = SkipWhite(brace);
    if (Peek(brace) != '{' || brace < endless_section_) return nullptr;
    for (p = brace + 1; p < end_; ++p) {
      if (*p == '}') return p + 1;
      if (*p != '/') continue;
      const char* to = CommentEnd(p);
      if (to != p) p = to - 1;
      if (to == p && Peek(p + 1) == '*') break;
    }
    endless_section_ = p;
    return nullptr;
  }
  const char* SkipWhite(const char* p) const {
    while (p < end_ && (*p == '\n' || Is(*p, kBlank))) ++p;
    return p;
  }

  void ScanString() {
    for (const char* p = at_ + 1; p < end_ && *p != '\n'; ++p) {
      if (*p == '"') return Emit(TokenKind::kString, at_, p + 1);
      if (*p == '\\') {
        if (Peek(p + 1) == '\n' || p + 1 == end_) break;
        ++p;
      }
    }
    Emit(TokenKind::kStray, at_, at_ + 1);
  }

  // (.s64) or (.u64), blanks allowed inside the parentheses; null if it is not one.
  const char* CastEnd(const char* p) const {
    for (++p; Peek(p) == ' ' || Peek(p) == '\t';) ++p;
    if (end_ - p < 5 || p[0] != '.' || (p[1] != 's' && p[1] != 'u') || p[2] != '6' || p[3] != '4')
      return nullptr;
    for (p += 4; Peek(p) == ' ' || Peek(p) == '\t';) ++p;
    return Peek(p) == ')' ? p + 1 : nullptr;
  }

  void Deeper() {
    if (++depth_ > kMaxNesting && out_.too_deep == UINT32_MAX) {
      out_.too_deep = static_cast<uint32_t>(out_.tokens.size());
    }
  }
  void Shallower() {
    if (depth_ > 0) --depth_;
  }

  void ScanPunctuation() {
    switch (*at_) {
      case ',':
        Settle();
        return Emit(TokenKind::kComma, at_, at_ + 1);
      case ';':
        Settle();
        return Emit(TokenKind::kSemicolon, at_, at_ + 1);
      case ':':
        return Emit(TokenKind::kColon, at_, at_ + 1);
      case '(':
        if (const char* end = CastEnd(at_)) return Emit(TokenKind::kCast, at_, end);
        Deeper();
        return Emit(TokenKind::kParenOpen, at_, at_ + 1);
      case ')':
        Shallower();
        return Emit(TokenKind::kParenClose, at_, at_ + 1);
      case '[':
        Deeper();
        return Emit(TokenKind::kBracketOpen, at_, at_ + 1);
      case ']':
        Shallower();
        return Emit(TokenKind::kBracketClose, at_, at_ + 1);
      case '{':
        Settle(), Deeper();
        return Emit(TokenKind::kBraceOpen, at_, at_ + 1);
      case '}':
        Settle(), Shallower();
        return Emit(TokenKind::kBraceClose, at_, at_ + 1);
      case '@':
        return Emit(TokenKind::kAt, at_, at_ + 1);
      case '?':
        ++questions_, Deeper();
        return Emit(TokenKind::kQuestion, at_, at_ + 1);
      default:
        return ScanOperator();
    }
  }
  void ScanOperator() {
    const char next = Peek(at_ + 1);
    switch (*at_) {
      case '+':
        return Emit(TokenKind::kPlus, at_, at_ + 1);
      case '-':
        return Emit(TokenKind::kMinus, at_, at_ + 1);
      case '*':
        return Emit(TokenKind::kStar, at_, at_ + 1);
      case '/':
        return Emit(TokenKind::kSlash, at_, at_ + 1);
      case '%':
        return Emit(TokenKind::kPercent, at_, at_ + 1);
      case '~':
        return Emit(TokenKind::kTilde, at_, at_ + 1);
      case '^':
        return Emit(TokenKind::kXor, at_, at_ + 1);
      case '!':
        return Either(next == '=', TokenKind::kNotEqual, TokenKind::kNot);
      case '=':
        return Either(next == '=', TokenKind::kEqual, TokenKind::kAssign);
      case '&':
        return Either(next == '&', TokenKind::kAndAnd, TokenKind::kAnd);
      case '|':
        return Either(next == '|', TokenKind::kOrOr, TokenKind::kOr);
      case '<':
        if (next == '<') return Emit(TokenKind::kShiftLeft, at_, at_ + 2);
        return Either(next == '=', TokenKind::kLessEqual, TokenKind::kLess);
      case '>':
        if (next == '>') return Emit(TokenKind::kShiftRight, at_, at_ + 2);
        return Either(next == '=', TokenKind::kGreaterEqual, TokenKind::kGreater);
      default:
        return Emit(TokenKind::kStray, at_, at_ + 1);
    }
  }
  void Either(bool two, TokenKind long_kind, TokenKind short_kind) {
    Emit(two ? long_kind : short_kind, at_, at_ + (two ? 2 : 1));
  }
  // `?` has no closing token: what one operand opened is over at its comma or semicolon.
  void Settle() {
    depth_ -= questions_ < depth_ ? questions_ : depth_;
    questions_ = 0;
  }

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* line_start_;
  uint32_t line_ = 1;
  uint32_t depth_ = 0;
  uint32_t questions_ = 0;
  bool endless_comment_ = false;
  const char* endless_section_ = nullptr;  // no section that opens before this place ends
  TokenArray out_;
};

}  // namespace

TokenArray Scan(std::string_view text) { return Scanner(text).Run(); }

}  // namespace ptx2cpu::ptx
