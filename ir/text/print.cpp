// Prints the textual IR. Values and blocks get dense numbers in block order, so the text does not depend on
// how the function came to be; nothing is left out that Parse could not restore. The grammar is described in
// README.md.
#include <fmt/format.h>

#include <iterator>

#include "ir/text/text.h"

namespace ptx2cpu::ir {

namespace {

constexpr uint32_t kNoNumber = ~0u;

struct Numbers {
  std::vector<uint32_t> values, blocks;

  explicit Numbers(const Function& f)
      : values(f.values.size(), kNoNumber), blocks(f.blocks.size(), kNoNumber) {
    uint32_t next_value = 0, next_block = 0;
    auto number = [&](ValueId value) {
      if (value.index < values.size() && values[value.index] == kNoNumber) values[value.index] = next_value++;
    };
    for (size_t i = 0; i < f.blocks.size(); ++i) {
      const Block& block = f.blocks[i];
      if (block.removed) continue;
      blocks[i] = next_block++;
      for (ValueId param : block.params) number(param);
      for (InstId id : block.insts) {
        if (id.index >= f.insts.size()) continue;
        for (ValueId result : f.at_inst(id).results) number(result);
      }
    }
  }
};

bool IsPlainName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                 c == '$' || c == '.';
    if (!plain) return false;
  }
  return true;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string Plain(std::string_view name) { return IsPlainName(name) ? std::string(name) : Quoted(name); }

class Printer {
 public:
  explicit Printer(const Module* module) : module_(module) {}

  void PrintModule();
  void PrintFunction(const Function& f);
  void PrintInst(const Function& f, const Numbers& numbers, const Inst& inst);
  std::string Take() { return std::move(out_); }

 private:
  template <typename... Args>
  void Put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  // A name, followed by "#index" if an earlier item has the same name.
  template <typename Items>
  void PutName(const Items& items, uint32_t index) {
    if (index >= items.size()) return Put("#{}", index);
    Put("@{}", Plain(items[index].name));
    for (uint32_t i = 0; i < index; ++i) {
      if (items[i].name == items[index].name) return Put("#{}", index);
    }
  }
  void PutPosition(const Position& at) {
    if (at.ptx_line == 0 && at.source_file == 0 && at.source_line == 0) return;
    Put(" ;");
    if (at.ptx_line != 0) Put(" ptx {}", at.ptx_line);
    if (at.source_file != 0 || at.source_line != 0) Put(" src {}:{}", at.source_file, at.source_line);
  }
  void PutParams(const std::vector<Param>& params, bool offsets);
  void PutTriple(std::string_view word, const uint32_t (&values)[3]);
  void PutVariable(const Variable& variable);
  void PutHeader(const Function& f, const Numbers& numbers);
  void PutPoint(const ResumePoint& point, size_t number);
  void PutBlock(const Function& f, const Numbers& numbers, BlockId id);
  void PutValue(const Numbers& numbers, ValueId value);
  void PutEdge(const Numbers& numbers, const Edge& edge);
  void PutTypes(const Inst& inst);
  void PutAttrs(const Function& f, const Inst& inst);
  void PutIndex(const Function& f, const Inst& inst);
  void PutFlags(uint32_t flags);

