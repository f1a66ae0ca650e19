// Functions of the textual IR: header, locals, slots, resume points, blocks; which value or block a name is.
#include <fmt/format.h>

#include <algorithm>

#include "ir/text/function_parser.h"

namespace ptx2cpu::ir {

using Kind = Token::Kind;

Result<Function> FunctionParser::Run() {
  TRY_STATUS(Header());
  bool has_body = c_.TakeMark("{");
  TRY_STATUS(c_.Positions(f_.at));
  if (!has_body && !f_.is_declaration) return c_.FailHere("expected '{' or a word of the function's header");
  if (has_body) TRY_STATUS(Body());
  TRY_STATUS(Finish());
  return std::move(f_);
}

Status FunctionParser::Header() {
  f_.is_declaration = c_.TakeWord("declare");
  f_.is_kernel = c_.TakeWord("kernel");
  if (!f_.is_kernel && !c_.TakeWord("function")) return c_.FailHere("expected 'kernel' or 'function'");
  f_.name = TRY(c_.Expect(Kind::kGlobal, "the function's @name"));
  f_.params = TRY(c_.Params());
  if (c_.TakeMark("->")) f_.returns = TRY(c_.Params());
  while (TRY(HeaderItem())) {
  }
  uint64_t end = 0;
  for (const Param& p : f_.params) end = std::max(end, uint64_t{p.offset} + p.size);
  f_.param_bytes = param_bytes_.value_or(f_.is_kernel ? static_cast<uint32_t>(end) : 0);
  return {};
}

Result<bool> FunctionParser::HeaderItem() {
  if (c_.AtLineEnd()) return false;
  if (c_.TakeWord("phase")) {
    for (Phase phase : {Phase::kSimt, Phase::kSplit, Phase::kCollapsed}) {
      if (!c_.TakeWord(ir::Name(phase))) continue;
      f_.phase = phase;
      return true;
    }
    return c_.FailHere("expected simt, split or collapsed");
  }
  if (c_.TakeWord("noreturn")) return f_.is_noreturn = true;
  if (c_.TakeWord("indirect_target")) return f_.is_indirect_target = true;
  if (c_.TakeWord("early_exit")) return f_.has_early_exit = true;
  if (c_.TakeWord("flat")) return f_.is_flat = true;
  if (c_.TakeWord("param_bytes")) {
    param_bytes_ = TRY(c_.Number32("a size in bytes"));
  } else if (c_.TakeWord("resumes")) {
    for (Resumes resumes : {Resumes::kBlocks, Resumes::kWarps, Resumes::kLanes}) {
      if (!c_.TakeWord(ir::Name(resumes))) continue;
      f_.resumes = resumes;
      return true;
    }
    return c_.FailHere("expected blocks, warps or lanes");
  } else if (c_.TakeWord("parked")) {
    f_.parked_slot = TRY(c_.Index("the slot's #index"));
  } else if (c_.TakeWord("local_bytes")) {
    f_.local_bytes = TRY(c_.Number32("a size in bytes"));
  } else if (c_.TakeWord("max_threads")) {
    TRY_STATUS(Triple(f_.max_threads));
  } else if (c_.TakeWord("required_threads")) {
    TRY_STATUS(Triple(f_.required_threads));
  } else if (c_.TakeWord("required_cluster")) {
    TRY_STATUS(Triple(f_.required_cluster));
  } else if (c_.TakeWord("entry")) {
    if (!c_.Is(Kind::kBlock)) return c_.FailHere("expected the entry's ^block");
    entry_ = c_.Take();
  } else {
    return false;
  }
  return true;
}

Status FunctionParser::Triple(uint32_t (&values)[3]) {
  for (uint32_t& value : values) value = TRY(c_.Number32("three numbers"));
  return {};
}

// Blocks get their ids in the order of the text, so edges to later blocks need them beforehand.
Status FunctionParser::DeclareBlocks() {
  for (size_t ahead = 0; c_.Peek(ahead).kind != Kind::kEnd; ++ahead) {
    const Token& token = c_.Peek(ahead);
    if (!token.first_on_line) continue;
    if (token.kind == Kind::kMark && token.text == "}") break;
    if (token.kind != Kind::kBlock) continue;
    if (!blocks_.emplace(token.text, AddBlock(f_)).second) {
      return c_.FailAt(token, fmt::format("the block ^{} is defined twice", token.text));
    }
  }
  return {};
}

Status FunctionParser::Body() {
  TRY_STATUS(DeclareBlocks());
  for (;;) {
    if (c_.Is(Kind::kEnd) || !c_.Peek().first_on_line) {
      return c_.FailHere("expected a new line with an instruction, a ^block or '}'");
    }
    if (c_.TakeMark("}")) return {};
    if (c_.Is(Kind::kBlock)) {
      TRY_STATUS(BlockHeader());
    } else if (c_.TakeWord("local")) {
      TRY_STATUS(Local());
    } else if (c_.TakeWord("slot")) {
      TRY_STATUS(SlotLine());
    } else if (c_.TakeWord("point")) {
      TRY_STATUS(PointLine());
    } else {
      TRY_STATUS(Instruction());
    }
  }
}

Status FunctionParser::Local() {
  LocalVariable local;
  local.name = TRY(c_.Expect(Kind::kGlobal, "the variable's @name"));
  while (!c_.AtLineEnd()) {
    if (c_.TakeWord("size")) {
      local.size = TRY(c_.Number32("a size in bytes"));
    } else if (c_.TakeWord("align")) {
      local.align = TRY(c_.Number32("an alignment in bytes"));
    } else if (c_.TakeWord("offset")) {
      local.offset = TRY(c_.Number32("an offset in bytes"));
    } else {
      return c_.FailHere("expected size, align or offset");
    }
  }
  locals_.Add(local.name);
  f_.locals.push_back(std::move(local));
  return {};
}

Status FunctionParser::SlotLine() {
  const Token& token = c_.Peek();
  uint32_t index = TRY(c_.Index("the slot's #index"));
  if (index != f_.slots.size()) {
    return c_.FailAt(token, fmt::format("slots are numbered in order; this one is #{}", f_.slots.size()));
  }
  Slot slot;
  slot.type = TRY(c_.TypeWord());
  for (Level level : {Level::kLane, Level::kWarp, Level::kBlock}) {
    if (!c_.TakeWord(ir::Name(level))) continue;
    slot.shape = level;
    f_.slots.push_back(slot);
    return {};
  }
  return c_.FailHere("expected the slot's shape: lane, warp or block");
}

Status FunctionParser::PointLine() {
  const Token& token = c_.Peek();
  uint32_t number = TRY(c_.Number32("the resume point's number"));
  if (number != f_.resume_points.size()) {
    return c_.FailAt(
        token, fmt::format("resume points are numbered in order; this one is {}", f_.resume_points.size()));
  }
  ResumePoint point;
  const Token name = c_.Peek();
  std::optional<Opcode> op = ParseOpcode(name.text);
  if (!op.has_value()) return c_.FailAt(name, "expected the operation that is waited at, or undef");
  c_.Take();
  point.op = *op;
  if (c_.TakeWord("class")) point.collective = TRY(c_.Number32("the collective's class"));
  for (Flag flag : {kLegacy, kAligned}) {
    if (c_.TakeWord(FlagName(flag))) point.flags |= flag;
  }
  TRY_STATUS(c_.Positions(point.at));
  f_.resume_points.push_back(point);
  return {};
}

Status FunctionParser::BlockHeader() {
  block_ = TRY(BlockNamed());
  if (c_.TakeMark("(")) {
    while (!c_.TakeMark(")")) {
      uint32_t number = static_cast<uint32_t>(f_.block(block_).params.size());
      if (number != 0) TRY_STATUS(c_.ExpectMark(","));
      if (!c_.Is(Kind::kValue)) return c_.FailHere("expected a parameter's %name");
      const Token token = c_.Take();
      TRY_STATUS(c_.ExpectMark(":"));
      Type type = TRY(c_.TypeWord());
      ValueId value = TRY(Define(token, type, InstId{}, number));
      f_.block(block_).params.push_back(value);
    }
  }
  for (Level level : {Level::kLane, Level::kWarp, Level::kBlock}) {
    if (c_.TakeWord(ir::Name(level))) f_.block(block_).level = level;
  }
  if (c_.Is(Kind::kString)) f_.block(block_).label = c_.Take().text;
  return c_.ExpectMark(":");
}

ValueId FunctionParser::Use(const Token& token) {
  auto [entry, is_new] = values_.emplace(token.text, ValueId{});
  if (is_new) {
    entry->second = AddValue(f_, Type::kVoid, InstId{}, BlockId{}, 0);
    defined_.push_back(false);
    first_use_.push_back(token);
  }
  return entry->second;
}

Result<ValueId> FunctionParser::Define(const Token& token, Type type, InstId def, uint32_t number) {
  ValueId value = Use(token);
  if (defined_[value.index])
    return c_.FailAt(token, fmt::format("the value %{} is defined twice", token.text));
  defined_[value.index] = true;
  f_.values[value.index] = {type, def, block_, number};
  return value;
}

Result<BlockId> FunctionParser::BlockNamed() {
  const Token& token = c_.Peek();
  auto found = blocks_.find(token.text);
  if (found == blocks_.end()) return c_.FailAt(token, fmt::format("no block is named ^{}", token.text));
  c_.Take();
  return found->second;
}

Status FunctionParser::Finish() {
  for (size_t i = 0; i < defined_.size(); ++i) {
    if (!defined_[i]) {
      return c_.FailAt(first_use_[i], fmt::format("the value %{} is never defined", first_use_[i].text));
    }
  }
  if (entry_) {
    auto found = blocks_.find(entry_->text);
    if (found == blocks_.end()) return c_.FailAt(*entry_, fmt::format("no block is named ^{}", entry_->text));
    f_.entry = found->second;
  } else if (!f_.blocks.empty()) {
    f_.entry = BlockId{0};
  }
  return {};
}

Result<Function> ParseFunction(TextCursor& cursor, const SymbolNames& variables,
                               const SymbolNames& functions) {
  return FunctionParser(cursor, variables, functions).Run();
}

}  // namespace ptx2cpu::ir
