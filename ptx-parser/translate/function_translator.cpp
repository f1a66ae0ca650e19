#include "ptx-parser/translate/function_translator.h"

#include "ptx-parser/translate/control_graph.h"
#include "ptx-parser/translate/emitter.h"
#include "ptx-parser/translate/kept_registers.h"
#include "ptx-parser/translate/module_frame.h"
#include "ptx-parser/translate/parameters.h"
#include "ptx-parser/translate/reaching_blocks.h"
#include "ptx-parser/translate/rows.h"
#include "ptx-parser/translate/written_registers.h"

namespace ptx2cpu::ptx {

namespace {

using ast::Guard;
using ast::StatementKind;
using ir::BlockId;
using ir::InstId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr size_t kMaxErrors = 20;        // reported in one run
constexpr size_t kMaxSelectedInsts = 6;  // a guarded pure instruction of at most so many becomes a select

class FunctionTranslator {
 public:
  FunctionTranslator(ModuleContext& context, const ast::Function& source)
      : ast_(context.ast), source_(source), context_(context), e_(context, source, f_) {}

  Result<ir::Function> Translate(const TranslateOptions& options) {
    if (options.keeps_registers) kept_.emplace(e_);
    TRY_STATUS(CheckModuleFrame(context_, source_));
    FillHeader();
    if (source_.is_entry) ReserveModuleFrame(ast_, f_);
    if (!source_.has_body) return Declaration();
    TRY_STATUS(MatchAll());
    graph_ = BuildControlGraph(ast_, source_);
    e_.DeclareRegisters(ChooseTypes());
    MakeBlocks();
    FindSources();
    if (e_.error) return Fail(std::move(*e_.error));
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      if (!graph_.blocks[b].reachable) continue;
      TranslateBlock(b);
      if (e_.error) return Fail(std::move(*e_.error));
    }
    e_.ssa.Finish();
    if (options.contract) Contract(f_, e_.unrounded, options.keeps_registers);
    return std::move(f_);
  }

 private:
  void FillHeader() {
    f_.name = std::string(source_.name);
    f_.is_kernel = source_.is_entry;
    f_.is_declaration = !source_.has_body;
    f_.is_noreturn = source_.noreturn;
    f_.at.ptx_line = source_.position.line + context_.line_base;
    for (int i = 0; i < 3; ++i) {
      f_.max_threads[i] = source_.maxntid[i];
      f_.required_threads[i] = source_.reqntid[i];
      f_.required_cluster[i] = source_.reqnctapercluster[i];
    }
  }

  ir::Function Declaration() {
    for (const ast::Variable& v : ast_.Variables(source_.returns)) AppendParams(ast_, v, f_.returns);
    for (const ast::Variable& v : ast_.Variables(source_.parameters)) AppendParams(ast_, v, f_.params);
    return std::move(f_);
  }

  // Matches every instruction, even unreachable ones, so that one run reports all errors.
  Status MatchAll() {
    std::span<const ast::Instruction> instructions = ast_.Instructions(source_);
    matches_.reserve(instructions.size());
    std::optional<Error> first;
    for (const ast::Instruction& instruction : instructions) {
      Result<Match> match = context_.matcher.MatchInstruction(source_, instruction);
      if (match) {
        matches_.push_back(*match);
        continue;
      }
      matches_.emplace_back();
      if (!first) {
        first = std::move(match.error());
      } else {
        first->more.push_back(std::move(match.error()));
        if (first->more.size() + 1 == kMaxErrors) break;
      }
    }
    if (first) return Fail(std::move(*first));
    return {};
  }

  // A register of untyped bits is kept as a float where most instructions that name it treat it as one.
  std::vector<Type> ChooseTypes() {
    std::vector<int> votes(source_.register_count);
    std::vector<Type> float_type(source_.register_count, Type::kVoid);
    for (size_t i = 0; i < matches_.size(); ++i) {
      const ast::Instruction& instruction = ast_.Instructions(source_)[i];
      const Match& match = matches_[i];
      std::span<const ast::Operand> operands = ast_.Operands(instruction);
      for (size_t o = 0; o < match.form->operands.size() && o < match.slots.size(); ++o) {
        if (match.slots[o] == Match::kAbsent) continue;
        const ast::Operand& operand = operands[match.slots[o]];
        if (operand.symbol_kind != ast::SymbolKind::kRegister) continue;
        if (operand.kind == ast::OperandKind::kAddress) {
          --votes[operand.symbol];
          continue;
        }
        PtxType type = TypeOf(match.form->operands[o], *match.modifiers);
        if (type == PtxType::kNone || Info(type).kind == TypeKind::kBits) continue;
        bool is_float = IsFloat(type) && !IsPacked(type);
        votes[operand.symbol] += is_float ? 1 : -1;
        if (is_float) float_type[operand.symbol] = ElementType(type);
      }
    }
    std::vector<Type> types;
    for (const ast::RegisterRange& range : source_.register_ranges) {
      PtxType declared = FindType(ast_.variables[range.variable].type);
      for (uint32_t r = range.first; r < range.first + range.count; ++r) {
        Type type = WholeType(declared);
        bool as_float = votes[r] > 0 && Info(declared).kind == TypeKind::kBits &&
                        ir::Bits(float_type[r]) == Bits(declared);
        types.push_back(as_float ? float_type[r] : type);
      }
    }
    return types;
  }