  const Module* module_;
  std::string out_;
};

void Printer::PrintModule() {
  const Module& m = *module_;
  Put("module {} ptx {}.{} sm {}", Quoted(m.name), m.ptx_major, m.ptx_minor, m.sm);
  if (m.static_shared_bytes != 0) Put(" static_shared {}", m.static_shared_bytes);
  Put("\n");
  for (const Module::Part& part : m.parts) Put("part {} {}\n", part.lines_before, Quoted(part.name));
  for (size_t i = 0; i < m.source_files.size(); ++i) Put("source #{} {}\n", i, Quoted(m.source_files[i]));
  for (const Variable& variable : m.variables) PutVariable(variable);
  for (size_t i = 0; i < m.signatures.size(); ++i) {
    Put("signature #{} ", i);
    PutParams(m.signatures[i].params, false);
    if (!m.signatures[i].returns.empty()) {
      Put(" -> ");
      PutParams(m.signatures[i].returns, false);
    }
    Put("\n");
  }
  for (const Function& function : m.functions) {
    Put("\n");
    PrintFunction(function);
  }
}

void Printer::PutVariable(const Variable& v) {
  constexpr std::string_view kLinkages[] = {"internal", "visible", "extern", "weak", "common"};
  Put("variable {} @{}", Name(v.space), Plain(v.name));
  if (v.linkage != Variable::Linkage::kInternal) Put(" {}", kLinkages[static_cast<size_t>(v.linkage)]);
  if (v.is_managed) Put(" managed");
  Put(" align {} size {}", v.align, v.size);
  if (v.space == Space::kShared || v.shared_offset != 0) Put(" offset {}", v.shared_offset);
  constexpr size_t kBytesPerLine = 32;
  for (size_t begin = 0; begin < v.initial.size(); begin += kBytesPerLine) {
    Put("{}\"", begin == 0 ? v.initial.size() <= kBytesPerLine ? " = " : " =\n    " : "\n    ");
    for (size_t i = begin; i < std::min(begin + kBytesPerLine, v.initial.size()); ++i)
      Put("{:02x}", v.initial[i]);
    Put("\"");
  }
  PutPosition(v.at);
  Put("\n");
  for (const Variable::Relocation& r : v.relocations) {
    Put("  relocation {}", r.offset);
    if (r.size != 8) Put(" size {}", r.size);
    if (r.shift != 0) Put(" shift {}", r.shift);
    if (r.is_function) {
      Put(" function ");
      PutName(module_->functions, r.index);
    } else {
      Put(" variable ");
      PutName(module_->variables, r.index);
    }
    if (r.addend != 0) Put(" addend {}", r.addend);
    Put("\n");
  }
}

void Printer::PutParams(const std::vector<Param>& params, bool offsets) {
  Put("(");
  for (size_t i = 0; i < params.size(); ++i) {
    const Param& p = params[i];
    bool aggregate = p.type == Type::kVoid;
    Put("{}{}: {}", i == 0 ? "" : ", ", Plain(p.name), aggregate ? "aggregate" : Name(p.type));
    if (offsets || p.offset != 0) Put(" @{}", p.offset);
    uint32_t natural = static_cast<uint32_t>(Bytes(p.type));  // 0 for an aggregate
    if (p.size != natural) Put(" size {}", p.size);
    if (p.align != std::max(natural, 1u)) Put(" align {}", p.align);
  }
  Put(")");
}

void Printer::PutTriple(std::string_view word, const uint32_t (&values)[3]) {
  if (values[0] != 0 || values[1] != 0 || values[2] != 0) {
    Put(" {} {} {} {}", word, values[0], values[1], values[2]);
  }
}

void Printer::PutHeader(const Function& f, const Numbers& numbers) {
  Put("{}{} @{} ", f.is_declaration ? "declare " : "", f.is_kernel ? "kernel" : "function", Plain(f.name));
  PutParams(f.params, f.is_kernel);
  if (!f.returns.empty()) {
    Put(" -> ");
    PutParams(f.returns, false);
  }
  Put(" phase {}", Name(f.phase));
  if (f.is_noreturn) Put(" noreturn");
  if (f.is_indirect_target) Put(" indirect_target");
  uint64_t end = 0;
  for (const Param& p : f.params) end = std::max(end, uint64_t{p.offset} + p.size);
  if (f.param_bytes != (f.is_kernel ? end : 0)) Put(" param_bytes {}", f.param_bytes);
  if (f.local_bytes != 0) Put(" local_bytes {}", f.local_bytes);
  PutTriple("max_threads", f.max_threads);
  PutTriple("required_threads", f.required_threads);
  PutTriple("required_cluster", f.required_cluster);
  if (f.has_early_exit) Put(" early_exit");
  if (f.is_flat) Put(" flat");
  if (f.resumes != Resumes::kNever) Put(" resumes {}", Name(f.resumes));
  if (f.parked_slot != ~0u) Put(" parked #{}", f.parked_slot);
  if (f.entry.valid() && f.entry.index < f.blocks.size() && numbers.blocks[f.entry.index] != 0) {
    Put(" entry ");
    PutEdge(numbers, Edge{f.entry, {}});
  }
}

void Printer::PrintFunction(const Function& f) {
  Numbers numbers(f);
  PutHeader(f, numbers);
  bool has_body = !f.is_declaration || !f.blocks.empty() || !f.locals.empty() || !f.slots.empty();
  if (has_body) Put(" {{");
  PutPosition(f.at);
  Put("\n");
  if (!has_body) return;
  for (const LocalVariable& local : f.locals) {
    Put("  local @{} size {} align {} offset {}\n", Plain(local.name), local.size, local.align, local.offset);
  }
  for (size_t i = 0; i < f.slots.size(); ++i) {
    Put("  slot #{} {} {}\n", i, Name(f.slots[i].type), Name(f.slots[i].shape));
  }
  for (size_t i = 0; i < f.resume_points.size(); ++i) PutPoint(f.resume_points[i], i);
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    if (!f.blocks[i].removed) PutBlock(f, numbers, BlockId{i});
  }
  Put("}}\n");
}

