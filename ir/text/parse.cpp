// Parses the textual IR: the module's own lines; function_parser.h reads functions.
#include <fmt/format.h>

#include <charconv>

#include "ir/text/text.h"
#include "ir/text/text_cursor.h"

namespace ptx2cpu::ir {

namespace {

using Kind = Token::Kind;

class ModuleParser {
 public:
  explicit ModuleParser(TextCursor cursor) : c_(std::move(cursor)) {}
  Result<Module> Run();

 private:
  void DeclareNames();
  Status Header();
  Status Source();
  Status VariableLine();
  Status Initial(Variable& variable);
  Status RelocationLine();
  Status SignatureLine();

  TextCursor c_;
  Module m_;
  SymbolNames variables_, functions_;
};

// Calls and relocations may name what is defined further down, so all names are gathered first.
void ModuleParser::DeclareNames() {
  for (size_t i = 0; c_.Peek(i).kind != Kind::kEnd; ++i) {
    const Token& token = c_.Peek(i);
    if (!token.first_on_line || token.kind != Kind::kWord) continue;
    if (token.text == "variable" && c_.Peek(i + 2).kind == Kind::kGlobal) variables_.Add(c_.Peek(i + 2).text);
    size_t name = token.text == "declare" ? i + 2 : i + 1;
    const std::string& word = c_.Peek(name - 1).text;
    if ((word == "kernel" || word == "function") && c_.Peek(name).kind == Kind::kGlobal) {
      functions_.Add(c_.Peek(name).text);
    }
  }
}

Result<Module> ModuleParser::Run() {
  DeclareNames();
  TRY_STATUS(Header());
  while (!c_.Is(Kind::kEnd)) {
    if (!c_.Peek().first_on_line) return c_.FailHere("expected the end of the line");
    if (c_.TakeWord("source")) {
      TRY_STATUS(Source());
    } else if (c_.TakeWord("part")) {
      m_.parts.push_back({"", TRY(c_.Number32("the number of lines before"))});
      m_.parts.back().name = TRY(c_.Expect(Kind::kString, "the part's name in quotes"));
    } else if (c_.TakeWord("variable")) {
      TRY_STATUS(VariableLine());
    } else if (c_.TakeWord("relocation")) {
      TRY_STATUS(RelocationLine());
    } else if (c_.TakeWord("signature")) {
      TRY_STATUS(SignatureLine());
    } else if (c_.Is(Kind::kWord, "declare") || c_.Is(Kind::kWord, "kernel") ||
               c_.Is(Kind::kWord, "function")) {
      m_.functions.push_back(TRY(ParseFunction(c_, variables_, functions_)));
    } else {
      return c_.FailHere(
          "expected part, source, variable, relocation, signature, declare, kernel or function");
    }
  }
  return std::move(m_);
}

Status ModuleParser::Header() {
  if (!c_.TakeWord("module")) return c_.FailHere("expected 'module'");
  m_.name = TRY(c_.Expect(Kind::kString, "the module's name in quotes"));
  while (!c_.AtLineEnd()) {
    if (c_.TakeWord("ptx")) {
      const Token& token = c_.Peek();
      std::string version = TRY(c_.Expect(Kind::kNumber, "the PTX version"));
      const char* end = version.data() + version.size();
      auto major = std::from_chars(version.data(), end, m_.ptx_major);
      bool good = major.ec == std::errc() && major.ptr != end && *major.ptr == '.';
      if (good) {
        auto minor = std::from_chars(major.ptr + 1, end, m_.ptx_minor);
        good = minor.ec == std::errc() && minor.ptr == end;
      }
      if (!good) return c_.FailAt(token, "expected the PTX version as MAJOR.MINOR");
    } else if (c_.TakeWord("sm")) {
      m_.sm = TRY(c_.Number32("the target's number"));
    } else if (c_.TakeWord("static_shared")) {
      m_.static_shared_bytes = TRY(c_.Number32("a size in bytes"));
    } else {
      return c_.FailHere("expected ptx, sm or static_shared");
    }
  }
  return {};
}

Status ModuleParser::Source() {
  const Token& token = c_.Peek();
  uint32_t index = TRY(c_.Index("the file's #number"));
  if (index != m_.source_files.size()) {
    return c_.FailAt(token,
                     fmt::format("files are numbered in order; this one is #{}", m_.source_files.size()));
  }
  m_.source_files.push_back(TRY(c_.Expect(Kind::kString, "the file's name in quotes")));
  return {};
}

Status ModuleParser::VariableLine() {
  Variable v;
  v.space = TRY(c_.Named<Space>("the variable's space"));
  v.name = TRY(c_.Expect(Kind::kGlobal, "the variable's @name"));
  while (!c_.AtLineEnd() && c_.Is(Kind::kWord)) {
    if (c_.TakeWord("internal")) {
      v.linkage = Variable::Linkage::kInternal;
    } else if (c_.TakeWord("visible")) {
      v.linkage = Variable::Linkage::kVisible;
    } else if (c_.TakeWord("extern")) {
      v.linkage = Variable::Linkage::kExtern;
    } else if (c_.TakeWord("weak")) {
      v.linkage = Variable::Linkage::kWeak;
    } else if (c_.TakeWord("common")) {
      v.linkage = Variable::Linkage::kCommon;
    } else if (c_.TakeWord("managed")) {
      v.is_managed = true;
    } else if (c_.TakeWord("align")) {
      v.align = TRY(c_.Number32("an alignment in bytes"));
    } else if (c_.TakeWord("size")) {
      v.size = TRY(c_.Number("a size in bytes"));
    } else if (c_.TakeWord("offset")) {
      v.shared_offset = TRY(c_.Number32("an offset in bytes"));
    } else {
      return c_.FailHere("expected a linkage, managed, align, size or offset");
    }
  }
  if (!c_.AtLineEnd() && c_.TakeMark("=")) TRY_STATUS(Initial(v));
  TRY_STATUS(c_.Positions(v.at));
  m_.variables.push_back(std::move(v));
  return {};
}

// One or more strings of hexadecimal digits; they may be on lines of their own.
Status ModuleParser::Initial(Variable& v) {
  if (!c_.Is(Kind::kString))
    return c_.FailHere("expected the initial bytes as a string of hexadecimal digits");
  while (c_.Is(Kind::kString)) {
    const std::string& text = c_.Peek().text;
    if (text.size() % 2 != 0) return c_.FailHere("expected an even number of hexadecimal digits");
    for (size_t i = 0; i < text.size(); i += 2) {
      uint8_t byte = 0;
      auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
      if (error != std::errc() || end != text.data() + i + 2)
        return c_.FailHere("expected hexadecimal digits");
      v.initial.push_back(byte);
    }
    c_.Take();
  }
  return {};
}

Status ModuleParser::RelocationLine() {
  if (m_.variables.empty())
    return c_.FailHere("a relocation belongs to the variable before it, but no variable precedes it");
  Variable::Relocation r;
  r.offset = TRY(c_.Number32("the relocation's offset"));
  bool named = false;
  while (!c_.AtLineEnd()) {
    if (c_.TakeWord("size")) {
      r.size = TRY(c_.Number32("a size in bytes"));
    } else if (c_.TakeWord("shift")) {
      r.shift = TRY(c_.Number32("a shift in bits"));
    } else if (c_.TakeWord("addend")) {
      r.addend = static_cast<int64_t>(TRY(c_.Number("an addend")));
    } else if (c_.TakeWord("variable")) {
      r.index = TRY(variables_.Resolve(c_, "variable"));
      named = true;
    } else if (c_.TakeWord("function")) {
      r.is_function = true;
      r.index = TRY(functions_.Resolve(c_, "function"));
      named = true;
    } else {
      return c_.FailHere("expected size, shift, variable, function or addend");
    }
  }
  if (!named) return c_.FailHere("expected 'variable @name' or 'function @name' in the relocation");
  m_.variables.back().relocations.push_back(r);
  return {};
}

Status ModuleParser::SignatureLine() {
  const Token& token = c_.Peek();
  uint32_t index = TRY(c_.Index("the signature's #number"));
  if (index != m_.signatures.size()) {
    return c_.FailAt(token,
                     fmt::format("signatures are numbered in order; this one is #{}", m_.signatures.size()));
  }
  Signature signature;
  signature.params = TRY(c_.Params());
  if (!c_.AtLineEnd() && c_.TakeMark("->")) signature.returns = TRY(c_.Params());
  m_.signatures.push_back(std::move(signature));
  return {};
}

}  // namespace

Result<Module> Parse(std::string_view text, std::string_view name) {
  std::vector<Token> tokens = TRY(LexText(text, name));
  return ModuleParser(TextCursor(text, name, std::move(tokens))).Run();
}

}  // namespace ptx2cpu::ir