  void MakeBlocks() {
    heads_.resize(graph_.blocks.size());
    for (size_t b = 0; b < graph_.blocks.size(); ++b) {
      if (!graph_.blocks[b].reachable) continue;
      uint32_t label = graph_.blocks[b].label;
      heads_[b] =
          ir::AddBlock(f_, label == ast::kNone ? std::string() : std::string(ast_.labels[label].name));
      block_of_head_.push_back(static_cast<uint32_t>(b));
    }
    f_.entry = heads_[0];
    e_.params = std::make_unique<ParamStorage>(e_, f_.entry);
    edges_seen_.resize(graph_.blocks.size());
  }

  // -- where registers come from --
  void FindSources() {
    writers_ = WritersOfRegisters(ast_, source_, matches_, graph_);
    reaching_ = ReachingBlocks::Of(graph_, writers_);
    if (!reaching_) return;
    ends_.resize(graph_.blocks.size());
    e_.ssa.UseSources([this](Ssa::Variable variable, BlockId block) { return SourceOf(variable, block); },
                      [this](Ssa::Variable variable) {
                        return variable >= writers_.size() || reaching_->Writes(variable, e_.statement_block);
                      });
  }

  std::optional<Ssa::Source> SourceOf(Ssa::Variable variable, BlockId block) const {
    if (variable >= writers_.size() || block.index >= block_of_head_.size()) return std::nullopt;
    const uint32_t number = block_of_head_[block.index];
    const ReachingBlocks::Source source = reaching_->Find(variable, number);
    if (!source.at_end)
      return source.block == number ? std::nullopt : std::optional(Ssa::Source{heads_[source.block], false});
    if (!ends_[source.block].valid()) return std::nullopt;  // later in the text
    return Ssa::Source{ends_[source.block], true};
  }

  void TranslateBlock(uint32_t number) {
    const StatementBlock& block = graph_.blocks[number];
    e_.SetBlock(heads_[number]);
    if (number == 0) {
      e_.ssa.Seal(heads_[0]);
      e_.b.at = f_.at;
      e_.params->EmitEntry(e_);
      if (UsesStack(matches_)) e_.stack.Begin();
      if (!source_.is_entry) LoadModuleRegisters(e_);
    }
    e_.statement_block = number;
    for (uint32_t s = block.first; s < block.end && !e_.error; ++s)
      TranslateStatement(ast_.Statements(source_)[s]);
    if (e_.error || Terminated()) return;
    if (number + 1 < graph_.blocks.size() && FallsThrough(block)) {
      e_.AddEdges(e_.b.Br(heads_[number + 1]));
      NoteEdges(number + 1);
    } else {
      // The end of the body without ret: PTX lets a kernel or function end there.
      EndOfBody();
    }
  }

  bool FallsThrough(const StatementBlock& block) const {
    return !block.successors.empty() && block.successors.back() == e_.statement_block + 1;
  }

  void EndOfBody() { rows::ret(e_); }

  bool Terminated() const {
    const auto& insts = f_.at_block(e_.b.block).insts;
    return !insts.empty() && ir::IsTerminator(f_.at_inst(insts.back()).op);
  }

  // An edge to a statement block exists; the last expected one seals it.
  void NoteEdges(uint32_t to, uint32_t count = 1) {
    if (reaching_) ends_[e_.statement_block] = e_.b.block;
    edges_seen_[to] += count;
    CHECK(edges_seen_[to] <= graph_.blocks[to].predecessors, "more edges than the control graph has");
    if (edges_seen_[to] == graph_.blocks[to].predecessors) e_.ssa.Seal(heads_[to]);
  }