void Printer::PutPoint(const ResumePoint& point, size_t number) {
  Put("  point {} {}", number, Info(point.op).mnemonic);
  if (point.collective != ResumePoint::kNoClass) Put(" class {}", point.collective);
  for (Flag flag : {kLegacy, kAligned}) {
    if (point.flags & flag) Put(" {}", FlagName(flag));
  }
  PutPosition(point.at);
  Put("\n");
}

void Printer::PutBlock(const Function& f, const Numbers& numbers, BlockId id) {
  const Block& block = f.at_block(id);
  Put("^b{}", numbers.blocks[id.index]);
  for (size_t i = 0; i < block.params.size(); ++i) {
    Put("{}", i == 0 ? "(" : ", ");
    PutValue(numbers, block.params[i]);
    if (block.params[i].index < f.values.size()) Put(": {}", Name(f.type_of(block.params[i])));
  }
  if (!block.params.empty()) Put(")");
  if (f.phase != Phase::kSimt || block.level != Level::kLane) Put(" {}", Name(block.level));
  if (!block.label.empty()) Put(" {}", Quoted(block.label));
  Put(":\n");
  for (InstId inst : block.insts) {
    if (inst.index >= f.insts.size()) continue;
    Put("  ");
    PrintInst(f, numbers, f.at_inst(inst));
    Put("\n");
  }
}

void Printer::PutValue(const Numbers& numbers, ValueId value) {
  if (value.index < numbers.values.size() && numbers.values[value.index] != kNoNumber) {
    Put("%{}", numbers.values[value.index]);
  } else if (value.valid()) {
    Put("%undefined{}", value.index);  // defined in no block: Parse reports it
  } else {
    Put("%invalid");
  }
}

void Printer::PutEdge(const Numbers& numbers, const Edge& edge) {
  if (edge.to.index < numbers.blocks.size() && numbers.blocks[edge.to.index] != kNoNumber) {
    Put("^b{}", numbers.blocks[edge.to.index]);
  } else if (edge.to.valid()) {
    Put("^removed{}", edge.to.index);
  } else {
    Put("^invalid");
  }
  for (size_t i = 0; i < edge.args.size(); ++i) {
    Put("{}", i == 0 ? "(" : ", ");
    PutValue(numbers, edge.args[i]);
  }
  if (!edge.args.empty()) Put(")");
}

