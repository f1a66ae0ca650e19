// Instructions of the textual IR: results, mnemonic, attributes, operands, edges, flags.
#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "ir/text/function_parser.h"

namespace ptx2cpu::ir {

using Kind = Token::Kind;

Status FunctionParser::Instruction() {
  if (!block_.valid()) return c_.FailHere("expected a ^block before the first instruction");
  std::vector<ResultName> results;
  while (c_.Is(Kind::kValue)) {
    results.push_back({c_.Take(), {}});
    if (c_.TakeMark(":")) results.back().type = TRY(c_.TypeWord());
    if (!c_.TakeMark(",")) {
      TRY_STATUS(c_.ExpectMark("="));
      break;
    }
    if (!c_.Is(Kind::kValue)) return c_.FailHere("expected a result's %name");
  }
  Inst inst;
  auto op = c_.Is(Kind::kWord) ? ParseOpcode(c_.Peek().text) : std::nullopt;
  if (!op) return c_.FailHere("expected an instruction's mnemonic");
  inst.op = *op;
  c_.Take();
  TRY_STATUS(Attributes(inst));
  TRY_STATUS(OperandsAndEdges(inst));
  TRY_STATUS(Flags(inst));
  TRY_STATUS(c_.Positions(inst.at));

  InstId id{static_cast<uint32_t>(f_.insts.size())};
  inst.block = block_;
  for (const ResultName& result : results) {
    uint32_t number = static_cast<uint32_t>(inst.results.size());
    Type type = result.type.value_or(ResultType(inst, number));
    if (type == Type::kVoid && !result.type) {
      return c_.FailAt(result.token,
                       fmt::format("the row of '{}' does not determine this result's type; write %{}: TYPE",
                                   Info(inst.op).mnemonic, result.token.text));
    }
    inst.results.push_back(TRY(Define(result.token, type, id, number)));
  }
  f_.insts.push_back(std::move(inst));
  f_.block(block_).insts.push_back(id);
  return {};
}

Status FunctionParser::Attributes(Inst& inst) {
  while (!c_.AtLineEnd()) {
    switch (c_.Peek().kind) {
      case Kind::kWord:
        TRY_STATUS(AttributeWord(inst));
        break;
      case Kind::kNumber:
        TRY_STATUS(Bits(inst));
        break;
      case Kind::kGlobal:
        TRY_STATUS(Name(inst));
        break;
      case Kind::kIndex:
        inst.attrs.index = TRY(c_.Index("an index"));
        break;
      case Kind::kEnd:
      case Kind::kString:
      case Kind::kValue:
      case Kind::kBlock:
      case Kind::kMark:
        return {};
    }
  }
  return {};
}

namespace {
// The words of all attributes differ, so each one identifies its attribute.
template <typename Enum>
bool TakeAttribute(std::string_view word, Enum& field) {
  auto value = word == "none" ? std::nullopt : ParseName<Enum>(word);
  if (value) field = *value;
  return value.has_value();
}
}  // namespace

Status FunctionParser::AttributeWord(Inst& inst) {
  if (c_.TakeWord("from")) {
    inst.from = TRY(c_.TypeWord());
  } else if (c_.TakeWord("type")) {
    inst.type = TRY(c_.TypeWord());
  } else if (c_.TakeWord("align")) {
    inst.attrs.align = TRY(c_.Number32("an alignment in bytes"));
  } else if (ParseType(c_.Peek().text)) {
    const OpcodeInfo& info = Info(inst.op);
    bool is_from = info.types == TypeSet::kNoType && info.operands.find('F') != std::string_view::npos;
    (is_from ? inst.from : inst.type) = TRY(c_.TypeWord());
  } else {
    const std::string& word = c_.Peek().text;
    Attrs& a = inst.attrs;
    bool taken = false;
#define ATTRIBUTE(type, member, field, presence) taken = taken || TakeAttribute(word, a.member);
#include "ir/attributes.def"
    if (!taken) {
      return c_.FailHere("expected a type, an attribute or an operand");
    }
    c_.Take();
  }
  return {};
}

// Integers are the bits themselves, cut to the type's width when negative; a decimal point requests a float's
// bits.
Status FunctionParser::Bits(Inst& inst) {
  const std::string& text = c_.Peek().text;
  int width = ir::Bits(inst.type);
  if (text.find("0x") != std::string::npos || text.find_first_of(".eE") == std::string::npos) {
    bool negative = text.starts_with('-');
    inst.attrs.bits = TRY(c_.Number("a number"));
    if (negative && width > 0 && width < 64) inst.attrs.bits &= (uint64_t{1} << width) - 1;
    return {};
  }
  const char* end = text.data() + text.size();
  std::from_chars_result got{text.data(), std::errc::invalid_argument};
  if (inst.type == Type::kF32) {
    float value = 0;
    got = std::from_chars(text.data(), end, value);
    inst.attrs.bits = std::bit_cast<uint32_t>(value);
  } else if (inst.type == Type::kF64) {
    double value = 0;
    got = std::from_chars(text.data(), end, value);
    inst.attrs.bits = std::bit_cast<uint64_t>(value);
  }
  if (got.ec != std::errc() || got.ptr != end) {
    return c_.FailHere("expected the constant's bits (a decimal fraction only for f32 and f64)");
  }
  c_.Take();
  return {};
}

Status FunctionParser::Name(Inst& inst) {
  const uint32_t fields = Info(inst.op).attributes;
  const bool symbol = (fields & kIndexOfVariable) != 0;
  if (symbol && inst.attrs.space == Space::kLocal) {
    inst.attrs.index = TRY(locals_.Resolve(c_, "local variable"));
  } else if (symbol) {
    inst.attrs.index = TRY(variables_.Resolve(c_, "variable"));
  } else if ((fields & kIndexOfFunction) != 0) {
    inst.attrs.index = TRY(functions_.Resolve(c_, "function"));
  } else {
    return c_.FailHere(fmt::format("'{}' takes no name", Info(inst.op).mnemonic));
  }
  return {};
}

Status FunctionParser::Flags(Inst& inst) {
  if (c_.AtLineEnd() || !c_.TakeMark("{")) return {};
  do {
    if (!c_.Is(Kind::kWord)) return c_.FailHere("expected a flag");
    const std::string& word = c_.Peek().text;
    uint32_t bit = 32;
    if (auto flag = ParseFlag(word)) {
      inst.attrs.flags |= *flag;
    } else if (word.starts_with("bit") &&
               std::from_chars(word.data() + 3, word.data() + word.size(), bit).ec == std::errc() &&
               bit < 32) {
      inst.attrs.flags |= 1u << bit;
    } else {
      return c_.FailHere("expected a flag");
    }
    c_.Take();
  } while (c_.TakeMark(","));
  return c_.ExpectMark("}");
}

Status FunctionParser::OperandsAndEdges(Inst& inst) {
  bool first = true;
  while (!c_.AtLineEnd() && (c_.Is(Kind::kValue) || c_.Is(Kind::kBlock) || c_.Is(Kind::kMark, ","))) {
    if (!first) TRY_STATUS(c_.ExpectMark(","));
    first = false;
    if (c_.Is(Kind::kValue) && inst.edges.empty()) {
      inst.operands.push_back(Use(c_.Take()));
      continue;
    }
    if (!c_.Is(Kind::kBlock)) return c_.FailHere("expected an operand's %name or an edge's ^block");
    Edge edge{TRY(BlockNamed()), {}};
    if (c_.TakeMark("(")) {
      do {
        if (!c_.Is(Kind::kValue)) return c_.FailHere("expected an argument's %name");
        edge.args.push_back(Use(c_.Take()));
      } while (c_.TakeMark(","));
      TRY_STATUS(c_.ExpectMark(")"));
    }
    inst.edges.push_back(std::move(edge));
  }
  return {};
}

}  // namespace ptx2cpu::ir