  void TranslateStatement(const ast::Statement& statement) {
    if (statement.kind == StatementKind::kLoc) {
      const ast::Loc& loc = ast_.locs[statement.index];
      source_file_ = loc.file + context_.file_base;
      source_line_ = loc.line;
    }
    if (statement.kind != StatementKind::kInstruction || Terminated()) return;
    const ast::Instruction& instruction = ast_.instructions[statement.index];
    e_.instruction = &instruction;
    context_.at = instruction.position;
    e_.match = matches_[statement.index - source_.instructions.first];
    e_.b.at = {instruction.position.line + context_.line_base, source_file_, source_line_};
    std::string_view base = ast_.OpcodeOf(instruction).base;
    if (base == "bra") return Branch(instruction);
    if (base == "brx") return BranchIndexed(instruction);
    if (instruction.guard == Guard::kNone) {
      Emit();
    } else {
      EmitGuarded(instruction);
    }
    if (kept_ && !e_.error && !Terminated()) kept_->KeepWritten();
  }

  void Emit() {
    rows::RowFunction function = rows::Find(e_.match.row);
    if (function) return function(e_);
    const ast::Opcode& opcode = ast_.OpcodeOf(*e_.instruction);
    e_.Fail(ErrorCode::kUnsupported, "`" + std::string(opcode.text) + "` is not translated",
            "the row `" + std::string(Info(e_.match.row).name) + "` of the PTX table exists (section " +
                std::string(Info(e_.match.row).section) +
                " of the manual), but has no translation in this version");
  }

  ValueId GuardValue(const ast::Instruction& instruction) {
    ValueId predicate = e_.ReadVariable(instruction.guard_register);
    return instruction.guard == Guard::kIfFalse ? e_.b.Unary(Opcode::kNot, Type::kI1, predicate) : predicate;
  }

  // -- guards --

  // The instruction is written into the current block. If it turned out pure and short, its results are
  // selected; otherwise what it made moves into a block of its own after a branch.
  void EmitGuarded(const ast::Instruction& instruction) {
    ValueId guard = GuardValue(instruction);
    BlockId before = e_.b.block;
    size_t mark = f_.at_block(before).insts.size();
    e_.delaying = true;
    Emit();
    e_.delaying = false;
    std::vector<Emitter::DelayedWrite> writes = std::move(e_.delayed);
    e_.delayed.clear();
    if (e_.error) return;
    if (e_.b.block == before && CheapSince(before, mark)) {
      for (const auto& write : writes) Select(guard, write);
      return;
    }
    Branch(guard, before, mark, writes);
  }

  bool CheapSince(BlockId block, size_t mark) const {
    const auto& insts = f_.at_block(block).insts;
    size_t count = 0;
    for (size_t i = mark; i < insts.size(); ++i) {
      const ir::Inst& inst = f_.at_inst(insts[i]);
      if (ir::Info(inst.op).effect != ir::Effect::kPure) return false;
      count += inst.op != Opcode::kConst && inst.op != Opcode::kBitcast;
    }
    return count <= kMaxSelectedInsts;
  }

  void Select(ValueId guard, const Emitter::DelayedWrite& write) {
    Type type = f_.type_of(write.value);
    ValueId old = e_.b.Bitcast(type, e_.ReadVariable(write.variable));
    e_.ssa.Write(write.variable, e_.b.block, e_.b.Select(guard, write.value, old));
  }

  void Branch(ValueId guard, BlockId before, size_t mark, const std::vector<Emitter::DelayedWrite>& writes) {
    BlockId then = ir::AddBlock(f_), join = ir::AddBlock(f_);
    auto& insts = f_.block(before).insts;
    for (size_t i = mark; i < insts.size(); ++i) {
      f_.inst(insts[i]).block = then;
      for (ValueId result : f_.at_inst(insts[i]).results) f_.values[result.index].block = then;
      f_.block(then).insts.push_back(insts[i]);
    }
    insts.resize(mark);
    BlockId end = e_.b.block == before ? then : e_.b.block;
    e_.SetBlock(before);
    InstId branch = e_.b.CondBr(guard, {then, {}}, {join, {}});
    e_.AddEdges(branch);
    e_.ssa.Seal(then);
    e_.SetBlock(end);
    for (const auto& write : writes) e_.ssa.Write(write.variable, end, write.value);
    if (!Terminated()) e_.AddEdges(e_.b.Br(join));
    e_.ssa.Seal(join);
    std::vector<Ssa::Variable> written;
    for (const auto& write : writes) written.push_back(write.variable);
    e_.ssa.SetDominator(join, before, std::move(written));
    e_.SetBlock(join);
  }