// The bare type is T; for rows without T (comparisons) it is F.
void Printer::PutTypes(const Inst& inst) {
  const OpcodeInfo& info = Info(inst.op);
  bool no_type = info.types == TypeSet::kNoType;
  bool bare_from = no_type && info.operands.find('F') != std::string_view::npos;
  if (inst.type != Type::kVoid) Put(" {}{}", no_type ? "type " : "", Name(inst.type));
  if (inst.from != Type::kVoid) Put(" {}{}", bare_from ? "" : "from ", Name(inst.from));
}

void Printer::PutIndex(const Function& f, const Inst& inst) {
  const uint32_t index = inst.attrs.index, fields = Info(inst.op).attributes;
  if ((fields & (kIndexOfVariable | kIndexOfFunction)) != 0) {
    Put(" ");
    const bool local = (fields & kIndexOfVariable) != 0 && inst.attrs.space == Space::kLocal;
    if (local) return PutName(f.locals, index);
    if (module_ == nullptr) return Put("#{}", index);
    if ((fields & kIndexOfVariable) != 0) return PutName(module_->variables, index);
    return PutName(module_->functions, index);
  }
  const bool always = (fields & kIndex & ~kNumberOfRegister) != 0;
  if (index != 0 || always) Put(" #{}", index);
}

void Printer::PutAttrs(const Function& f, const Inst& inst) {
  const Attrs& a = inst.attrs;
  const uint32_t fields = Info(inst.op).attributes;
  auto put = [&](auto value, AttributeField field, Presence presence) {
    const bool written = presence == Presence::kWritten && (fields & field) != 0;
    if (value != decltype(value){} || written) Put(" {}", Name(value));
  };
#define ATTRIBUTE(type, member, field, presence) put(a.member, field, Presence::presence);
#include "ir/attributes.def"
  PutIndex(f, inst);
  if (a.bits != 0 || inst.op == Opcode::kConst) Put(" 0x{:x}", a.bits);
  if (a.align != 0) Put(" align {}", a.align);
}

void Printer::PutFlags(uint32_t flags) {
  if (flags == 0) return;
  std::string_view separator = " {";
  for (uint32_t bit = 0; bit < 32; ++bit) {
    if ((flags >> bit & 1) == 0) continue;
    std::string_view name = FlagName(static_cast<Flag>(1u << bit));
    if (name.empty()) {
      Put("{}bit{}", separator, bit);
    } else {
      Put("{}{}", separator, name);
    }
    separator = ", ";
  }
  Put("}}");
}

void Printer::PrintInst(const Function& f, const Numbers& numbers, const Inst& inst) {
  for (size_t i = 0; i < inst.results.size(); ++i) {
    if (i != 0) Put(", ");
    ValueId result = inst.results[i];
    PutValue(numbers, result);
    // The row determines the type, but not that of a call's results.
    Type type = result.index < f.values.size() ? f.type_of(result) : Type::kVoid;
    if (Info(inst.op).results.empty() || ResultType(inst, static_cast<uint32_t>(i)) != type) {
      Put(": {}", Name(type));
    }
  }
  if (!inst.results.empty()) Put(" = ");
  Put("{}", Info(inst.op).mnemonic);
  PutTypes(inst);
  PutAttrs(f, inst);
  std::string_view separator = " ";
  for (ValueId operand : inst.operands) {
    Put("{}", separator);
    PutValue(numbers, operand);
    separator = ", ";
  }
  for (const Edge& edge : inst.edges) {
    Put("{}", separator);
    PutEdge(numbers, edge);
    separator = ", ";
  }
  PutFlags(inst.attrs.flags);
  PutPosition(inst.at);
}

}  // namespace

std::string Print(const Module& module) {
  Printer printer(&module);
  printer.PrintModule();
  return printer.Take();
}

std::string Print(const Module& module, const Function& function) {
  Printer printer(&module);
  printer.PrintFunction(function);
  return printer.Take();
}

std::string Print(const Function& function, const Inst& inst) {
  Printer printer(nullptr);
  printer.PrintInst(function, Numbers(function), inst);
  return printer.Take();
}

}  // namespace ptx2cpu::ir