  // -- branches --

  void Branch(const ast::Instruction& instruction) {
    const ast::Operand& target = ast_.Operands(instruction)[0];
    uint32_t to = graph_.block_of_label[target.symbol];
    if (to == ast::kNone) return e_.Fail(ErrorCode::kSyntax, "the label is not of this function");
    if (instruction.guard == Guard::kNone) {
      e_.AddEdges(e_.b.Br(heads_[to]));
      return NoteEdges(to);
    }
    uint32_t next = e_.statement_block + 1;
    if (next >= graph_.blocks.size()) return BranchAtEnd(instruction, to);
    ValueId predicate = e_.ReadVariable(instruction.guard_register);
    ir::Edge yes{heads_[to], {}}, no{heads_[next], {}};
    if (instruction.guard == Guard::kIfFalse) std::swap(yes, no);
    e_.AddEdges(e_.b.CondBr(predicate, std::move(yes), std::move(no), e_.Has("uni") ? ir::kUniform : 0));
    NoteEdges(to);
    NoteEdges(next);
  }

  // @p bra as the last instruction of the body.
  void BranchAtEnd(const ast::Instruction& instruction, uint32_t to) {
    BlockId end = ir::AddBlock(f_);
    ValueId predicate = e_.ReadVariable(instruction.guard_register);
    ir::Edge yes{heads_[to], {}}, no{end, {}};
    if (instruction.guard == Guard::kIfFalse) std::swap(yes, no);
    e_.AddEdges(e_.b.CondBr(predicate, std::move(yes), std::move(no)));
    NoteEdges(to);
    e_.ssa.Seal(end);
    e_.SetBlock(end);
    EndOfBody();
  }

  void BranchIndexed(const ast::Instruction& instruction) {
    std::span<const ast::Operand> operands = ast_.Operands(instruction);
    const ast::Targets& targets = ast_.targets[operands[1].symbol];
    std::vector<ir::Edge> edges;
    std::vector<uint32_t> numbers;
    for (const ast::Operand& target : ast::Module::Slice(ast_.operands, targets.operands)) {
      uint32_t to = graph_.block_of_label[target.symbol];
      if (to == ast::kNone) return e_.Fail(ErrorCode::kSyntax, "a branch target is not of this function");
      numbers.push_back(to);
      edges.push_back({heads_[to], {}});
    }
    if (edges.empty()) return e_.Fail(ErrorCode::kSyntax, "brx.idx without targets");
    if (instruction.guard != Guard::kNone) {
      uint32_t next = e_.statement_block + 1;
      if (next >= graph_.blocks.size())
        return e_.Fail(ErrorCode::kUnsupported, "a guarded brx.idx at the end of a body");
      BlockId taken = ir::AddBlock(f_);
      e_.AddEdges(e_.b.CondBr(GuardValue(instruction), {taken, {}}, {heads_[next], {}}));
      e_.ssa.Seal(taken);
      NoteEdges(next);
      e_.SetBlock(taken);
    }
    ValueId index = e_.Read(0, Type::kI32);
    uint32_t flags = e_.Has("uni") ? ir::kUniform : 0;
    e_.AddEdges(e_.b.Terminate(Opcode::kSwitch, {index}, std::move(edges), {.flags = flags}));
    for (uint32_t to : numbers) NoteEdges(to);
  }

  const ast::Module& ast_;
  const ast::Function& source_;
  ModuleContext& context_;
  ir::Function f_;
  Emitter e_;
  std::vector<Match> matches_;  // by instruction of the function
  ControlGraph graph_;
  std::vector<BlockId> heads_;           // by statement block
  std::vector<BlockId> ends_;            // by statement block, once it is translated: what its edges leave
  std::vector<uint32_t> block_of_head_;  // by block of the IR
  std::vector<std::vector<uint32_t>> writers_;  // by register: statement blocks
  std::optional<ReachingBlocks> reaching_;
  std::optional<KeptRegisters> kept_;
  std::vector<uint32_t> edges_seen_;
  uint32_t source_file_ = 0, source_line_ = 0;
};

}  // namespace

Result<ir::Function> TranslateFunction(ModuleContext& context, uint32_t number,
                                       const TranslateOptions& options) {
  return FunctionTranslator(context, context.ast.functions[number]).Translate(options);
}

}  // namespace ptx2cpu::ptx
